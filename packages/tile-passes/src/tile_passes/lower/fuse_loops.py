"""Do neighbouring loops over the same rows row by row, and over the same elements together.

Every tile operation became a loop nest of its own, so a tile of many rows goes through the cache
once for each. Where one nest needs of another only what lies in the same row, a row can go through
all of them before the next; where it needs only the same element, one loop does for both, and the
value stays in a register. It stands after guards were turned into bounds, before vectors.

    before:  parallel (i, j) in (8, 64) { store x[i, j] = exp(x[i, j]) }
             parallel (i) in (8) {
               alloc acc: var f32[];  store acc[] = 0.0
               for r in (0, 64, 1) vectorized { store acc[] = acc[] + x[i, r] }
               store s[i] = acc[] }
    after:   for i in (0, 8, 1) {
               alloc acc: var f32[];  store acc[] = 0.0
               for r in (0, 64, 1) vectorized {
                 store x[i, r] = exp(x[i, r]);  store acc[] = acc[] + x[i, r] }
               store s[i] = acc[] }
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tile_ir.expr import Const, Expr, Load, Var, free_vars, loads
from tile_ir.opdef import Access, Body, Stmt, bodies
from tile_ir.ops import Alloc, For, Let, Parallel, Store
from tile_ir.rewrite import all_effects, declared, map_bodies, walk, with_body
from tile_passes.base import Pass, PassContext
from tile_passes.lower.affine import coefficient
from tile_passes.lower.context import ZERO
from tile_passes.lower.loops import counted, with_value
from tile_passes.lower.reductions import ONE

if TYPE_CHECKING:
    from tile_ir.core import Buffer, Function
    from tile_passes.plan.model import Plan

__all__ = ["PASS", "fuse_loops"]

_SIMPLE = (Alloc, For, Let, Parallel, Store)
"""Statements that touch single elements only, each by an index that can be compared."""


@dataclass(frozen=True, slots=True)
class _Touch:
    """One access to one element."""

    buffer: str
    indices: tuple[Expr, ...]
    writes: bool


def _touches(body: Body) -> list[_Touch]:
    out: list[_Touch] = []
    for e in all_effects(body):
        assert isinstance(e.region, Load)
        writes = bool(e.access & (Access.WRITE | Access.UPDATE))
        out.append(_Touch(e.buffer, e.region.indices, writes))
    return out


def _is_simple(body: Body) -> bool:
    return all(isinstance(s, _SIMPLE) for s in walk(body))


def _clashes(first: list[_Touch], second: list[_Touch]) -> list[tuple[_Touch, _Touch]]:
    """Pairs of accesses to one buffer of which at least one writes."""
    return [
        (a, c) for a in first for c in second if a.buffer == c.buffer and (a.writes or c.writes)
    ]


# -- rows


def _same_row(a: _Touch, c: _Touch, row: Var) -> bool:
    """Whether both accesses, with `row` as the row's variable in both, stay in one row: some axis
    has the same index that names the row alone.
    """
    return any(
        x == y and row in free_vars(x) and _names_only(x, row)
        for x, y in zip(a.indices, c.indices, strict=True)
    )


def _names_only(e: Expr, row: Var) -> bool:
    """Whether different rows give different values: the row itself, or a sum with it."""
    return coefficient(e, row) in (1, -1)


@dataclass(slots=True)
class _Fuser:
    buffers: dict[str, Buffer]

    def body(self, body: Body) -> Body:
        """Fuse what is adjacent in a body, inner bodies first."""
        inner = tuple(map_bodies(s, self.body) for s in body)
        fused = self._elements(self._rows(inner))
        same = len(fused) == len(body) and all(x is y for x, y in zip(fused, body, strict=True))
        return body if same else fused

    def _rows(self, body: Body) -> Body:
        out: list[Stmt] = []
        group: list[Parallel] = []
        for s in body:
            if isinstance(s, Parallel) and self._has_rows(s):
                if group and not self._joins(group, s):
                    out += self._row_loop(group)
                    group = []
                group.append(s)
            elif group and self._passes(s, group):
                out.append(s)  # it can just as well stand in front of the group
            else:
                out += self._row_loop(group)
                group = []
                out.append(s)
        return (*out, *self._row_loop(group))

    def _has_rows(self, s: Parallel) -> bool:
        """Whether each iteration of the first axis is a loop itself."""
        has_loop = len(s.vars) > 1 or any(bodies(x) for x in s.body)
        return has_loop and _is_simple(s.body)

    def _joins(self, group: list[Parallel], s: Parallel) -> bool:
        if group[0].extents[0] != s.extents[0]:
            return False
        row = group[0].vars[0]
        mine = _touches(with_value(s.body, s.vars[0], row))
        for other in group:
            theirs = _touches(with_value(other.body, other.vars[0], row))
            if not all(_same_row(a, c, row) for a, c in _clashes(theirs, mine)):
                return False
        return True

    def _passes(self, s: Stmt, group: list[Parallel]) -> bool:
        """Whether a binding or declaration after a group can move in front of it."""
        if isinstance(s, Alloc):
            return True
        if not isinstance(s, Let):
            return False
        written = {t.buffer for p in group for t in _touches(p.body) if t.writes}
        return not any(ld.buffer in written for ld in loads(s.value))

    def _row_loop(self, group: list[Parallel]) -> Body:
        if len(group) < 2:
            return tuple(group)
        first = group[0]
        row = first.vars[0]
        body: list[Stmt] = []
        for s in group:
            inside = with_value(s.body, s.vars[0], row)
            if len(s.vars) == 1:
                body += inside
                continue
            body.append(
                Parallel(
                    vars=s.vars[1:], extents=s.extents[1:], width=s.width, body=inside, span=s.span
                )
            )
        fused = self._elements(tuple(body))
        return counted(row, ZERO, first.extents[0], 1, fused, first.span)

    # -- elements

    def _elements(self, body: Body) -> Body:
        """Merge loops over the same elements; what stands between them moves in front of both."""
        out: list[Stmt] = []
        for s in body:
            at = self._partner(out, s)
            if at is None:
                out.append(s)
                continue
            merged = self._merged(out[at], s)
            between = out[at + 1 :]
            out[at:] = [*between, merged]
        return tuple(out)

    def _partner(self, out: list[Stmt], s: Stmt) -> int | None:
        """Where the loop stands that `s` can be merged into, if all after it can move before it."""
        if _elements_of(s) is None:
            return None
        at = next((n for n in range(len(out) - 1, -1, -1) if bodies(out[n])), None)
        if at is None or not self._together(out[at], s):
            return None
        loop = _touches((out[at],))
        between = tuple(out[at + 1 :])
        if not _is_simple(between) or _clashes(loop, _touches(between)):
            return None
        return at

    def _together(self, first: Stmt, second: Stmt) -> bool:
        a, c = _elements_of(first), _elements_of(second)
        if a is None or c is None or a[1] != c[1]:
            return False
        if self._straight(first, a[0]) is not self._straight(second, c[0]):
            return False  # one of them would keep the other from being vectorized
        var = c[0]
        mine, theirs = _touches(_body(second)), _touches(with_value(_body(first), a[0], var))
        sums = {t.buffer for t in (*mine, *theirs) if self._is_scalar(t.buffer)}
        for x, y in _clashes(theirs, mine):
            if x.buffer in sums or x.indices != y.indices or not x.indices:
                return False
            if not _names_only(x.indices[-1], var):
                return False
        return True

    def _straight(self, s: Stmt, var: Var) -> bool:
        """Whether a loop goes through memory element after element."""
        for t in _touches(_body(s)):
            steps = [coefficient(index, var) for index in t.indices]
            if any(steps[:-1]) or None in steps or (steps and steps[-1] not in (0, 1)):
                return False
        return True

    def _is_scalar(self, name: str) -> bool:
        return name in self.buffers and self.buffers[name].scope == "var"

    def _merged(self, first: Stmt, second: Stmt) -> Stmt:
        a, c = _elements_of(first), _elements_of(second)
        assert a is not None
        assert c is not None
        body = (*with_value(_body(first), a[0], c[0]), *_body(second))
        if isinstance(first, Parallel) and isinstance(second, Parallel):
            return Parallel(
                vars=second.vars, extents=second.extents, width=second.width, body=body,
                span=second.span,
            )  # fmt: skip
        return For(
            var=c[0], start=ZERO, stop=c[1], step=ONE, kind="vectorized", body=body,
            span=second.span,
        )  # fmt: skip


def _elements_of(s: Stmt) -> tuple[Var, Expr] | None:
    """(variable, number of iterations) of a loop over elements in any order, no loops in it."""
    if any(bodies(x) for x in _body(s)) or not _is_simple(_body(s)):
        return None
    if isinstance(s, Parallel):
        return (s.vars[0], s.extents[0]) if len(s.vars) == 1 else None
    if isinstance(s, For) and s.kind == "vectorized":
        unit = isinstance(s.step, Const) and s.step.value == 1
        return (s.var, s.stop) if unit and s.start == ZERO else None
    return None


def _body(s: Stmt) -> Body:
    return s.body if isinstance(s, (For, Parallel)) else ()


def fuse_loops(fn: Function) -> Function:
    """Return the function with loops fused where each needs only the same row or element."""
    return with_body(fn, _Fuser(declared(fn)).body(fn.body))


def _run(fn: Function, cx: PassContext, plan: Plan) -> Function:
    return fuse_loops(fn)


PASS = Pass(name="fuse-loops", phase="lower", rewrite=_run, requires=("element-wise",), doc=__doc__)
