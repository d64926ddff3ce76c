"""Writes the stubs of the language's module, whose names are put together when it is imported: with
them, editors and type checkers know every name and show what it means.

`python docs/generate/stubs.py` writes, with `--check` it only says what is out of date.
"""

from __future__ import annotations

import ast
import inspect
import sys
from functools import cache
from importlib import import_module
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from language_names import ROOT, TYPES, homes, value_of, why_not
from pages import write_or_check

import tile_frontend.language as T
from tile_frontend.language.refused import refused_names

if TYPE_CHECKING:
    from collections.abc import Iterable

FOLDER = ROOT / "packages" / "tile-frontend" / "src" / "tile_frontend" / "language"
HEAD = '''# Written by docs/generate/stubs.py: run nox -s surface.
"""{about}"""

'''
PARTS = "stubs"
"""The folder of the names that no module has where a type checker sees them."""
ABOUT = {
    "__init__": "What type checkers and editors see of names that are made when they are imported.",
    "types": "The element types.",
    "functions": "Functions that the language makes in loops.",
    "of_devices": "Names of one family of devices, which come from the installed dialects.",
    "refused": "Names that are refused where they are used, with the reason.",
}
NEEDS = {
    "types": "from tile_frontend.trace.values import dtype\n",
    "functions": "from typing import Any\n",
    "of_devices": "from typing import Any\n",
    "refused": f"from {T.__name__}.refused import Refused\n",
}
"""Part -> what it imports."""


class _Text(str):
    """A text that stands in a signature as it is."""

    __slots__ = ()
    __repr__ = str.__str__


_ANY, _ELLIPSIS = _Text("Any"), _Text("...")
ANYTHING = "Ref"
"""An annotation of macros whose parameter may be assigned any value."""
WIDTH = 92
"""Columns of a line of a docstring."""


def pages() -> dict[str, str]:
    """File name -> text: the stub of the module, and the parts that it imports."""
    parts = _parts()
    imports = [_imports(module) for module in T._MODULES]
    imports += [_import(f"{T.__name__}.{PARTS}.{part}", names) for part, names in parts.items()]
    exported = _packed([f'"{name}"' for name in T.__all__])
    whole = [
        HEAD.format(about=(inspect.getdoc(T) or "").strip()) + "import builtins\n",
        "\n".join(i for i in imports if i),
        f"__all__: builtins.list[builtins.str] = [\n{exported}]\n",
    ]
    texts = {part: "\n".join([NEEDS[part], *names.values(), ""]) for part, names in parts.items()}
    texts["__init__"] = ""
    written = {f"{PARTS}/{n}.pyi": HEAD.format(about=ABOUT[n]) + t for n, t in texts.items()}
    return {"__init__.pyi": "\n".join(whole), **written}


def _parts() -> dict[str, dict[str, str]]:
    """Part -> its names, each with the text that declares it."""
    made = sorted(n for m in T._MODULES for n in _exports(m) if n not in _written(m))
    absent = [n for n in sorted(refused_names()) if why_not(n)]
    anything = {ANYTHING: _typed(ANYTHING, "Any", _first(value_of(ANYTHING)))}
    return {
        "types": {n: _typed(n, "dtype", f"{_bits(value_of(n))}.") for n in sorted(TYPES)},
        "functions": anything | {n: _function(n, value_of(n)) for n in made},
        "of_devices": {n: _function(n, value_of(n)) for n in sorted(_of_dialects())},
        "refused": {n: _typed(n, "Refused", f"Refused. {why_not(n)}.") for n in absent},
    }


def _imports(module: str) -> str:
    """What a module brings, each under its own name, as re-exports are written in stubs."""
    homes_of: dict[str, list[str]] = {}
    for name in sorted(n for n in _exports(module) if n in _written(module) and n != ANYTHING):
        homes_of.setdefault(_written(module)[name], []).append(name)
    return "\n".join(_import(home, names) for home, names in homes_of.items())


def _import(home: str, names: Iterable[str]) -> str:
    return f"from {home} import (\n{_packed([f'{name} as {name}' for name in names])})"


def _packed(items: Iterable[str]) -> str:
    """Items of a list, as many to a line as fit."""
    lines = wrap(", ".join(item.replace(" ", "\0") for item in items), WIDTH)
    return "".join(f"    {line.rstrip(',')},\n" for line in lines).replace("\0", " ")


def _exports(module: str) -> list[str]:
    return [n for n in import_module(f"{T.__name__}.{module}").__all__ if n not in TYPES]


@cache
def _written(module: str) -> dict[str, str]:
    """The names that a module has where a type checker sees them, each with the module that
    defines it; other names are made in loops."""
    own = f"{T.__name__}.{module}"
    found = {}
    for node in ast.parse(inspect.getsource(import_module(own))).body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            found[node.name] = own
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names = [n.id for t in targets for n in ast.walk(t) if isinstance(n, ast.Name)]
            found.update(dict.fromkeys(names, own))
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.update({alias.asname or alias.name: node.module for alias in node.names})
    return found


def _function(name: str, value: Any) -> str:
    """A function that is made in a loop, or comes from a dialect, as a stub says it."""
    if not inspect.isroutine(value):
        return _typed(name, "Any", _first(value))
    found = inspect.signature(value)
    params = [
        p.replace(annotation=_ANY, default=p.empty if p.default is p.empty else _ELLIPSIS)
        for p in found.parameters.values()
    ]
    shown = str(found.replace(parameters=params, return_annotation=_ANY))
    return f'def {name}{shown}:\n    """{_wrapped(_first(value), 4)}"""'


def _of_dialects() -> list[str]:
    return [name for name, home in homes().items() if home not in T._MODULES and home != "types"]


def _bits(kind: Any) -> str:
    lanes = f"{kind.lanes} lanes of " if kind.lanes > 1 else ""
    return f"{lanes}{kind.bits} bit{'s' * (kind.bits != 1)}"


def _first(value: Any) -> str:
    """The first paragraph of a docstring."""
    return " ".join((inspect.getdoc(value) or "").partition("\n\n")[0].split())


def _typed(name: str, kind: str, about: str) -> str:
    return f'{name}: {kind}\n"""{_wrapped(about, 0)}"""'


def _wrapped(text: str, indent: int) -> str:
    """Lines of a docstring below the first are as far in as it is."""
    lines = wrap(text.replace("\\", "\\\\"), WIDTH - indent)
    return f"\n{' ' * indent}".join(lines) + (f"\n{' ' * indent}" if len(lines) > 1 else "")


if __name__ == "__main__":
    sys.exit(write_or_check({FOLDER / name: text for name, text in pages().items()}))
