"""Arrays of whichever library the caller uses, seen alike: element type, extents, strides, device,
address.

No array library is imported here. An argument's own module says which adapter fits, so `torch` is
loaded only by who passes its tensors.
"""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from tile_frontend.adapters.base import NO_ADDRESS, Adapter, ArrayCode, ArrayInfo
from tile_ir.diag import TileError

__all__ = [
    "NO_ADDRESS",
    "Adapter",
    "ArrayCode",
    "ArrayInfo",
    "adapter_for",
    "adapter_named",
    "adapter_on",
    "code_of",
    "describe",
    "is_array",
    "memory_of",
]

_BY_LIBRARY = {
    "numpy": "tile_frontend.adapters.numpy_arrays",
    "ml_dtypes": "tile_frontend.adapters.numpy_arrays",
    "torch": "tile_frontend.adapters.torch_tensors",
    "cupy": "tile_frontend.adapters.cupy_arrays",
}
_FOUND: dict[type, Adapter | None] = {}


def is_array(x: object) -> bool:
    """Whether `x` is an array of some library: it has a shape of at least no axes, and data behind
    it.
    """
    return adapter_for(x) is not None


def adapter_for(x: object) -> Adapter | None:
    """The adapter for arrays of the type of `x`, or None when it is no array."""
    kind = type(x)
    if kind not in _FOUND:
        _FOUND[kind] = _find(kind)
    return _FOUND[kind]


def adapter_named(name: str) -> Adapter:
    """The adapter of a library, by the library's name."""
    made: Adapter = import_module(_BY_LIBRARY[name]).ADAPTER
    return made


def adapter_on(device: str) -> Adapter:
    """The adapter that makes arrays on a kind of device, where no argument says which library.

    Raises `TileError` E2017 when no library here has memory there.
    """
    if device == "cpu":
        return adapter_named("numpy")
    torch = sys.modules.get("torch")
    if torch is not None and _reaches(torch, device):
        return adapter_named("torch")
    if find_spec("cupy") is not None:
        return adapter_named("cupy")
    raise TileError(
        "E2017",
        f"no array library here makes arrays on device {device!r}",
        help="import torch built for it, or install cupy",
    )


def _reaches(torch: Any, device: str) -> bool:
    try:
        return bool(torch.get_device_module(device).is_available())
    except RuntimeError:  # torch has no module of that name
        return False


def _find(kind: type) -> Adapter | None:
    for base in kind.__mro__:
        library = base.__module__.partition(".")[0]
        if library in _BY_LIBRARY and hasattr(kind, "shape") and hasattr(kind, "__array__"):
            # A scalar of the library (numpy.float32) has a shape too, but cannot be written to.
            return adapter_named(library) if hasattr(kind, "__dlpack__") else None
    if hasattr(kind, "__dlpack__") and hasattr(kind, "__dlpack_device__"):
        made: Adapter = import_module("tile_frontend.adapters.dlpack").ADAPTER
        return made
    return None


def describe(x: Any) -> Any:
    """What decides how an argument is passed, as a hashable key: for an array its type, extents and
    strides.
    """
    adapter = adapter_for(x)
    return type(x) if adapter is None else adapter.describe(x)


def code_of(x: Any) -> ArrayCode | None:
    """The code that reads arrays like this one; None for other values, and where there is none."""
    code = getattr(adapter_for(x), "code", None)
    found: ArrayCode | None = None if code is None else code(x)
    return found


def memory_of(x: Any) -> Any:
    """What keeps an array's memory where it is as long as it is held."""
    memory = getattr(adapter_for(x), "memory", None)
    return x if memory is None else memory(x)
