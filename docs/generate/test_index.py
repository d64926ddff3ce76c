"""Which tests exercise which names of the language, read from the source of the tests.

A test uses what it mentions, and what the functions, fixtures and tables that it mentions use, in
its own file, its conftest.py and the kernel files that it loads. `getattr(T, name)` uses every
string in sight that is a name. A test is numeric when it compares arrays.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

FOLDERS = ("tests/language", "tests/e2e", "tests/emulate", "packages/*/tests")
"""Where tests run on the CPU or in the emulator, the best places first."""

COMPARISONS = {"assert_array_equal", "assert_allclose", "assert_close", "array_equal", "run"}
"""What a test mentions that compares numbers; `run` is the fixture that asks the oracle."""


@dataclass(frozen=True, slots=True)
class Usage:
    """A test, and the names of the language that it uses."""

    test: str
    names: frozenset[str]
    numeric: bool


@dataclass(slots=True)
class _File:
    """A module's top level: symbols with the nodes that define them, and its aliases of the
    language."""

    path: Path
    symbols: dict[str, list[ast.AST]] = field(default_factory=dict)
    aliases: set[str] = field(default_factory=set)
    imported: dict[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class _Found:
    """What is known so far of a test: words that it mentions, names of the language, strings."""

    words: set[str] = field(default_factory=set)
    attributes: set[str] = field(default_factory=set)
    names: set[str] = field(default_factory=set)
    strings: set[str] = field(default_factory=set)
    prefixes: set[str] = field(default_factory=set)
    seen: set[int] = field(default_factory=set)
    linked: list[_File] = field(default_factory=list)


def usages(root: Path, known: frozenset[str], types: frozenset[str]) -> list[Usage]:
    """Every test of the repository with the names that it uses, of those that are `known`; strings
    that are `types` count as uses of them."""
    found = []
    for pattern in FOLDERS:
        for folder in sorted(root.glob(pattern)):
            for path in sorted(folder.rglob("test_*.py")):
                found += _of_file(root, path, known, types)
    return found


def _of_file(
    root: Path, path: Path, known: frozenset[str], types: frozenset[str]
) -> Iterator[Usage]:
    file = _read(path)
    neighbours = [_read(c) for c in _conftests(root, path)]
    for name, nodes in file.symbols.items():
        if not name.startswith("test_"):
            continue
        found = _Found()
        _visit(found, nodes, file, neighbours)
        _visit_linked(found)
        reached = {p + s for p in found.prefixes for s in found.strings}
        names = (found.names | reached | (found.strings & types)) & known
        test = f"{path.relative_to(root)}::{name}"
        yield Usage(test, frozenset(names), bool(found.words & COMPARISONS))


def _conftests(root: Path, path: Path) -> list[Path]:
    folders = [f for f in path.parents if f != root and f.is_relative_to(root)]
    return [f / "conftest.py" for f in folders if (f / "conftest.py").exists()]


@cache
def _read(path: Path) -> _File:
    file = _File(path)
    for node in ast.parse(path.read_text("utf-8")).body:
        for name in _defined(node):
            file.symbols.setdefault(name, []).append(node)
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            _note_import(file, node)
    return file


def _defined(node: ast.AST) -> Iterator[str]:
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        yield node.name
    elif isinstance(node, (ast.Assign, ast.AnnAssign, ast.AugAssign)):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        for target in targets:
            yield from (n.id for n in ast.walk(target) if isinstance(n, ast.Name))
    elif isinstance(node, (ast.For, ast.With, ast.If, ast.Try)):
        for child in ast.iter_child_nodes(node):
            yield from _defined(child)


def _note_import(file: _File, node: ast.Import | ast.ImportFrom) -> None:
    source = getattr(node, "module", None) or ""
    for alias in node.names:
        whole = f"{source}.{alias.name}".lstrip(".")
        if whole.startswith("tile_") and whole.endswith(".language"):
            file.aliases.add(alias.asname or alias.name)
        elif source.startswith("tile_") and source.endswith(".language"):
            file.imported[alias.asname or alias.name] = alias.name


def _visit(
    found: _Found, nodes: Iterable[ast.AST], file: _File, neighbours: Iterable[_File]
) -> None:
    for node in nodes:
        if id(node) in found.seen:
            continue
        found.seen.add(id(node))
        for part in ast.walk(node):
            _take(found, part, file)
            for word, places in _mentioned(part, file, neighbours):
                found.words.add(word)
                for place in places:
                    _visit(found, place.symbols.get(word, ()), place, neighbours)


def _visit_linked(found: _Found) -> None:
    """Follow what a test asks of the modules that it loads by path, which may load more."""
    before = -1
    while len(found.seen) > before:
        before = len(found.seen)
        for file in tuple(found.linked):
            for word in tuple(found.attributes):
                _visit(found, file.symbols.get(word, ()), file, ())


def _mentioned(
    part: ast.AST, file: _File, neighbours: Iterable[_File]
) -> Iterator[tuple[str, list[_File]]]:
    """The words of a node, each with the files where it may be defined."""
    if isinstance(part, ast.Name):
        yield part.id, [file]
    elif isinstance(part, ast.arg):
        yield part.arg, [file, *neighbours]


def _take(found: _Found, part: ast.AST, file: _File) -> None:
    """Note names and strings of the language in one node."""
    if isinstance(part, ast.Attribute):
        found.words.add(part.attr)
        found.attributes.add(part.attr)
    if isinstance(part, ast.Attribute) and _is_language(part.value, file):
        found.names.add(part.attr)
    elif isinstance(part, ast.Name) and part.id in file.imported:
        found.names.add(file.imported[part.id])
    elif isinstance(part, ast.Constant) and isinstance(part.value, str):
        found.strings.add(part.value)
        if re.fullmatch(r"\w+\.py", part.value) and (file.path.parent / part.value).exists():
            found.linked.append(_read(file.path.parent / part.value))
    elif isinstance(part, ast.Call) and _asks_by_name(part, file):
        found.prefixes.add(_prefix(part.args[1]))


def _is_language(value: ast.AST, file: _File) -> bool:
    """`T`, or `tile.language`."""
    if isinstance(value, ast.Attribute):
        return value.attr == "language"
    return isinstance(value, ast.Name) and value.id in file.aliases


def _asks_by_name(call: ast.Call, file: _File) -> bool:
    named = isinstance(call.func, ast.Name) and call.func.id == "getattr" and len(call.args) > 1
    return named and _is_language(call.args[0], file)


def _prefix(name: ast.AST) -> str:
    """What a name begins with that is put together as in `f"reduce_{kind}"`."""
    if isinstance(name, ast.JoinedStr) and isinstance(name.values[0], ast.Constant):
        return str(name.values[0].value)
    return ""
