"""Pick from a target's hand-written source exactly what a kernel uses, in an order that compiles.

A file is read as blocks: a block is one definition with its comment, and an empty line ends it.
What a definition needs is read off its text (every word of it that is defined here), so there is no
table of dependencies to keep true. Overloads of one name come together.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from tile_ir.diag import InternalError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["Prelude"]

COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
DEFINITION = re.compile(
    r"^(?:TILE_FN\s+[\w\s*<>,]*?[\s*](\w+)\(|struct\s+(?:alignas\(.*\)\s+)?(\w+)\s*\{"
    r"|using\s+(\w+)\s*=|#define\s+(\w+))",
    re.MULTILINE,
)


@dataclass(frozen=True, kw_only=True)
class Prelude:
    """The definitions in the files of a package that end in `suffix`, those of `shared` (files of
    this folder, by their names without `.inc`), and `more` that are generated; `words` finds what
    may be the name of one in a text."""

    package: str
    suffix: str
    language: str
    shared: tuple[str, ...] = ()
    more: Mapping[str, str] = field(default_factory=dict, hash=False)
    words: str = r"\b(?:tile|TILE)_\w+"

    def defined_names(self) -> frozenset[str]:
        """Everything that the prelude defines."""
        return frozenset(_blocks(self))

    def mentioned(self, text: str) -> tuple[str, ...]:
        """The names of the prelude's form in a text, in order of their first use."""
        return tuple(dict.fromkeys(re.findall(self.words, text)))

    def pieces_for(self, names: Iterable[str], own: Mapping[str, str] | None = None) -> str:
        """C++ text that defines `names` and everything they need; `own` adds to the hand-written
        blocks, or replaces some.

        Equal sets of names give equal text. Raises InternalError E3090 for an unknown name.
        """
        blocks = {**_blocks(self), **(own or {})}
        done: dict[str, str] = {}
        for name in sorted(names):
            self._collect(name, blocks, done)
        return "\n\n".join(done.values()) + "\n" if done else ""

    def _collect(self, name: str, blocks: Mapping[str, str], done: dict[str, str]) -> None:
        """Add the text of `name` to `done` after the texts it needs (dictionaries keep order)."""
        if name in done:
            return
        if name not in blocks:
            raise InternalError("E3090", f"the {self.language} prelude has no {name}")
        done[name] = blocks[name]
        for other in self.mentioned(COMMENT.sub("", blocks[name])):
            if other != name:
                self._collect(other, blocks, done)
        # Moved behind what it needs; it was there before so that two that need each other end.
        done[name] = done.pop(name)


@cache
def _blocks(prelude: Prelude) -> dict[str, str]:
    """Name -> text of everything that defines it, of every file."""
    found: dict[str, str] = {}
    own = (f for f in files(prelude.package).iterdir() if f.name.endswith(prelude.suffix))
    shared = (files(__package__).joinpath(f"{name}.inc") for name in prelude.shared)
    for file in (*shared, *sorted(own, key=lambda f: f.name)):
        for text in re.split(r"\n\s*\n", file.read_text(encoding="utf-8").strip()):
            name = _defined(text, file.name)
            found[name] = f"{found[name]}\n\n{text}" if name in found else text
    return {**found, **prelude.more}


def _defined(text: str, file: str) -> str:
    match = DEFINITION.search(COMMENT.sub("", text).strip())
    if match is None:
        raise InternalError("E3090", f"{file} has a block that defines nothing: {text[:60]}")
    return str(next(filter(None, match.groups())))
