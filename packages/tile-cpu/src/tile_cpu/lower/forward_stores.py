"""Values that are used where they are made do not go through memory.

Loops over the same elements were fused, so an element of a tile is often written and read in one
iteration. The reader gets the value itself; where nobody else reads the tile before it is written
anew, nothing is stored. Stores are what row-wise programs have most of: one vector in two cycles,
where two can be read in one.

    before:  parallel (j) in (64) { store x[j] = A[j] * 2.0;  store B[j] = x[j] + 1.0 }
    after:   parallel (j) in (64) { let x_j = A[j] * 2.0;  store B[j] = x_j + 1.0 }
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tile_ir import build
from tile_ir.core import Buffer, Region
from tile_ir.expr import Const, Expr, Load, Var, loads
from tile_ir.expr import rewrite as rewrite_expr
from tile_ir.opdef import Access, Body, Stmt, bodies, opdef
from tile_ir.ops import Alloc, Break, Continue, For, If, Let, Parallel, Store, View
from tile_ir.rewrite import (
    all_effects,
    declared,
    map_bodies,
    map_exprs,
    map_stmts,
    replace,
    stmt_exprs,
    walk,
    with_body,
)
from tile_passes.base import Pass, PassContext
from tile_passes.naming import Names

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tile_ir.core import Function
    from tile_passes.plan.model import Plan

__all__ = ["PASS", "forward_stores"]

_SCOPES = frozenset({"shared", "fragment", "local"})
_Place = tuple[str, tuple[Expr, ...]]
_CHANGES = Access.WRITE | Access.UPDATE


def _candidates(fn: Function) -> dict[str, Buffer]:
    """Tiles that are read and written by single elements only."""
    other = {s.source for s in walk(fn.body) if isinstance(s, View)}
    other |= {s.buffer.name for s in walk(fn.body) if isinstance(s, View)}
    for s in walk(fn.body):
        if isinstance(s, (For, Parallel, Let, Store, Alloc)):
            continue
        values = [getattr(s, f.name) for f in opdef(s).of_kind("operand")]
        other |= {v.buffer for v in values if isinstance(v, Region)}
        own = {e.buffer for e in all_effects((s,))} - _inside(s)
        other |= own - {x.buffer for e in stmt_exprs(s) for x in loads(e)}
    return {
        n: b
        for n, b in declared(fn).items()
        if b.scope in _SCOPES and b.layout is None and b.rank > 0 and n not in other
    }


def _inside(s: Stmt) -> set[str]:
    return {e.buffer for body in bodies(s) for e in all_effects(body)}


@dataclass(slots=True)
class _Forwarder:
    buffers: Mapping[str, Buffer]
    names: Names

    def outside(self, body: Body) -> Body:
        """Forward within every loop over elements in a body."""

        def visit(s: Stmt) -> Stmt:
            if isinstance(s, (For, Parallel)) and not any(bodies(x) for x in s.body):
                return replace(s, body=self.inside(s.body))
            return map_bodies(s, lambda inner: self.visited(inner, visit))

        return self.visited(body, visit)

    @staticmethod
    def visited(body: Body, visit: object) -> Body:
        made = tuple(visit(s) for s in body)  # type: ignore[operator]
        return body if all(a is b for a, b in zip(made, body, strict=True)) else made

    def inside(self, body: Body) -> Body:
        """Statements without bodies of their own, in order."""
        read = {x.buffer for s in body for e in stmt_exprs(s) for x in loads(e)}
        known: dict[_Place, Expr] = {}
        out: list[Stmt] = []
        for s in body:
            made = map_exprs(s, lambda e: _with_known(e, known)) if known else s
            if isinstance(made, Store) and made.buffer in self.buffers and made.slot is None:
                _forget(known, {made.buffer})
                if made.buffer in read:
                    value: Expr = made.value
                    if not isinstance(value, (Const, Var)):
                        value = self.names.var(f"{made.buffer}_at", made.value.dtype)
                        out.append(Let(var=value, value=made.value, span=made.span))
                        made = replace(made, value=value)
                    known[made.buffer, made.indices] = value
            else:
                _forget(known, {e.buffer for e in all_effects((s,)) if e.access & _CHANGES})
            out.append(made)
        out = _last_stores(out, self.buffers)
        same = len(out) == len(body) and all(a is b for a, b in zip(out, body, strict=True))
        return body if same else tuple(out)


def _last_stores(body: list[Stmt], tiles: Mapping[str, Buffer]) -> list[Stmt]:
    """The statements without stores to elements of tiles that a later one overwrites unread."""
    out: list[Stmt] = []
    over: set[_Place] = set()
    for s in reversed(body):
        place = (s.buffer, s.indices) if isinstance(s, Store) else None
        if place in over:
            continue
        read = {x.buffer for e in stmt_exprs(s) for x in loads(e)}
        over = {p for p in over if p[0] not in read}
        if place is not None and place[0] in tiles and place[0] not in read:
            over.add(place)
        out.append(s)
    return out[::-1]


def _with_known(e: Expr, known: Mapping[_Place, Expr]) -> Expr:
    def node(n: Expr) -> Expr | None:
        if isinstance(n, Load) and n.slot is None:
            return known.get((n.buffer, n.indices))
        return None

    return rewrite_expr(e, node, {})


def _forget(known: dict[_Place, Expr], changed: set[str]) -> None:
    """Drop what was known of buffers that change, and of places that such a buffer names."""
    for place in list(known):
        name, indices = place
        if name in changed or any(x.buffer in changed for i in indices for x in loads(i)):
            del known[place]


# -- stores that nobody reads


def _reads(s: Stmt, name: str) -> bool:
    return any(x.buffer == name for y in walk((s,)) for e in stmt_exprs(y) for x in loads(e))


def _writes(s: Stmt, name: str) -> bool:
    return any(isinstance(x, Store) and x.buffer == name for x in walk((s,)))


def _reads_back(s: Stmt, name: str) -> bool:
    """Whether a statement may read what it writes to a tile. A loop that reads where it writes does
    so before, or the value was forwarded."""
    if not _reads(s, name):
        return False
    if not isinstance(s, (For, Parallel)) or any(bodies(x) for x in s.body):
        return True
    places = {
        x.indices for y in s.body for e in stmt_exprs(y) for x in loads(e) if x.buffer == name
    }
    places |= {x.indices for x in s.body if isinstance(x, Store) and x.buffer == name}
    own = {s.var} if isinstance(s, For) else set(s.vars)
    here = next(iter(places))
    return len(places) != 1 or own.isdisjoint(here) or any(loads(i) for i in here)


def _fills(s: Stmt, b: Buffer) -> bool:
    """Whether a loop writes every element of a tile and reads none of it."""
    if isinstance(s, Parallel):
        counts = dict(zip(s.vars, s.extents, strict=True))
    elif isinstance(s, For) and s.start == Const(0, s.start.dtype) and _is_one(s.step):
        counts = {s.var: s.stop}
    else:
        return False
    inner = next((x for x in s.body if isinstance(x, Store) and x.buffer == b.name), None)
    if inner is None or _reads(s, b.name):
        return False
    used = [i for i in inner.indices if isinstance(i, Var)]
    return len(set(used)) == len(used) and all(
        _same_count(counts.get(i), n) if isinstance(i, Var) else _is_one(n) and _is_zero(i)
        for i, n in zip(inner.indices, b.shape, strict=True)
    )


def _fill_together(low: Stmt, high: Stmt | None, b: Buffer) -> bool:
    """Whether two loops write the elements of a tile below a place along one axis and those from
    there on, and read none of it."""
    if not (isinstance(low, Parallel) and isinstance(high, Parallel)):
        return False
    first, second = (
        next((x for x in s.body if isinstance(x, Store) and x.buffer == b.name), None)
        for s in (low, high)
    )
    if first is None or second is None or _reads(low, b.name) or _reads(high, b.name):
        return False
    below = dict(zip(low.vars, low.extents, strict=True))
    above = dict(zip(high.vars, high.extents, strict=True))
    cuts = 0
    for i, k, n in zip(first.indices, second.indices, b.shape, strict=True):
        if _is_one(n) and _is_zero(i) and _is_zero(k):
            continue
        if not isinstance(i, Var) or i not in below:
            return False
        cut = below.pop(i)
        if isinstance(k, Var) and above.pop(k, None) == cut == n:
            continue
        v = next((v for v in above if k == build.add(v, cut)), None)
        if v is None or above.pop(v) != build.sub(n, cut):
            return False
        cuts += 1
    return cuts == 1


def _same_count(a: Expr | None, n: Expr) -> bool:
    return isinstance(a, Const) and isinstance(n, Const) and a.value == n.value


def _is_one(e: Expr) -> bool:
    return isinstance(e, Const) and e.value == 1


def _is_zero(e: Expr) -> bool:
    return isinstance(e, Const) and e.value == 0


def _swept(body: Body, b: Buffer, live: bool) -> tuple[Body, bool]:
    """The body without stores to a tile that nobody reads, and whether anybody reads what the tile
    held before it; `live`: whether somebody reads it afterwards."""
    out: list[Stmt] = []
    above: Stmt | None = None
    for s in reversed(body):
        made, live = _swept_stmt(s, b, live)
        live = live and not _fill_together(s, above, b)
        above = s
        out.extend(reversed(made))
    same = len(out) == len(body) and all(x is y for x, y in zip(reversed(out), body, strict=True))
    return (body if same else tuple(reversed(out))), live


def _swept_stmt(s: Stmt, b: Buffer, live: bool) -> tuple[Body, bool]:
    if isinstance(s, (Break, Continue)):
        return (s,), True  # what follows the loop, or its next trip, was not looked at
    if isinstance(s, If):
        then, first = _swept(s.then, b, live)
        orelse, second = _swept(s.orelse, b, live)
        same = then is s.then and orelse is s.orelse
        branch = s if same else replace(s, then=then, orelse=orelse)
        return (branch,), first or second or _names(s, b.name)
    if isinstance(s, For) and any(bodies(x) for x in s.body):
        inner, before = _swept(s.body, b, live)
        if before and not live:  # a trip reads what the one before left
            inner, before = _swept(s.body, b, True)
        loop = s if inner is s.body else replace(s, body=inner)
        return (loop,), live or before or _names(s, b.name)
    dead = not live and _writes(s, b.name) and not _reads_back(s, b.name)
    live = not _fills(s, b) and (live or _reads(s, b.name))
    return _storeless(s, b.name) if dead else (s,), live


def _names(s: Stmt, name: str) -> bool:
    """Whether a statement's own expressions read a tile, those of its bodies aside."""
    return any(x.buffer == name for e in stmt_exprs(s) for x in loads(e))


def _storeless(s: Stmt, name: str) -> Body:
    """A statement without its stores to a tile, and without loops that did nothing else."""

    def drop(x: Stmt) -> Body | None:
        stores = isinstance(x, Store) and x.buffer == name
        idle = isinstance(x, (For, Parallel)) and all(isinstance(y, Let) for y in x.body)
        return () if stores or idle else None

    return map_stmts((s,), drop)


def _cleaned(body: Body, tiles: Mapping[str, Buffer]) -> Body:
    inner = tuple(map_bodies(s, lambda x: _cleaned(x, tiles)) for s in body)
    for s in inner:
        if isinstance(s, Alloc) and s.buffer.name in tiles:
            inner, _ = _swept(inner, s.buffer, live=False)
            if not any(_reads(x, s.buffer.name) or _writes(x, s.buffer.name) for x in inner):
                inner = tuple(x for x in inner if x is not s)
    return body if all(x is y for x, y in zip(inner, body, strict=True)) else inner


def forward_stores(fn: Function) -> Function:
    """Return the function in which elements that were just written are not read back."""
    tiles = _candidates(fn)
    made = _Forwarder(tiles, Names.of(fn)).outside(fn.body)
    return with_body(fn, _cleaned(made, tiles))


def _run(fn: Function, cx: PassContext, plan: Plan) -> Function:
    return forward_stores(fn)


PASS = Pass(
    name="forward-stores", phase="lower", rewrite=_run, requires=("element-wise",), doc=__doc__
)
