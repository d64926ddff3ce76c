"""Which function is being traced in this thread: the innermost builder."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tile_frontend.trace.places import here
from tile_ir.diag import TileError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tile_frontend.trace.builder import Builder


class _Thread(threading.local):
    def __init__(self) -> None:
        self.builders: list[Builder] = []
        self.clock = 0


_THREAD = _Thread()


def active() -> Builder | None:
    """The builder at work in this thread, or None."""
    return _THREAD.builders[-1] if _THREAD.builders else None


def builder(what: str) -> Builder:
    """The builder at work, for the language function `what`.

    Raises `TileError` E1003 when nothing is being traced.
    """
    if not _THREAD.builders:
        raise TileError(
            "E1003",
            f"{what} was called outside a kernel",
            here(),
            notes=("it adds to a kernel that is being traced, and none is",),
            help="call it in a function under @T.prim_func or @tile.jit, and call or compile that",
        )
    return _THREAD.builders[-1]


def now() -> int:
    """The time of this thread's clock, which counts writes that were traced."""
    return _THREAD.clock


def tick() -> int:
    """Advance the clock and return the new time."""
    _THREAD.clock += 1
    return _THREAD.clock


@contextmanager
def tracing(made: Builder) -> Iterator[Builder]:
    """Make `made` the builder at work."""
    _THREAD.builders.append(made)
    try:
        yield made
    finally:
        _THREAD.builders.pop()
