"""Functions on their way to another process: by module and name, or by value.

Pickle refers to a function by the name that its module has it under. A decorated kernel is hidden
behind that name, a script's module is called `__main__` everywhere, and a test's module cannot be
imported by name at all; so a handle also knows the file, and follows `__wrapped__` to the kernel.
"""

from __future__ import annotations

import importlib.util
import sys
from dataclasses import dataclass
from functools import reduce
from importlib import import_module
from pathlib import Path
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, Any, TypeAlias

from tile_ir.diag import TileError

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["ByName", "ByValue", "Handle", "handle"]

_LOADED: dict[str, ModuleType] = {}
"""File -> its module, where it was loaded as a file."""


@dataclass(frozen=True, slots=True)
class ByName:
    """An object at the top of a module: `qualname` in `module`, whose source is `file`. `depth` is
    how many wrappers around it the name leads to."""

    module: str
    qualname: str
    file: str
    depth: int = 0

    def load(self) -> Any:
        """The object, imported here. Raises as an import does, `AttributeError` when it is gone."""
        module = _module(self.module, self.file)
        found = reduce(getattr, self.qualname.split("."), module)
        for _ in range(self.depth):
            found = found.__wrapped__
        return found


@dataclass(frozen=True, slots=True)
class ByValue:
    """A function as bytes of cloudpickle, which the other side needs as well."""

    data: bytes

    def load(self) -> Any:
        """The object, made from the bytes."""
        import pickle

        return pickle.loads(self.data)


Handle: TypeAlias = ByName | ByValue


def handle(found: Any, parts: Callable[[], Any] | None = None) -> Handle:
    """The handle of a function, or of a kernel; `parts` gives what travels in its place where no
    name leads to it.

    Raises `TileError` E2203 for what another process can neither import nor receive.
    """
    named = _by_name(found)
    if named is not None:
        return named
    try:
        import cloudpickle
    except ImportError:
        raise _unreachable(found, "it is not at the top of a module") from None
    try:
        return ByValue(cloudpickle.dumps(found if parts is None else parts()))
    except Exception as cause:  # whatever it holds may refuse in its own way
        raise _unreachable(found, f"cloudpickle: {cause}") from cause


def _by_name(found: Any) -> ByName | None:
    name = getattr(found, "__qualname__", None)
    module = sys.modules.get(getattr(found, "__module__", None) or "")
    if name is None or "<" in name or module is None:
        return None
    file = getattr(module, "__file__", None)
    at: Any = module
    for part in name.split("."):
        at = getattr(at, part, None)
    for depth in range(8):
        if at is found:
            return ByName(module.__name__, name, str(Path(file).resolve()) if file else "", depth)
        at = getattr(at, "__wrapped__", None)
    return None


def _module(name: str, file: str) -> ModuleType:
    """The module, imported by name where that leads to the file, else from the file itself."""
    if name != "__main__":
        try:
            made = import_module(name)
        except ImportError:
            if not file:
                raise
        else:
            if not file or _is(made, file):
                return made
    if file not in _LOADED:
        # Not `__main__`: what a script does when it is run must not run again here.
        spec = importlib.util.spec_from_file_location(f"tile_tune_loaded_{len(_LOADED)}", file)
        if spec is None or spec.loader is None:
            raise ImportError(f"{file} is no Python file")
        loaded = importlib.util.module_from_spec(spec)
        sys.modules[loaded.__name__] = loaded
        _LOADED[file] = loaded
        spec.loader.exec_module(loaded)
    return _LOADED[file]


def _is(module: ModuleType, file: str) -> bool:
    own = getattr(module, "__file__", None)
    return own is not None and str(Path(own).resolve()) == file


def _unreachable(found: Any, why: str) -> TileError:
    name = getattr(found, "__qualname__", repr(found))
    where = " (a local function)" if isinstance(found, FunctionType) and "<" in name else ""
    return TileError(
        "E2203",
        f"{name}{where} cannot be sent to the processes that run the trials",
        notes=(why,),
        help="define it at the top of a module or script, or pip install cloudpickle",
    )
