"""What a bound kernel asks the driver for, and the same launch through each way to the driver."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any


def launches_of(
    bind: Callable[[], Callable[[], object]],
) -> tuple[Callable[[], object], list[tuple[int, ...]]]:
    """What `bind` makes, and the arguments of its calls of `launchKernel` when it is called. They
    point into memory that lives as long as that function."""
    from tile_cuda import recorded
    from tile_cuda.device import driver

    seen: list[tuple[int, ...]] = []

    class Watched:
        def __getattr__(self, name: str) -> Any:
            return getattr(driver(), name)

        def launchKernel(self, *args: int) -> None:
            seen.append(args)
            driver().launchKernel(*args)

    recorded.driver = Watched  # type: ignore[assignment]
    try:
        made = bind()
        made()
    finally:
        recorded.driver = driver
    return made, seen


def raw_launches(args: tuple[int, ...]) -> dict[str, Callable[[], object]]:
    """The same launch through each way to the driver, all arguments prepared."""
    from tile_cuda.device import driver

    launch = ctypes.CDLL("libcuda.so.1").cuLaunchKernel
    pointer = ctypes.c_void_p
    ready = (pointer(args[0]), *args[1:8], pointer(args[8]), pointer(args[9]), None)
    cython = driver().launchKernel
    ways: dict[str, Callable[[], object]] = {
        "ctypes": lambda: launch(*ready),
        "cupy": lambda: cython(*args),
    }
    try:
        from cuda.bindings import driver as bindings
    except ImportError:
        return ways
    function, stream = bindings.CUfunction(args[0]), bindings.CUstream(args[8])
    ways["cuda.bindings"] = lambda: bindings.cuLaunchKernel(
        function, *args[1:8], stream, args[9], 0
    )
    return ways
