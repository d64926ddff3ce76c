"""Keep a running sum over rows as one partial sum per thread, and add those up after the loop.

Where the threads of a row exchange their sums in each trip only to add the result to a running
total, and scale that, they may as well keep what each has: scaling and adding are linear. The
total gets an axis of as many parts as threads share a row, and the exchange comes once, after the
loop. Sums come out in another order, so only under `default` numerics.

    pipeline: partial-sums
    before:
        func @f(A: global f32[8, 4, 8], C: global f32[4]) {
          kernel @f threads = (16) {
            tiles (bx) in (1) {
              alloc x: fragment f32[4, 8] layout [thread (4:d1*2, 4:d0*1) value (2:d1*1)]
              alloc t: fragment f32[4] layout [thread (4:-, 4:d0*1) value ()]
              alloc l: fragment f32[4] layout [thread (4:-, 4:d0*1) value ()]
              fill l[:], 0.0
              for k in (0, 8, 1) serial {
                copy A[k, :, :] -> x[:, :]
                reduce sum x[:, :] -> t[:] dim = 1
                parallel (r) in (4) {
                  store l[r] = l[r] * 0.5 + t[r]
                }
              }
              copy l[:] -> C[:]
            }
          }
        }
    after:
        func @f(A: global f32[8, 4, 8], C: global f32[4]) {
          kernel @f threads = (16) {
            tiles (bx) in (1) {
              alloc x: fragment f32[4, 8] layout [thread (4:d1*2, 4:d0*1) value (2:d1*1)]
              alloc t: fragment f32[4, 4] layout [thread (4:d1*1, 4:d0*1) value ()]
              alloc l: fragment f32[4, 4] layout [thread (4:d1*1, 4:d0*1) value ()]
              fill l[:, :], 0.0
              for k in (0, 8, 1) serial {
                copy A[k, :, :] -> x[:, :]
                reduce sum x[:, :] -> t[:, :] dim = 1, parts = (4, 2)
                parallel (r, p) in (4, 4) layout = [thread (4:d1*1, 4:d0*1) value ()] {
                  store l[r, p] = l[r, p] * 0.5 + t[r, p]
                }
              }
              alloc l_sum: fragment f32[4] layout [thread (4:-, 4:d0*1) value ()]
              reduce sum l[:, :] -> l_sum[:] dim = 1
              copy l_sum[:] -> C[:]
            }
          }
        }
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tile_ir import build as b
from tile_ir.diag import TileError
from tile_ir.expr import Binary, Const, Expr, Load, Unary, loads, rewrite
from tile_ir.layout import Digit, FragmentLayout, places, rename
from tile_ir.opdef import Access, bodies
from tile_ir.ops import Alloc, Fill, For, Parallel, Reduce, Store
from tile_ir.rewrite import all_effects, declared, effects, map_bodies, replace, with_body
from tile_ir.types import f32
from tile_passes.base import Pass
from tile_passes.naming import Names
from tile_passes.plan.relations import Relation
from tile_passes.renaming import with_buffer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tile_ir.core import Buffer, Function
    from tile_ir.opdef import Body, Stmt
    from tile_passes.base import PassContext
    from tile_passes.plan.model import Plan


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sum:
    """A running sum: `row` is reduced in each trip of the loop, `update` adds it to `total`."""

    fill: Fill
    loop: For
    reduce: Reduce
    update: Parallel
    row: Buffer
    total: Buffer
    parts: tuple[int, int]
    """Count and stride, as of `Reduce`."""
    layout: FragmentLayout
    """Of row and total, with the axis of parts."""

    @property
    def dim(self) -> int:
        """The axis that is reduced, later that of the parts."""
        return self.reduce.dim % len(self.reduce.src.ranges)

    def widened(self, buffer: Buffer) -> Buffer:
        """Row or total with its axis of parts."""
        shape = _inserted(buffer.shape, self.dim, b.const(self.parts[0]))
        return dataclasses.replace(buffer, shape=shape, layout=self.layout)


def _inserted(items: tuple[Expr, ...], at: int, item: Expr) -> tuple[Expr, ...]:
    return (*items[:at], item, *items[at:])


# -- finding


class _Finder:
    def __init__(self, fn: Function) -> None:
        self.body, self.buffers = fn.body, declared(fn)

    def first(self) -> _Sum | None:
        """The first running sum that can be kept in parts."""
        candidates = (
            self._sum(body, at, loop, s)
            for body in _all_bodies(self.body)
            for at, loop in enumerate(body)
            if isinstance(loop, For)
            for s in loop.body
            if isinstance(s, Reduce) and s.kind == "sum" and s.clear and not s.parts
        )
        return next((c for c in candidates if c is not None), None)

    def _sum(self, body: Body, at: int, loop: For, s: Reduce) -> _Sum | None:
        row = self.buffers[s.dst.buffer]
        updates = [u for u in loop.body if isinstance(u, Parallel) and _touches(u, row.name)]
        if len(updates) != 1 or s.dst != b.whole(row):
            return None
        store = updates[0].body[0]
        total = self.buffers[store.buffer] if isinstance(store, Store) else row
        fill = _zeroed(body[:at], total)
        if fill is None or not _is_linear(updates[0], row, total):
            return None
        if not self._alone(s, updates[0], fill, body[at + 1 :], row.name, total.name):
            return None
        made = _parts(s, self.buffers[s.src.buffer], row, total)
        if made is None:
            return None
        parts, layout = made
        return _Sum(
            fill=fill,
            loop=loop,
            reduce=s,
            update=updates[0],
            row=row,
            total=total,
            parts=parts,
            layout=layout,
        )

    def _alone(
        self, s: Reduce, update: Parallel, fill: Fill, after: Body, row: str, total: str
    ) -> bool:
        """Whether nothing else touches the row, and only what follows the loop reads the total."""
        known = {id(s), id(update), id(fill)}
        late = {id(x) for x in _units(after)}
        for x in _units(self.body):
            if id(x) in known:
                continue
            if _touches(x, row) or (_touches(x, total) and id(x) not in late):
                return False
        return not any(_writes(x, total) for x in _units(after))


def _all_bodies(body: Body) -> Iterator[Body]:
    yield body
    for s in body:
        for inner in bodies(s):
            yield from _all_bodies(inner)


def _units(body: Body) -> Iterator[Stmt]:
    """Every statement; a parallel loop is one."""
    for s in body:
        yield s
        if not isinstance(s, Parallel):
            for inner in bodies(s):
                yield from _units(inner)


def _effects(s: Stmt) -> list[tuple[str, Access]]:
    found = all_effects((s,)) if isinstance(s, Parallel) else effects(s)
    return [(e.buffer, e.access) for e in found]


def _touches(s: Stmt, name: str) -> bool:
    return any(n == name for n, _ in _effects(s))


def _writes(s: Stmt, name: str) -> bool:
    return any(n == name and a & (Access.WRITE | Access.UPDATE) for n, a in _effects(s))


def _zeroed(before: Body, total: Buffer) -> Fill | None:
    """The last statement that touches the total, if it sets all of it to zero."""
    for s in reversed(before):
        if isinstance(s, Fill) and s.dst == b.whole(total):
            return s if isinstance(s.value, Const) and s.value.value == 0 else None
        if any(_touches(x, total.name) for x in _units((s,))):
            return None
    return None


def _is_linear(update: Parallel, row: Buffer, total: Buffer) -> bool:
    """Whether each element of the total becomes a linear function of itself and that of the row."""
    store = update.body[0]
    if len(update.body) != 1 or not isinstance(store, Store) or store.indices != update.vars:
        return False
    if row.dtype is not f32 or total.dtype is not f32 or update.extents != total.shape:
        return False
    own = frozenset({row.name, total.name})
    at_home = all(x.indices == update.vars for x in loads(store.value) if x.buffer in own)
    return row.name != total.name and at_home and _linear(store.value, own)


def _linear(e: Expr, own: frozenset[str]) -> bool:
    if isinstance(e, Load):
        return e.buffer in own
    if isinstance(e, Unary):
        return e.op == "neg" and _linear(e.a, own)
    if not isinstance(e, Binary):
        return False
    if e.op in ("add", "sub"):
        return _linear(e.a, own) and _linear(e.b, own)
    free = [all(x.buffer not in own for x in loads(side)) for side in (e.a, e.b)]
    if e.op == "mul":
        return (free[1] and _linear(e.a, own)) or (free[0] and _linear(e.b, own))
    return e.op == "div" and free[1] and _linear(e.a, own)


def _parts(
    s: Reduce, src: Buffer, row: Buffer, total: Buffer
) -> tuple[tuple[int, int], FragmentLayout] | None:
    """How threads share a row, when one digit says it, and the layout with that digit an axis."""
    layout, dim = src.layout, s.dim % src.rank
    if not isinstance(layout, FragmentLayout) or layout.group or s.src != b.whole(src):
        return None
    axes = tuple(i for i in range(src.rank) if i != dim)
    try:
        wanted = Relation(src.name, row.name, axes, src.rank).wanted(layout)
    except TileError:  # no digits say it
        return None
    mine = [i for i, d in enumerate(layout.thread) if d.axis == f"d{dim}"]
    if row.layout != wanted or total.layout != wanted or len(mine) != 1:
        return None
    digit, size = layout.thread[mine[0]], src.shape[dim]
    place = places(layout.thread)[mine[0]]
    if not isinstance(size, Const) or int(size.value) % (digit.extent * digit.stride):
        return None
    at = dict(zip(places(wanted.thread), range(len(wanted.thread)), strict=True)).get(place)
    if at is None or digit.extent == 1 or wanted.thread[at] != Digit(digit.extent):
        return None
    names = {f"d{i}": f"d{i if i < dim else i + 1}" for i in range(row.rank)}
    moved = rename(wanted, names)
    thread = (*moved.thread[:at], Digit(digit.extent, f"d{dim}", 1), *moved.thread[at + 1 :])
    outputs = tuple(f"d{i}" for i in range(src.rank))
    made = FragmentLayout(thread=thread, value=moved.value, outputs=outputs)
    return (digit.extent, digit.stride), made


# -- rewriting


class _Rewriter:
    """Puts one running sum into parts."""

    def __init__(self, fn: Function, found: _Sum) -> None:
        names = Names.of(fn)
        self.found = found
        self.after = dataclasses.replace(found.total, name=names.fresh(f"{found.total.name}_sum"))
        self.part = names.var("p")
        self.wide = {x.name: found.widened(x) for x in (found.row, found.total)}

    def body(self, body: Body) -> Body:
        """One body and those in it."""
        out: list[Stmt] = []
        late = False
        for s in body:
            made = self.stmt(s)
            out.append(with_buffer(made, self.found.total.name, self.after.name) if late else made)
            if s is self.found.loop:
                out += self._added_up()
                late = True
        return tuple(out)

    def stmt(self, s: Stmt) -> Stmt:
        """One statement over the buffers with parts."""
        found = self.found
        if isinstance(s, Alloc):
            return replace(s, buffer=self.wide.get(s.buffer.name, s.buffer))
        if s is found.fill:
            return replace(found.fill, dst=b.whole(self.wide[found.total.name]))
        if s is found.reduce:
            return replace(
                found.reduce,
                dst=b.whole(self.wide[found.row.name]),
                dim=found.dim,
                parts=found.parts,
            )
        return self._update() if s is found.update else map_bodies(s, self.body)

    def _update(self) -> Parallel:
        found, loop = self.found, self.found.update
        (store,) = loop.body
        assert isinstance(store, Store)  # found as one
        at = _inserted(store.indices, found.dim, self.part)

        def widened(e: Expr) -> Expr | None:
            return (
                Load(e.buffer, at, e.dtype)
                if isinstance(e, Load) and e.buffer in self.wide
                else None
            )

        value = rewrite(store.value, widened, {})
        return replace(
            loop,
            vars=(*loop.vars[: found.dim], self.part, *loop.vars[found.dim :]),
            extents=self.wide[found.total.name].shape,
            layout=found.layout,
            body=(replace(store, indices=at, value=value),),
        )

    def _added_up(self) -> Body:
        found = self.found
        add = Reduce(
            kind="sum",
            src=b.whole(self.wide[found.total.name]),
            dst=b.whole(self.after),
            dim=found.dim,
            span=found.reduce.span,
        )
        return (Alloc(buffer=self.after, span=found.loop.span), add)


def partial_sums(fn: Function, cx: PassContext, plan: Plan) -> Function:
    """Keep every running sum that allows it in parts."""
    if fn.numerics == "strict":
        return fn
    while (found := _Finder(fn).first()) is not None:
        fn = with_body(fn, _Rewriter(fn, found).body(fn.body))
    return fn


PASS = Pass(
    name="partial-sums",
    phase="expand",
    rewrite=partial_sums,
    requires=("layouts planned",),
    doc=__doc__,
)
