"""Do neighbouring loops over the same rows row by row, and over the same elements together.

Every tile operation became a loop nest of its own, so a tile of many rows goes through the cache
once for each. Where one nest needs of another only what lies in the same row, a row can go through
all of them before the next; where it needs only the same element, one loop does for both, and the
value stays in a register. It stands after guards were turned into bounds, before vectors.

Where rows are long, what is done once per row goes along, a reduction across the rows becomes sums
that each row adds to, and what only uses results waits until the rows are through.

    before:  parallel (i, j) in (8, 64) { store x[i, j] = exp(x[i, j]) }
             parallel (i) in (8) {
               alloc acc: var f32[];  store acc[] = 0.0
               for r in (0, 64, 1) vectorized { store acc[] = acc[] + x[i, r] }
               store s[i] = acc[] }
    after:   for i in (0, 8, 1) {
               alloc acc: var f32[];  store acc[] = 0.0
               for j in (0, 64, 1) vectorized {
                 store x[i, j] = exp(x[i, j]);  store acc[] = acc[] + x[i, j] }
               store s[i] = acc[] }
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tile_ir.expr import Const, Expr, Load, Var, free_vars, loads
from tile_ir.expr import rewrite as rewrite_expr
from tile_ir.opdef import Access, Body, Stmt, bodies
from tile_ir.ops import Alloc, Atomic, For, Let, Parallel, Store
from tile_ir.rewrite import all_effects, declared, map_bodies, replace, substitute, walk, with_body
from tile_passes.analysis.dependence import aliases
from tile_passes.base import Pass, PassContext
from tile_passes.lower.affine import coefficient
from tile_passes.lower.context import ZERO
from tile_passes.lower.loops import counted, with_value
from tile_passes.lower.reductions import ONE

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from tile_ir.core import Buffer, Function
    from tile_passes.plan.model import Plan

__all__ = ["PASS", "fuse_loops"]

LONG = 512
"""Elements of a row from which what is done once per row does not count."""
_SIMPLE = (Alloc, For, Let, Parallel, Store)
"""Statements that touch single elements only, each by an index that can be compared."""


@dataclass(frozen=True, slots=True)
class _Touch:
    """One access to one element. `home` is the name of the memory, which views share."""

    buffer: str
    indices: tuple[Expr, ...]
    writes: bool
    home: str


def _touches(body: Body, homes: Mapping[str, str]) -> list[_Touch]:
    out: list[_Touch] = []
    for e in all_effects(body):
        assert isinstance(e.region, Load)
        writes = bool(e.access & (Access.WRITE | Access.UPDATE))
        out.append(_Touch(e.buffer, e.region.indices, writes, homes.get(e.buffer, e.buffer)))
    return out


def _renamed(touches: Iterable[_Touch], var: Var, to: Var) -> set[_Touch]:
    put = substitute({var: to})
    return {dataclasses.replace(t, indices=tuple(put(i) for i in t.indices)) for t in touches}


def _is_simple(body: Body) -> bool:
    return all(isinstance(s, _SIMPLE) for s in walk(body))


def _clashes(first: Iterable[_Touch], second: Iterable[_Touch]) -> list[tuple[_Touch, _Touch]]:
    """Pairs of accesses to one memory of which at least one writes."""
    return [(a, c) for a in first for c in second if a.home == c.home and (a.writes or c.writes)]


# -- rows


def _same_row(a: _Touch, c: _Touch, row: Var) -> bool:
    """Whether both accesses, with `row` as the row's variable in both, stay in one row: some axis
    has the same index that names the row alone. Places in two views do not compare.
    """
    return a.buffer == c.buffer and any(
        x == y and row in free_vars(x) and _names_only(x, row)
        for x, y in zip(a.indices, c.indices, strict=True)
    )


def _names_only(e: Expr, row: Var) -> bool:
    """Whether different rows give different values: the row itself, or a sum with it."""
    return coefficient(e, row) in (1, -1)


def _joins(first: Parallel, touched: set[_Touch], s: Parallel, mine: set[_Touch]) -> bool:
    """Whether rows of `s` need of a group that begins with `first` the same row alone."""
    row = first.vars[0]
    return first.extents[0] == s.extents[0] and all(
        _same_row(a, c, row) for a, c in _clashes(touched, _renamed(mine, s.vars[0], row))
    )


def _passes(s: Stmt, touched: set[_Touch], homes: Mapping[str, str]) -> bool:
    """Whether a binding or declaration after a group can move in front of it."""
    if isinstance(s, Alloc):
        return True
    if not isinstance(s, Let):
        return False
    written = {t.home for t in touched if t.writes}
    return not any(homes.get(ld.buffer, ld.buffer) in written for ld in loads(s.value))


@dataclass(slots=True)
class _Rows:
    """Loops over the same rows that become one, and what waits until they are through."""

    loops: list[Parallel] = field(default_factory=list)
    touched: set[_Touch] = field(default_factory=set)
    later: list[Stmt] = field(default_factory=list)
    used_later: set[_Touch] = field(default_factory=set)
    are_long: bool = False

    def takes(self, s: Parallel, mine: set[_Touch]) -> bool:
        """Whether a loop may go along with those before it, and in front of what waits."""
        if not self.loops or _clashes(self.used_later, mine):
            return False
        return _joins(self.loops[0], self.touched, s, mine)

    def add(self, s: Parallel, mine: set[_Touch]) -> None:
        """One more loop over the rows."""
        self.loops.append(s)
        self.touched |= _renamed(mine, s.vars[0], self.loops[0].vars[0])
        self.are_long = self.are_long or _row_length(s) >= LONG

    def wait(self, s: Stmt, mine: Iterable[_Touch]) -> None:
        """A statement that stands behind the rows."""
        self.later.append(s)
        self.used_later |= set(mine)


def _row_length(s: Parallel) -> int:
    """Elements of the longest loop in each iteration over a row, as far as it is known."""
    inner = 1
    for extent in s.extents[1:]:
        inner *= int(extent.value) if isinstance(extent, Const) else 1
    stops = (x.stop for x in walk(s.body) if isinstance(x, For))
    return max([inner, *(int(n.value) for n in stops if isinstance(n, Const))])


def _may_wait(s: Stmt) -> bool:
    """Whether a statement does nothing but change elements, atomically or not."""
    inner = walk((s,))
    return isinstance(s, (For, Parallel, Store, Atomic)) and all(
        isinstance(x, _SIMPLE) or (isinstance(x, Atomic) and x.result is None) for x in inner
    )


# -- reductions across rows


@dataclass(frozen=True, slots=True)
class _Columns:
    """A reduction of each column as sums that go from row to row."""

    sums: Buffer
    clear: Parallel
    step: Parallel
    result: Parallel


def _columns(s: Parallel) -> _Columns | None:
    """The parts of a loop over long rows that reduces each column to one element."""
    if len(s.vars) != 1 or len(s.body) != 4 or not _is_long(s.extents[0]):
        return None
    alloc, first, loop, last = s.body
    if not (isinstance(alloc, Alloc) and isinstance(first, Store) and isinstance(last, Store)):
        return None
    if not (isinstance(loop, For) and loop.start == ZERO and loop.step == ONE):
        return None
    name = alloc.buffer.name
    step = loop.body[0] if len(loop.body) == 1 else None
    if not (isinstance(step, Store) and step.buffer == name == first.buffer):
        return None
    if alloc.buffer.shape or loads(first.value):
        return None
    column, row = s.vars[0], loop.var
    sums = dataclasses.replace(alloc.buffer, shape=s.extents, scope="fragment")
    memo: dict[Expr, Expr] = {}

    def of_column(e: Expr) -> Expr | None:
        if isinstance(e, Load) and e.buffer == name:
            return Load(name, (column,), e.dtype)
        return None

    def made(x: Store) -> Stmt:
        here = (column,) if x.buffer == name else x.indices
        return replace(x, indices=here, value=rewrite_expr(x.value, of_column, memo))

    over = replace(s, vars=(row, column), extents=(loop.stop, *s.extents), body=(made(step),))
    return _Columns(
        sums=sums,
        clear=replace(s, body=(made(first),)),
        step=over,
        result=replace(s, body=(made(last),)),
    )


def _is_long(e: Expr) -> bool:
    return isinstance(e, Const) and int(e.value) >= LONG


@dataclass(slots=True)
class _Fuser:
    buffers: dict[str, Buffer]
    homes: Mapping[str, str]

    def body(self, body: Body) -> Body:
        """Fuse what is adjacent in a body, inner bodies first."""
        inner = tuple(map_bodies(s, self.body) for s in body)
        fused = self._elements(self._rows(inner))
        same = len(fused) == len(body) and all(x is y for x, y in zip(fused, body, strict=True))
        return body if same else fused

    def _rows(self, body: Body) -> Body:
        out: list[Stmt] = []
        group = _Rows()
        for s in body:
            if self._along(s, group, out):
                continue
            if group.loops and _passes(s, group.touched | group.used_later, self.homes):
                out.append(s)  # it can just as well stand in front of the group
            elif isinstance(s, Parallel) and self._has_rows(s):
                out += self._done(group)
                group = _Rows()
                group.add(s, self._touches(s.body))
            elif group.are_long and _may_wait(s):
                group.wait(s, self._touches((s,)))
            else:
                out += (*self._done(group), s)
                group = _Rows()
        return (*out, *self._done(group))

    def _along(self, s: Stmt, group: _Rows, out: list[Stmt]) -> bool:
        """Whether a statement was taken into a group; `out` stands in front of that."""
        if not (group.loops and isinstance(s, Parallel) and _is_simple(s.body)):
            return False
        columns = _columns(s) if group.are_long else None
        if columns is not None:
            mine = self._touches(columns.step.body)
            if not group.takes(columns.step, mine):
                return False
            self.buffers[columns.sums.name] = columns.sums
            out += [Alloc(buffer=columns.sums, span=s.span), columns.clear]
            group.add(columns.step, mine)
            group.wait(columns.result, self._touches((columns.result,)))
            return True
        mine = self._touches(s.body)
        if not (group.takes(s, mine) and (self._has_rows(s) or group.are_long)):
            return False
        group.add(s, mine)
        return True

    def _touches(self, body: Body) -> set[_Touch]:
        return set(_touches(body, self.homes))

    def _done(self, group: _Rows) -> Body:
        return (*self._row_loop(group.loops), *group.later)

    def _has_rows(self, s: Parallel) -> bool:
        """Whether each iteration of the first axis is a loop itself."""
        has_loop = len(s.vars) > 1 or any(bodies(x) for x in s.body)
        return has_loop and _is_simple(s.body)

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
        """Merge loops over the same elements; what stands between them moves in front of both, or
        behind them if it needs the first."""
        out: list[Stmt] = []
        loop: _Elements | None = None
        between: list[Stmt] = []
        for s in body:
            over = _elements_of(s)
            new = None if over is None else self._loop(s, *over)
            apart = _apart(loop, new, between, self.homes) if new and loop else None
            if new and loop and apart is not None and self._together(loop, new):
                loop.add(new)
                out += apart[0]
                between = apart[1]
            elif loop is not None and not bodies(s):
                between.append(s)
            else:
                out += (*loop.statements(), *between) if loop is not None else ()
                loop, between = new, []
                out += () if new is not None else (s,)
        return (*out, *loop.statements(), *between) if loop is not None else tuple(out)

    def _loop(self, s: Stmt, var: Var, count: Expr) -> _Elements:
        touches = _touches(_body(s), self.homes)
        return _Elements(s, var, count, set(touches), _straight(touches, var), list(_body(s)))

    def _together(self, loop: _Elements, new: _Elements) -> bool:
        if loop.count != new.count:
            return False
        if loop.straight is not new.straight:
            return False  # one of them would keep the other from being vectorized
        theirs = new.touches_as(loop.var)
        sums = {t.buffer for t in (*loop.touches, *theirs) if self._is_scalar(t.buffer)}
        for x, y in _clashes(loop.touches, theirs):
            if x.buffer in sums or x.buffer != y.buffer:
                return False
            if x.indices != y.indices or not x.indices:
                return False
            if not _names_only(x.indices[-1], loop.var):
                return False
        return True

    def _is_scalar(self, name: str) -> bool:
        return name in self.buffers and self.buffers[name].scope == "var"


@dataclass(slots=True)
class _Elements:
    """A loop over elements in any order, to which others are added: each costs what it holds
    itself, however many there are already.
    """

    last: Stmt
    var: Var
    count: Expr
    touches: set[_Touch]
    straight: bool
    body: list[Stmt]
    parts: int = 1
    parallel: bool = True

    def __post_init__(self) -> None:
        self.parallel = isinstance(self.last, Parallel)

    def touches_as(self, var: Var) -> set[_Touch]:
        """The touches with another name for the loop's variable."""
        return _renamed(self.touches, self.var, var)

    def add(self, new: _Elements) -> None:
        """Do the other loop's work, after one's own, for each element."""
        self.body += with_value(tuple(new.body), new.var, self.var)
        self.touches |= new.touches_as(self.var)
        self.last, self.parts = new.last, self.parts + 1
        self.parallel = self.parallel and new.parallel

    def statements(self) -> Body:
        """The loop; as it was if nothing came to it."""
        s = self.last
        if self.parts == 1:
            return (s,)
        body = tuple(self.body)
        if self.parallel:
            assert isinstance(s, Parallel)
            return (replace(s, vars=(self.var,), extents=(self.count,), body=body),)
        loop = For(
            var=self.var, start=ZERO, stop=self.count, step=ONE, kind="vectorized", body=body,
            span=s.span,
        )  # fmt: skip
        return (loop,)


def _apart(
    loop: _Elements, new: _Elements, between: list[Stmt], homes: Mapping[str, str]
) -> tuple[list[Stmt], list[Stmt]] | None:
    """What of the statements between two loops may stand in front of the first, and what behind
    the second; None where one can do neither."""
    front: list[Stmt] = []
    behind: list[Stmt] = []
    waits: set[_Touch] = set()
    for s in between:
        if not _is_simple((s,)):
            return None
        mine = set(_touches((s,), homes))
        if not _clashes(loop.touches | waits, mine):
            front.append(s)
        elif isinstance(s, Store) and not _clashes(mine, new.touches):
            behind.append(s)
            waits |= mine
        else:
            return None
    return front, behind


def _straight(touches: list[_Touch], var: Var) -> bool:
    """Whether a loop goes through memory element after element."""
    for t in touches:
        steps = [coefficient(index, var) for index in t.indices]
        if any(steps[:-1]) or None in steps or (steps and steps[-1] not in (0, 1)):
            return False
    return True


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
    return with_body(fn, _Fuser(declared(fn), aliases(fn.body)).body(fn.body))


def _run(fn: Function, cx: PassContext, plan: Plan) -> Function:
    return fuse_loops(fn)


PASS = Pass(name="fuse-loops", phase="lower", rewrite=_run, requires=("element-wise",), doc=__doc__)
