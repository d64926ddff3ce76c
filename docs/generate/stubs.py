"""Writes the stub of the language's module, whose names are put together when it is imported: with
it, editors and type checkers know every name and show what it means.

`python docs/generate/stubs.py` writes, with `--check` it only says what is out of date.
"""

from __future__ import annotations

import ast
import inspect
import sys
from functools import cache
from importlib import import_module
from textwrap import wrap
from typing import Any

from language_names import ROOT, TYPES, homes, value_of, why_not
from pages import write_or_check

import tile_frontend.language as T
from tile_frontend.language.refused import refused_names

FOLDER = ROOT / "packages" / "tile-frontend" / "src" / "tile_frontend" / "language"
HEAD = '''# Written by docs/generate/stubs.py: run nox -s surface.
"""{about}"""

import builtins
from typing import Any

'''


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
    """File name -> text of the stub."""
    about = (inspect.getdoc(T) or "").strip()
    imports = [_imports(module) for module in T._MODULES]
    values = [_typed(n, "dtype", f"{_bits(value_of(n))}.") for n in sorted(TYPES)]
    values.append(_typed(ANYTHING, "Any", _first(value_of(ANYTHING))))
    made = [n for m in T._MODULES for n in _exports(m) if n not in _written(m)]
    values += [_function(n, value_of(n)) for n in sorted({*made, *_of_dialects()})]
    absent = [n for n in sorted(refused_names()) if why_not(n)]
    values += [_typed(n, "Refused", f"Refused. {why_not(n)}.") for n in absent]
    exported = "".join(f"    {name!r},\n".replace("'", '"') for name in T.__all__)
    text = "\n".join(
        [
            HEAD.format(about=about) + "\n".join(i for i in imports if i),
            "from tile_frontend.language.refused import Refused as Refused\n",
            f"__all__: builtins.list[builtins.str] = [\n{exported}]\n",
            "\n".join(values),
        ]
    )
    return {"__init__.pyi": text}


def _imports(module: str) -> str:
    """What a module brings, each under its own name, as re-exports are written in stubs."""
    homes_of: dict[str, list[str]] = {}
    for name in sorted(n for n in _exports(module) if n in _written(module) and n != ANYTHING):
        homes_of.setdefault(_written(module)[name], []).append(f"    {name} as {name},\n")
    return "\n".join(f"from {home} import (\n{''.join(n)})" for home, n in homes_of.items())


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
    return f"{lanes}{kind.bits} bits"


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
