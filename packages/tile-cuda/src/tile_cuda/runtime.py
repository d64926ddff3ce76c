"""Load compiled functions and call them.

A function is bound once for each device: its machine code is loaded, its kernels' launches are
prepared, and its host part is executed to make the callable. A call looks up the thread's device
and runs that. Streams, devices and graph capture are those of the library that the arguments come
from.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tile_cuda import device as devices
from tile_cuda.container import unpack
from tile_cuda.launch import Layout, prepare_launch
from tile_ir.diag import TileError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from tile_cuda.container import Contents

__all__ = ["CudaFunction"]

PLAIN_SHARED_BYTES = 48 * 1024
"""Dynamic shared memory that a block gets without asking; more needs an attribute."""
MAX_SHARED_ATTRIBUTE = 8
"""CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES."""


class CudaFunction:
    """One compiled function: call it with addresses and scalars of its parameters in order, then
    its dimensions. Nothing is checked here: the caller has validated shapes, types and devices.
    """

    def __init__(self, path: Path, signature: Sequence[str] = ()) -> None:
        self.path = str(path)
        self.signature = tuple(signature)
        self._contents = unpack(path)
        self._code = compile(self._contents.host, f"{path}:host.py", "exec")
        self._bound: dict[int, Callable[..., None]] = {}
        self._modules: list[int] = []

    @property
    def usage(self) -> dict[str, Any]:
        """Kernel -> registers, shared memory and spills, as the compiler counted them."""
        return dict(self._contents.usage)

    def __call__(self, *args: float) -> None:
        """Launch the function's kernels on the current stream of the current device.

        Raises TileError E3007 (not for this device), E3008 (no device), E3009 to E3013.
        """
        device = devices.current_device()
        bound = self._bound.get(device)
        if bound is None:
            bound = self.bind(device)
        bound(*args)

    def bind(self, device: int) -> Callable[..., None]:
        """The callable for one device; loads the machine code there at the first call."""
        devices.ensure_context()
        module = load_module(self._contents, self.path)
        self._modules.append(module)  # loaded as long as this object lives
        namespace: dict[str, Any] = {}
        exec(self._code, namespace)  # our own text, made by host_code
        bound: Callable[..., None] = namespace["bind"](Host(module, device))
        return self._bound.setdefault(device, bound)

    def unload(self) -> None:
        """Give back the device's memory for the machine code; the next call loads it again.

        Not done by itself when the object goes: a captured graph may still launch the kernels.
        """
        self._bound.clear()
        while self._modules:
            devices.driver().moduleUnload(self._modules.pop())


def load_module(contents: Contents, path: str) -> int:
    """Load machine code into the current context. Raises TileError E3007 where it is refused."""
    driver = devices.driver()
    try:
        module: int = driver.moduleLoadData(contents.cubin)
    except driver.CUDADriverError as error:
        raise TileError(
            "E3007",
            f"the driver cannot load {path}",
            notes=(str(error),),
            help="It was made for another architecture or is damaged: compile it again.",
        ) from error
    return module


class Host:
    """What the host part of a function asks of a device."""

    def __init__(self, module: int, device: int) -> None:
        self._module = module
        self._device = device

    def kernel(self, name: str, formats: str, threads: int, shared: int) -> Callable[..., None]:
        """A prepared launch. Raises TileError E3010 for more shared memory than there is."""
        driver = devices.driver()
        function = driver.moduleGetFunction(self._module, name)
        if shared > PLAIN_SHARED_BYTES:
            try:
                driver.funcSetAttribute(function, MAX_SHARED_ATTRIBUTE, shared)
            except driver.CUDADriverError as error:
                raise _too_much_shared(name, shared, error) from error
        return prepare_launch(function, Layout(formats), threads, shared, self._device)

    def allocate(self, size: int) -> tuple[object, int]:
        """A workspace: its owner and its address."""
        return devices.allocate(size, self._device)

    def workers(self) -> int:
        """Blocks that run at once, one to a multiprocessor."""
        return devices.multiprocessors(self._device)

    def failed(self, message: str) -> None:
        """Raise TileError E3013 for an assertion about the arguments."""
        raise TileError("E3013", message)


def _too_much_shared(name: str, shared: int, error: Exception) -> TileError:
    return TileError(
        "E3010",
        f"{name} needs {shared} bytes of shared memory for a block",
        notes=(str(error),),
        help="Use smaller blocks or fewer stages.",
    )
