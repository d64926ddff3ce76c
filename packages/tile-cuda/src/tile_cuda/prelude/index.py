"""Pick from the hand-written CUDA exactly what a kernel uses, in an order that compiles.

A file is read as blocks: a block is one definition with its comment, and an empty line ends it.
What a definition needs is read off its text (every word of it that is defined here), so there is no
table of dependencies to keep true. Overloads of one name come together.
"""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from tile_cuda.prelude.boxes import box_blocks
from tile_ir.diag import InternalError
from tile_passes.emit.narrow_formats import format_blocks

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["defined_names", "mentioned", "pieces_for"]

COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
DEFINITION = re.compile(
    r"^(?:TILE_FN\s+[\w\s*<>,]*?[\s*](\w+)\(|struct\s+(?:alignas\(.*\)\s+)?(\w+)\s*\{|#define\s+(\w+))",
    re.MULTILINE,
)
WORD = re.compile(r"\b(?:tile_\w+|TILE_FN)\b")

BY_HAND = frozenset({"f16", "bf16", "tf32", "f8e4m3fn", "f8e5m2", "f8e8m0fnu"})
"""Formats whose conversions are written out in convert.cuh."""


@cache
def _blocks() -> dict[str, str]:
    """Name -> text of everything that defines it, of every file."""
    found: dict[str, str] = {}
    for file in sorted(files(__package__).iterdir(), key=lambda f: f.name):
        if not file.name.endswith(".cuh"):
            continue
        for text in re.split(r"\n\s*\n", file.read_text(encoding="utf-8").strip()):
            name = _defined(text, file.name)
            found[name] = f"{found[name]}\n\n{text}" if name in found else text
    return found | format_blocks(BY_HAND) | box_blocks()


def _defined(text: str, file: str) -> str:
    match = DEFINITION.search(COMMENT.sub("", text).strip())
    if match is None:
        raise InternalError("E3090", f"{file} has a block that defines nothing: {text[:60]}")
    return str(next(filter(None, match.groups())))


def defined_names() -> frozenset[str]:
    """Everything that the prelude defines."""
    return frozenset(_blocks())


def mentioned(text: str) -> tuple[str, ...]:
    """The names of the prelude's form in a text, in order of their first use."""
    return tuple(dict.fromkeys(WORD.findall(text)))


def pieces_for(names: Iterable[str], own: Mapping[str, str] | None = None) -> str:
    """C++ text that defines `names` and everything they need; `own` adds to the hand-written
    blocks.

    Equal sets of names give equal text. Raises InternalError E3090 for an unknown name.
    """
    blocks = {**_blocks(), **(own or {})}
    done: dict[str, str] = {}
    for name in sorted(names):
        _collect(name, blocks, done)
    return "\n\n".join(done.values()) + "\n" if done else ""


def _collect(name: str, blocks: Mapping[str, str], done: dict[str, str]) -> None:
    """Add the text of `name` to `done` after the texts it needs (dictionaries keep the order)."""
    if name in done:
        return
    if name not in blocks:
        raise InternalError("E3090", f"the CUDA prelude has no {name}")
    done[name] = blocks[name]
    for other in mentioned(COMMENT.sub("", blocks[name])):
        if other != name:
            _collect(other, blocks, done)
    # Moved behind what it needs; it was there before so that two that need each other end.
    done[name] = done.pop(name)
