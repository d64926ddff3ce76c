"""What lowering makes before barriers are put in: runs of statements without one, in a tree.

Threads of a block run a piece without waiting for each other; where one piece needs what another
thread did in an earlier one, a barrier goes between the two. Only between pieces is control the
same for all threads, so only there can barriers stand.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tile_ir.rewrite import replace

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tile_ir.opdef import Body, Stmt
    from tile_ir.ops import Sync
    from tile_passes.lower.threads.owners import Owner

__all__ = ["Item", "Items", "Nest", "Piece", "assemble"]


@dataclass(frozen=True, slots=True)
class Piece:
    """Statements that each thread runs by itself.

    `owned` says of buffers which thread touches which of their elements here.
    """

    body: Body
    owned: tuple[tuple[str, Owner], ...] = ()


@dataclass(frozen=True, slots=True)
class Nest:
    """A statement that all threads enter together, with the items of its bodies by field.

    `barriers` has the barrier for each body where some threads run one body and others another,
    None for a body that one thread runs.
    """

    stmt: Stmt
    bodies: tuple[tuple[str, Items], ...]
    barriers: tuple[Sync | None, ...] = ()


Item = Piece | Nest
Items = tuple[Item, ...]


def assemble(items: Iterable[Item]) -> Body:
    """The statements of a tree of pieces."""
    out: list[Stmt] = []
    for item in items:
        if isinstance(item, Piece):
            out.extend(item.body)
        else:
            inner = {name: assemble(part) for name, part in item.bodies}
            out.append(replace(item.stmt, **inner))
    return tuple(out)
