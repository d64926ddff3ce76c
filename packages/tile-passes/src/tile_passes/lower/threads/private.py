"""Fragments that are an array of each thread's own: their first axis counts the threads.

Iterations that are dealt one to each thread may then use any element of their row, also one whose
number is only known when the kernel runs: it is an element of the thread's own array.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tile_ir import build as b
from tile_ir.expr import Const
from tile_ir.layout import FragmentLayout, coalesce_digits, one_row_each
from tile_passes.lower.threads.addresses import ZERO, static_shape

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tile_ir.core import Buffer
    from tile_ir.expr import Expr
    from tile_ir.layout import Layout
    from tile_ir.ops import Parallel

__all__ = ["array_index", "is_private", "row_of_thread"]


def _same(layout: Layout | None, wanted: FragmentLayout) -> bool:
    return (
        isinstance(layout, FragmentLayout)
        and coalesce_digits(layout.thread) == coalesce_digits(wanted.thread)
        and coalesce_digits(layout.value) == coalesce_digits(wanted.value)
        and not layout.group
    )


def is_private(buffer: Buffer) -> bool:
    """Whether each thread holds its row of a fragment."""
    return (
        buffer.scope == "fragment"
        and buffer.rank > 0
        and _same(buffer.layout, one_row_each(static_shape(buffer)))
    )


def row_of_thread(indices: Sequence[Expr], buffer: Buffer, loop: Parallel) -> bool:
    """Whether an access in a loop that gives one iteration to each thread is to that thread's own
    row."""
    if len(loop.vars) != 1 or not indices or indices[0] is not loop.vars[0]:
        return False
    (extent,) = loop.extents
    return (
        extent is buffer.shape[0]
        and isinstance(extent, Const)
        and is_private(buffer)
        and _same(loop.layout, one_row_each((int(extent.value),)))
    )


def array_index(buffer: Buffer, indices: Sequence[Expr]) -> Expr:
    """The element of the thread's array that indices of its row mean."""
    total: Expr = ZERO
    for index, extent in zip(indices[1:], static_shape(buffer)[1:], strict=True):
        total = b.add(b.mul(total, extent), index)
    return total
