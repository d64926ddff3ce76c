"""What the last kernel that was launched wrote, for the next one that does not wait for its end.

A dependent kernel promises that the kernel in front of it does not write what it reads early. That
may be another function's, so nothing but a run can tell. Memory that was given back and filled anew
by the host since then is known by its contents.
"""

from __future__ import annotations

import ctypes
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from tile_ir.diag import TileError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["check_in_front", "keep_in_front"]

_COMPARED = 4096
"""Bytes at the begin of a tensor that are compared with what the kernel in front left."""

_written: ContextVar[tuple[tuple[int, int, bytes], ...]] = ContextVar("written", default=())


def keep_in_front(rows: Sequence[Sequence[Any]]) -> None:
    """Remember the memory that a call's last kernel wrote: rows of name, address, bytes."""
    _written.set(tuple((at, size, _begin(at, size)) for _, at, size, *_ in rows))


def check_in_front(kernel: str, rows: Sequence[Sequence[Any]]) -> None:
    """Raises `TileError` E2314 where a kernel reads early what the one in front wrote."""
    for name, at, size, *_ in rows:
        for start, count, left in _written.get():
            low, high = max(at, start), min(at + size, start + count)
            known = left[low - start : high - start] if low < high else b""
            if known and ctypes.string_at(low, len(known)) == known:
                raise TileError(
                    "E2314",
                    f"{kernel} reads {name} early, which the kernel in front of it wrote",
                    notes=("a dependent kernel may begin before the one in front has ended",),
                    help=f"leave {name} out of T.annotate_dependent_launch",
                )


def _begin(at: int, size: int) -> bytes:
    return ctypes.string_at(at, min(size, _COMPARED))
