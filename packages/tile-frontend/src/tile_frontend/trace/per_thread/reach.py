"""Refuse what is certain to leave a tile: an index on a thread's number alone, too large in some
thread of the block, in a statement that every thread comes to.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tile_frontend.trace.per_thread.affine import value_at
from tile_ir.diag import TileError
from tile_ir.expr import Binary, Const, Expr, Load, Select
from tile_ir.ops import Atomic, Store
from tile_ir.rewrite import stmt_exprs

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tile_ir.core import Buffer
    from tile_ir.opdef import Stmt

__all__ = ["check_reach"]


def check_reach(s: Stmt, threads: int, buffers: Mapping[str, Buffer]) -> None:
    """Raise E1204 where a statement of all threads leaves a tile on the chip in one of them."""
    for name, indices in _places(s):
        buffer = buffers.get(name)
        if buffer is None or buffer.scope == "global":
            continue
        for axis, (index, extent) in enumerate(zip(indices, buffer.shape, strict=True)):
            if isinstance(index, Const) or not isinstance(extent, Const):
                continue
            at = (value_at(index, t) for t in range(threads))
            for t, value in enumerate(at):
                if value is not None and not 0 <= value < extent.value:
                    raise TileError(
                        "E1204",
                        f"index {value} of thread {t} is outside axis {axis} of {name}, which has "
                        f"{extent.value} elements",
                        s.span,
                        help="guard the statement with `if`, or make the tile as large as the "
                        "block has threads",
                    )


def _places(s: Stmt) -> Iterator[tuple[str, Sequence[Expr]]]:
    if isinstance(s, (Store, Atomic)):
        yield s.buffer, s.indices
    stack = list(stmt_exprs(s))
    while stack:
        e = stack.pop()
        if isinstance(e, Load):
            yield e.buffer, e.indices
        lazy = isinstance(e, Select) or (isinstance(e, Binary) and e.op in ("land", "lor"))
        stack += e.children()[:1] if lazy else e.children()
