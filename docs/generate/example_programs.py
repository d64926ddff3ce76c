"""A whole program around the example of a docstring, which is a statement or two.

An example may use what stands in `_PARTS`; its program declares just those that it mentions, fills
them, and returns those that the example changes. An example that is an expression is assigned to
`x`. Names that are not used inside a kernel have programs of their own in `programs/`.
"""

from __future__ import annotations

import ast
import atexit
import hashlib
import inspect
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import tile_frontend.language as T
from tile_frontend.language.dtypes import OBJECTS
from tile_ir.diag import TileError
from tile_ir.interp.bind import written
from tile_ir.opdef import Access
from tile_ir.ops.memory import Alloc, View
from tile_ir.rewrite import all_effects, walk
from tile_ir.testing.by_path import module_at

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tile_frontend.language.function import PrimFunc

PROGRAMS = Path(__file__).with_name("programs")
_SHOWS = "# shows "
EXAMPLE = re.compile(r"Example: `(.+?)`\s*$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """Something that an example may mention: how it is declared and filled, what it needs, and the
    tensor that shows what became of it."""

    declared: str
    needs: tuple[str, ...] = ()
    result: str = ""
    shown: str = ""


def _tile(name: str, scope: str, source: str, dtype: str) -> Part:
    made = f"{name} = T.alloc_{scope}((64, 64), T.{dtype})"
    return Part(
        declared=f"{made}\nT.copy({source}, {name})",
        needs=(source,),
        result=f"T.empty((64, 64), T.{dtype})",
        shown=f"T.copy({name}, {{result}})",
    )


def _row(name: str, dtype: str) -> Part:
    return Part(
        declared=f"{name} = T.alloc_fragment((64,), T.{dtype})\nT.clear({name})",
        result=f"T.empty((64,), T.{dtype})",
        shown=f"T.copy({name}, {{result}})",
    )


_LAUNCH = "with T.Kernel(1, threads=128):"
_TENSORS = {"A": "float32", "B": "float32", "G": "int32"}
_PARTS = {
    "S": _tile("S", "shared", "A", "float32"),
    "S2": _tile("S2", "shared", "A", "float32"),
    "F": _tile("F", "fragment", "A", "float32"),
    "I": _tile("I", "shared", "G", "int32"),
    "R": _row("R", "float32"),
    "J": _row("J", "int32"),
    "x": Part(
        declared="x = T.alloc_var(T.float32, init=0.5)",
        result="T.empty((1,), T.float32)",
        shown="{result}[0] = x",
    ),
    "y": Part(
        declared="y = T.alloc_var(T.float32, init=0.0)",
        result="T.empty((1,), T.float32)",
        shown="{result}[0] = y",
    ),
    "i": Part(declared="i = T.get_thread_binding()"),
    "acc": Part(declared="acc = T.alloc_reducer((64,), T.float32)", needs=("R",)),
}
_OF_EACH_THREAD = {
    name: Part(
        declared=_PARTS[name].declared,
        result="T.empty((128,), T.float32)",
        shown=f"{{result}}[T.get_thread_binding()] = {name}",
    )
    for name in ("x", "y")
}
"""Mutable scalars, where threads have different values of them."""
_PLACES = ("x", *(f"B[0, T.Ramp(0, 1, {lanes})]" for lanes in (2, 4, 8)))
"""Where the value of an expression may go: a number, vectors."""


def example_of(name: str, value: Any) -> str | None:
    """The example of a docstring on one line, under the name that is asked for: an alias has the
    docstring of what it means."""
    found = EXAMPLE.search(inspect.getdoc(value) or "")
    if found is None:
        return None
    text = " ".join(found[1].split())
    own = getattr(value, "__name__", name)
    return re.sub(rf"\bT\.{own}\b", f"T.{name}", text)


def program_of(name: str, value: Any) -> str | None:
    """The text of a program that shows `name`, with a traced function `example`; None where the
    documentation has no example."""
    whole = _whole_programs().get(name)
    if whole is not None:
        return _under_name(whole, name, value)
    example = f"T.{name}(x)" if name in OBJECTS else example_of(name, value)
    if example is None:
        return None
    for statement in _statements(example):
        try:
            return _framed(statement)
        except (TileError, NameError):  # its value does not fit there, or a line says too little
            continue
    return None


def _under_name(text: str, name: str, value: Any) -> str:
    """A program that shows a thing, with the thing under the name that is asked for."""
    if re.search(rf"\bT\.{name}\b", text):
        return text
    words = set(re.findall(r"\bT\.(\w+)", text))
    others = [w for w in words if getattr(T, w, None) is value]
    return re.sub(rf"\bT\.{others[0]}\b", f"T.{name}", text) if others else text


def traced(text: str) -> Any:
    """The function `example` of a program: a `PrimFunc`, or in the eager style a `JITImpl`."""
    made = hashlib.sha256(text.encode()).hexdigest()
    path = Path(_folder().name) / f"example_{made[:16]}.py"
    path.write_text(text, "utf-8")
    return module_at(path).example


@cache
def _folder() -> TemporaryDirectory[str]:
    """Where the programs lie while this process runs: some are read when they are first called."""
    made: TemporaryDirectory[str] = TemporaryDirectory()
    atexit.register(made.cleanup)
    return made


@cache
def _whole_programs() -> dict[str, str]:
    """Name -> program, from files whose first lines list the names that they show."""
    found = {}
    for path in sorted(PROGRAMS.glob("*.py")):
        lines = path.read_text("utf-8").split("\n")
        heads = [line for line in lines if line.startswith(_SHOWS)]
        text = "\n".join(lines[len(heads) :])
        for head in heads:
            found.update(dict.fromkeys(head.removeprefix(_SHOWS).split(", "), text))
    return found


def _statements(example: str) -> list[str]:
    """How the example may stand in a program: its value goes to `x` if it has one that fits."""
    body = ast.parse(_split(example)).body
    if len(body) == 1 and isinstance(body[0], ast.Expr):
        return [*(f"{place} = {example}" for place in _PLACES), example]
    return [_split(example)]


def _split(example: str) -> str:
    """Statements on lines of their own; a block's body below its head."""
    lines = []
    for node in ast.parse(example).body:
        inner = getattr(node, "body", [])
        if inner:
            lines.append(example[node.col_offset : inner[0].col_offset].rstrip())
        texts = (ast.get_source_segment(example, n) or "" for n in inner or [node])
        lines += [f"    {text}" if inner else text for text in texts]
    return "\n".join(lines)


def _framed(statement: str) -> str:
    used = _used(statement)
    program = traced(_text(statement, used, {}))
    parts = _changed(program, used)
    if not parts and not written(program.function):  # beside what changes nothing, a tile passes
        used, parts = _used(f"{statement}\nS"), {"S": _PARTS["S"]}
    return _text(statement, used, parts)


def _used(statement: str) -> list[str]:
    """The parts that a statement mentions, and those that these need, in the order of the table."""
    words = {n.id for n in ast.walk(ast.parse(statement)) if isinstance(n, ast.Name)}
    for name, part in _PARTS.items():
        if name in words:
            words.update(part.needs)
    return [name for name in (*_TENSORS, *_PARTS) if name in words]


def _changed(program: PrimFunc, used: list[str]) -> dict[str, Part]:
    """The parts that are written more than once: by the example too."""
    sources = {s.buffer.name: s.source for s in walk(program.function.body) if isinstance(s, View)}
    writes = []
    for effect in all_effects(program.function.body):
        if effect.access & (Access.WRITE | Access.UPDATE):
            name = effect.buffer
            while name in sources:
                name = sources[name]
            writes.append(name)
    found = {n: _PARTS[n] for n in used if n in _PARTS and _PARTS[n].shown and writes.count(n) > 1}
    made = {s.buffer.name: s.buffer for s in walk(program.function.body) if isinstance(s, Alloc)}
    for name in {"x", "y"} & set(found):
        if made[name].shape:  # threads have different values, so it became a tile
            found[name] = _OF_EACH_THREAD[name]
    return found


def _text(statement: str, used: list[str], shown: Mapping[str, Part]) -> str:
    tensors = ", ".join(f"{n}: T.Tensor((64, 64), T.{_TENSORS[n]})" for n in used if n in _TENSORS)
    results = {n: "result" if len(shown) == 1 else f"result_{n}" for n in shown}
    body = [line for n in used if n in _PARTS for line in _PARTS[n].declared.split("\n")]
    if "acc" in used and "reducer_init" not in statement:
        body.append("T.reducer_init(acc)")
    body += statement.split("\n")
    if "acc" in used and "finalize_reducer" not in statement:
        body.append("T.finalize_reducer(acc, R)")
    body += [part.shown.format(result=results[n]) for n, part in shown.items()]
    lines = [
        "import tile_frontend.language as T",
        "",
        "",
        "@T.prim_func",
        f"def example({tensors}):",
    ]
    lines += [f"    {results[n]} = {part.result}" for n, part in shown.items()]
    lines += [f"    {_LAUNCH}", *(f"        {line}" for line in body)]
    if shown:
        lines.append(f"    return {', '.join(results[n] for n in shown)}")
    return "\n".join(lines) + "\n"
