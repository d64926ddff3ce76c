"""The tile compiler as its users see it: `import tile_frontend as tile; import
tile_frontend.language as T`.

Everything is imported when it is first asked for; no target is imported at all (targets are
plugins).
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from tile_frontend._version import __version__

if TYPE_CHECKING:
    from tile_frontend import language, layout
    from tile_frontend.compatibility import PassConfigKey, TensorSupplyType
    from tile_frontend.jit_function import JITImpl, compile, jit, par_compile
    from tile_frontend.kernel import JITKernel
    from tile_frontend.language.annotations import Fragment, Layout
    from tile_frontend.language.function import PrimFunc
    from tile_frontend.profiler import Profiler, do_bench
    from tile_frontend.target_select import select
    from tile_ir.diag import InternalError, TileError

__all__ = [
    "Fragment",
    "InternalError",
    "JITImpl",
    "JITKernel",
    "Layout",
    "PassConfigKey",
    "PrimFunc",
    "Profiler",
    "TensorSupplyType",
    "TileError",
    "__version__",
    "compile",
    "do_bench",
    "jit",
    "language",
    "layout",
    "par_compile",
    "select",
]

_HOMES = {
    "Fragment": "tile_frontend.language.annotations",
    "InternalError": "tile_ir.diag",
    "JITImpl": "tile_frontend.jit_function",
    "JITKernel": "tile_frontend.kernel",
    "Layout": "tile_frontend.language.annotations",
    "PassConfigKey": "tile_frontend.compatibility",
    "PrimFunc": "tile_frontend.language.function",
    "Profiler": "tile_frontend.profiler",
    "TensorSupplyType": "tile_frontend.compatibility",
    "TileError": "tile_ir.diag",
    "compile": "tile_frontend.jit_function",
    "do_bench": "tile_frontend.profiler",
    "jit": "tile_frontend.jit_function",
    "par_compile": "tile_frontend.jit_function",
    "select": "tile_frontend.target_select",
}

_EXTENSIONS = {"autotune": ("tile_tune", "tile-tune")}
"""Names that another distribution brings, which need not be installed: module, distribution."""


def __getattr__(name: str) -> Any:
    if name in ("language", "layout", "torch"):
        return import_module(f"{__name__}.{name}")
    if name in _EXTENSIONS:
        module, distribution = _EXTENSIONS[name]
        try:
            return getattr(import_module(module), name)
        except ModuleNotFoundError as cause:
            raise AttributeError(
                f"{__name__}.{name} comes with {distribution}: pip install {distribution}"
            ) from cause
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value
