"""Where a box that an engine stores may begin outside of its tensor.

Beyond the end an engine drops what lies outside. Before the beginning it does not: a negative start
of a store stops the device with an illegal instruction, along any axis (measured on hardware;
loads bring zeros from there).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tile_passes.analysis.context import FactWalk
from tile_passes.analysis.facts import Facts

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tile_ir.core import Function
    from tile_ir.opdef import Stmt
    from tile_passes.plan.survey import Drain

__all__ = ["may_be_negative"]


def may_be_negative(fn: Function, drains: Iterable[Drain]) -> frozenset[str]:
    """The names of the stores of which a start was not shown to be at least zero. Those that never
    leave their tensor (no `clip`) need no proof."""
    asked = {id(d.stmt): d for d in drains if d.stmt.clip}
    found: set[str] = set()

    def visit(stmt: Stmt, facts: Facts) -> None:
        drain = asked.get(id(stmt))
        if drain is None:
            return
        lows = [facts.range(r.start)[0] for r in drain.stmt.dst.ranges]
        if any(low is None or low < 0 for low in lows):
            found.add(drain.name)

    if asked:
        FactWalk.of(fn).rewrite(fn.body, Facts.of_dims(fn.dims), visit)
    return frozenset(found)
