"""Pick from the hand-written C exactly what a kernel uses, in an order that compiles.

What a definition needs is read off its text (every word of it that is defined here), so there is no
table of dependencies to keep true.
"""

from __future__ import annotations

import re
from functools import lru_cache
from importlib.resources import files
from typing import TYPE_CHECKING

from tile_cpu.prelude.templates import COMMENT, instantiate, resolve
from tile_ir.diag import InternalError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["abi_text", "pieces_for", "resolve"]

WORD = re.compile(r"\b[A-Za-z]\w*\b")


def abi_text() -> str:
    """The contract between kernels and the runtime, to be pasted in front of everything else."""
    return files(__package__).joinpath("abi.h").read_text(encoding="utf-8")


def pieces_for(names: Iterable[str], widths: Iterable[int] = ()) -> str:
    """C text that defines `names` and everything they need.

    A name that ends in `xN` is taken at each of `widths`; others say their width themselves, or are
    scalar. Equal sets of names give equal text. Raises InternalError E9001 for an unknown name.
    """
    widths = tuple(widths)
    wanted = {name.replace("xN", f"x{n}") for name in names if "xN" in name for n in widths}
    wanted.update(name for name in names if "xN" not in name)
    done: dict[str, str] = {}
    for name in sorted(wanted):
        _collect(name, done)
    return "\n\n".join(_comments_once(dict.fromkeys(done.values()))) + "\n"


def _comments_once(texts: Iterable[str]) -> Iterator[str]:
    """The texts without a comment that stood above another instance of the same template."""
    said: set[str] = set()
    for text in texts:
        comment = COMMENT.match(text)
        if comment and comment[0] in said:
            yield text[comment.end() :].lstrip()
            continue
        if comment:
            said.add(comment[0])
        yield text


def _collect(name: str, done: dict[str, str]) -> None:
    """Add the text of `name` to `done` after the texts it needs (dictionaries keep the order)."""
    if name in done:
        return
    text, needs = _expanded(name)
    done[name] = text
    for other in needs:
        _collect(other, done)
    # Moved behind what it needs; it was there before so that two that need each other end.
    done[name] = done.pop(name)


@lru_cache(maxsize=4096)
def _expanded(name: str) -> tuple[str, tuple[str, ...]]:
    instance = resolve(name)
    if instance is None:
        raise InternalError("E9001", f"the C prelude has no {name}")
    text = instantiate(instance)
    words = dict.fromkeys(WORD.findall(COMMENT.sub("", text)))
    needs = tuple(word for word in words if word != name and resolve(word) is not None)
    for word in words:
        if word.startswith("tile_") and word not in (*needs, name) and not resolve(word):
            raise InternalError("E9001", f"{name} of the C prelude needs {word}, which it has not")
    return text, needs
