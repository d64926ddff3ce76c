"""The tile language: `import tile_frontend.language as T`.

Tensors and dimensions come from `tensors`, on-chip buffers from `alloc`, the grid from `launch`,
loops from `loops`, tile operations from `tile_ops`, `reduce` and `atomics`, scalar functions from
`math`, element types from `dtypes`, barriers and roles written by hand from `barriers` and `roles`,
what single threads do from `threads` and `warps`.
Names that only one family of devices has come from the installed dialects (`dialects`).
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from tile_frontend.language.dialects import dialect_names, from_dialect
from tile_frontend.language.refused import Refused, refused_names
from tile_frontend.trace.vocabulary import learn

_MODULES = (
    "tensors",
    "alloc",
    "launch",
    "loops",
    "tile_ops",
    "reduce",
    "atomics",
    "math",
    "dtypes",
    "debug",
    "annotations",
    "barriers",
    "roles",
    "threads",
    "warps",
    "allreduce",
    "macros",
    "schedulers",
    "reducers",
    "random_numbers",
    "images",
    "sparse",
    "grid",
    "places",
    "pointers",
    "vectors",
    "bits",
    "rounding",
    "function",
)

# Many of the language's names are those of builtins, so they are bound without being spelled here.
_EXPORTS = {
    name: getattr(module, name)
    for module in (import_module(f"{__name__}.{m}") for m in _MODULES)
    for name in module.__all__
}
globals().update(_EXPORTS)
learn(_EXPORTS)
__all__ = sorted(_EXPORTS)


def __getattr__(name: str) -> Any:
    """A name of an installed dialect; else one that is refused when it is used, or unknown."""
    if name.startswith("__") and name not in refused_names():
        raise AttributeError(name)
    found = from_dialect(name)
    if found is not None:
        return found
    if name in refused_names():
        return Refused(name)
    from tile_frontend.language.unknown import unknown  # only a mistake pays for this import

    raise unknown(name, (*__all__, *dialect_names(), *refused_names()))
