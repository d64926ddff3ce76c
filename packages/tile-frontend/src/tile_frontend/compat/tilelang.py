"""`import tilelang` finds this compiler, in this process, from the import of this module on.

The modules it offers and where each of their names comes from are data (`names.txt`). What is not
there is refused by a coded error that names it, at the import or at the use. As a command it runs a
program so: `python -m tile_frontend.compat.tilelang program.py ARGUMENTS`.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import runpy
import sys
from functools import cache
from importlib import import_module
from importlib.resources import files
from types import ModuleType
from typing import TYPE_CHECKING, Any

from tile_ir.diag import TileError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["install", "offered"]

_PACKAGE = "tilelang"
_OURS = "tile_frontend"


@cache
def offered() -> Mapping[str, Mapping[str, str]]:
    """Module -> its names -> "module:attribute" of ours, or a module. A name "" stands for a whole
    module of ours."""
    found: dict[str, dict[str, str]] = {}
    names: dict[str, str] = {}
    for line in files(__package__).joinpath("names.txt").read_text("utf-8").splitlines():
        if line.startswith("["):
            names = found.setdefault(line.strip("[]"), {})
        elif not line.startswith("#"):
            for word in line.split():
                name, _, home = word.partition("=")
                names[name] = home or f"{_OURS}:{name}"
    return found


def _object(home: str) -> Any:
    module, _, attribute = home.partition(":")
    try:
        found = import_module(module)
    except ModuleNotFoundError as cause:
        missing = (cause.name or module).partition(".")[0].replace("_", "-")
        raise TileError(
            "E1117",
            f"this needs the package {missing}, which is not installed",
            help=f"pip install {missing}",
        ) from cause
    return getattr(found, attribute) if attribute else found


class _Module(ModuleType):
    """A module of that package, made of names of ours."""

    def __getattr__(self, name: str) -> Any:
        names = offered()[self.__name__]
        if name in names:
            value = _object(names[name])
        elif name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        elif "" in names:
            value = getattr(_object(names[""]), name)
        elif f"{self.__name__}.{name}" in offered():
            value = import_module(f"{self.__name__}.{name}")
        else:
            raise _missing(f"{self.__name__}.{name}")
        setattr(self, name, value)
        return value

    def __setattr__(self, name: str, value: Any) -> None:
        # Importing a submodule binds it here, where a function may have its name (`jit`).
        if not (isinstance(value, _Module) and name in offered()[self.__name__]):
            super().__setattr__(name, value)

    def __dir__(self) -> list[str]:
        names = offered()[self.__name__]
        return sorted([n for n in names if n] or dir(_object(names.get("", _OURS))))


def _missing(what: str) -> TileError:
    return TileError(
        "E1117",
        f"{what} is not provided",
        notes=(f"modules that are: {', '.join(sorted(offered()))}",),
        help="write the program with what tile_frontend has, or say what you need it for",
    )


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds the modules of that package."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """A module that is offered; others of that package are refused."""
        if fullname != _PACKAGE and not fullname.startswith(f"{_PACKAGE}."):
            return None
        if fullname not in offered():
            raise _missing(fullname)
        return importlib.machinery.ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        """A module of names."""
        is_language = spec.name == f"{_PACKAGE}.language"
        return _Language(spec.name) if is_language else _Module(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Nothing: names are found when they are asked for."""


class _Language(_Module):
    """The language, with every name that `from tilelang.language import *` would bring."""

    @property
    def __all__(self) -> list[str]:
        return list(import_module(f"{_OURS}.language").__all__)


_FINDER = _Finder()


def install() -> None:
    """Make `import tilelang` find ours; done when this module is imported, and harmless twice.

    Raises `TileError` E1118 where the package of that name is already imported.
    """
    known = sys.modules.get(_PACKAGE)
    if known is not None and not isinstance(known, _Module):
        raise TileError(
            "E1118",
            f"{_PACKAGE} is already imported from {getattr(known, '__file__', None)}",
            help=f"import {__name__} before it",
        )
    if _FINDER not in sys.meta_path:
        sys.meta_path.insert(0, _FINDER)


install()

if __name__ == "__main__":
    if len(sys.argv) < 2:
        raise SystemExit(f"usage: python -m {_OURS}.compat.{_PACKAGE} program.py ARGUMENTS")
    sys.argv = sys.argv[1:]
    runpy.run_path(sys.argv[0], run_name="__main__")
