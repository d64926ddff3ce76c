"""Whether threads meet in memory of the block: one reads or writes an element that another one has
written, so that all have to come to one place in between.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from tile_frontend.trace.per_thread.affine import one_thread_each
from tile_ir.core import Region
from tile_ir.expr import free_vars
from tile_ir.opdef import Access
from tile_ir.ops import Atomic
from tile_ir.rewrite import bound_vars, effects, walk

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from tile_frontend.trace.per_thread.varying import Varying
    from tile_ir.expr import Expr, Var
    from tile_ir.opdef import Stmt

__all__ = ["Meetings", "Touch", "changing", "touches"]


class Touch(NamedTuple):
    """An access to memory that threads share."""

    buffer: str
    place: Any
    """The indices, or what else tells places apart."""
    how: str


def touches(s: Stmt, varying: Varying, roots: Mapping[str, str]) -> list[Touch]:
    """The accesses of a statement and those inside to memory outside of threads."""
    out = []
    for t in walk((s,)):
        for e in effects(t):
            if e.buffer in varying.private:
                continue
            place: Any = (e.region,) if isinstance(e.region, Region) else e.region.indices
            root = roots.get(e.buffer, e.buffer)
            if root != e.buffer:
                place = (e.buffer, *place)
            writes = e.access & (Access.WRITE | Access.UPDATE)
            how = "update" if isinstance(t, Atomic) and writes else "write" if writes else "read"
            out.append(Touch(root, place, how))
    return out


@dataclass(frozen=True, slots=True)
class Meetings:
    """Judges the accesses of statements that threads shall run without waiting for each other."""

    varying: Varying
    threads: int
    scopes: frozenset[str]
    """Buffers whose accesses matter."""

    def any(self, found: Iterable[Touch], inner: set[Var]) -> bool:
        """Whether threads may meet; `inner` are variables that change while the statements run."""
        by_buffer: dict[str, list[Touch]] = {}
        for t in found:
            if t.buffer in self.scopes:
                by_buffer.setdefault(t.buffer, []).append(t)
        return any(self._meet(group, inner) for group in by_buffer.values())

    def _meet(self, group: list[Touch], inner: set[Var]) -> bool:
        hows = {t.how for t in group}
        if hows in ({"read"}, {"update"}):
            return False
        places = {t.place for t in group}
        if len(places) > 1:
            return True
        return hows != {"write"} and not self._apart(next(iter(places)), inner)

    def _apart(self, place: tuple[Any, ...], inner: set[Var]) -> bool:
        if any(isinstance(p, (Region, str)) for p in place):
            return False

        def uniform(e: Expr) -> bool:
            return not self.varying.expr(e) and not (free_vars(e) & inner)

        return one_thread_each(place, self.threads, uniform)


def changing(s: Stmt) -> set[Var]:
    """The variables that a statement binds inside."""
    return {v for t in walk((s,)) for v in bound_vars(t)}
