"""Independent iterations dealt to threads, and the statements that stand between tile operations.

The iterations of a box go to the threads that hold the registers they touch; without registers,
neighbours to neighbouring threads. Copies of a value compute the same, one of them writes memory.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tile_ir import build as b
from tile_ir.core import Region
from tile_ir.diag import InternalError
from tile_ir.expr import Const, Expr, Load, Var, free_vars
from tile_ir.opdef import Access, opdef
from tile_ir.ops import Alloc, Atomic, CallExtern, Claim, For, Let, Parallel, Print, Send, Store
from tile_ir.rewrite import all_effects, map_bodies, replace, walk
from tile_passes.lower.threads.addresses import ZERO, flattened
from tile_passes.lower.threads.context import declared, guarded
from tile_passes.lower.threads.demote import Axes, accesses, axes_of, held_by_digits
from tile_passes.lower.threads.moves import move
from tile_passes.lower.threads.owners import Owner, index_of, owner
from tile_passes.lower.threads.pieces import Items, Piece
from tile_passes.lower.threads.private import array_index, row_of_thread
from tile_passes.lower.threads.spread import (
    box_axes,
    dealt,
    fits_threads,
    register,
    register_through,
    relabel,
    replicated,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tile_ir.core import Buffer
    from tile_ir.layout import FragmentLayout
    from tile_ir.opdef import Body, Stmt
    from tile_passes.analysis.index_maps import IndexMap
    from tile_passes.lower.threads.context import ThreadContext
    from tile_passes.lower.threads.spread import Spread

__all__ = ["Elements", "lower_parallel", "lower_single"]

_OUTSIDE_REGISTERS = ("global", "shared")


@dataclass(slots=True)
class Elements:
    """Rewrites expressions and statements over elements into one thread's: variables become
    coordinates, fragments registers, shared tiles flat memory."""

    cx: ThreadContext
    vars_: Mapping[Var, Expr] = field(default_factory=dict)
    held: Mapping[tuple[str, tuple[Expr, ...]], Expr] = field(default_factory=dict)
    """Register of each element of a fragment that occurs, by its indices as written."""
    rows: frozenset[tuple[str, tuple[Expr, ...]]] = frozenset()
    """Elements of arrays of the thread's own, which no register needs to be found for."""
    stages: Mapping[str, Buffer] = field(default_factory=dict)
    """Shared tiles that stand for fragments whose registers other threads have."""
    first: Expr | None = None
    memo: dict[Expr, Expr] = field(default_factory=dict)

    def expr(self, e: Expr) -> Expr:
        """An expression of one thread's program."""
        found = self.memo.get(e)
        if found is None:
            found = self.memo[e] = self._expr(e)
        return found

    def _expr(self, e: Expr) -> Expr:
        if isinstance(e, Var):
            return self.vars_.get(e, e)
        if isinstance(e, Load):
            name, at = self.place(e.buffer, e.indices)
            return Load(name, at, e.dtype, e.slot)
        old = e.children()
        new = tuple(self.expr(c) for c in old)
        return e if all(x is y for x, y in zip(old, new, strict=True)) else e.with_children(new)

    def place(self, name: str, indices: tuple[Expr, ...]) -> tuple[str, tuple[Expr, ...]]:
        """Buffer and indices of an element."""
        at = self.held.get((name, indices))
        if at is not None:
            return name, (at,)
        buffer = self.stages.get(name) or self.cx.buffers.get(name)
        moved = tuple(self.expr(i) for i in indices)
        if (name, indices) in self.rows and buffer is not None:
            return name, (array_index(buffer, moved),)
        return (name, moved) if buffer is None else (buffer.name, self.cx.place(buffer, moved))

    def body(self, body: Body) -> Body:
        """Statements of one thread's program."""
        out: list[Stmt] = []
        for s in body:
            out.extend(self.stmt(s))
        return tuple(out)

    def stmt(self, s: Stmt) -> Body:
        """One statement; what writes memory only in the thread whose copy counts."""
        s = map_bodies(self._operands(s), self.body)
        if isinstance(s, CallExtern):
            return guarded((s,), self.first if s.touched else None, span=s.span)
        if isinstance(s, (Store, Atomic)):
            buffer = self.cx.buffers.get(s.buffer)
            if buffer is not None and buffer.scope in _OUTSIDE_REGISTERS:
                return guarded((s,), self.first, span=s.span)
        if isinstance(s, Print):
            return guarded((s,), self.first, span=s.span)
        return (s,)

    def _operands(self, s: Stmt) -> Stmt:
        if isinstance(s, (Store, Atomic)):
            name, at = self.place(s.buffer, s.indices)
            return replace(s, buffer=name, indices=at, value=self.expr(s.value))
        changes: dict[str, Any] = {}
        for f in opdef(s).of_kind("operand"):
            changes[f.name] = self._value(getattr(s, f.name))
        if isinstance(s, CallExtern):
            changes["touched"] = tuple(self._whole(r) for r in regions_of(s))
        return replace(s, **changes)

    def _whole(self, region: Region) -> Region:
        """All of a buffer as one thread's program has it."""
        buffer = self.cx.buffers[region.buffer]
        return b.whole(flattened(buffer)) if buffer.scope == "shared" else region

    def _value(self, value: Any) -> Any:
        if isinstance(value, Expr):
            return self.expr(value)
        if isinstance(value, tuple):
            return tuple(self._value(v) for v in value)
        return value


def regions_of(s: CallExtern) -> list[Region]:
    """What a called function may touch."""
    return [r for r in s.touched if isinstance(r, Region)]


def lower_parallel(s: Stmt, cx: ThreadContext) -> Items:
    """The iterations that each thread runs."""
    assert isinstance(s, Parallel)
    if not all(isinstance(e, Const) for e in s.extents):
        return (Piece(_strided(s, cx)),)
    extents = [int(e.value) for e in s.extents]  # type: ignore[attr-defined]  # just checked
    touched, digits, rows = _fragments(s, cx)
    private = _fills_private(s, cx)
    layout = replicated(extents, cx.threads) if private else _layout(s, extents, touched, cx)
    over = cx.spread(layout, extents)
    exclusive = over.first is not None and not private and _must_run_once(s, touched, cx)
    held: dict[tuple[str, tuple[Expr, ...]], Expr] = {}
    strangers: dict[str, None] = {}
    for (name, indices), axes in touched.items():
        at = None
        if not (exclusive and name in _written(s)):
            at = register(cx.layout(cx.buffers[name]), over, axes)
        if at is None:
            strangers[name] = None
        else:
            held[name, indices] = at
    for (name, indices), through in digits.items():
        at = register_through(cx.layout(cx.buffers[name]), over, through)
        assert at is not None  # else it was moved to shared memory
        held[name, indices] = at
    before, stages, after = _staged(s, list(strangers), cx)
    held = {key: at for key, at in held.items() if key[0] not in stages}
    rewrite = Elements(
        cx,
        dict(zip(s.vars, over.at, strict=True)),
        held,
        rows,
        stages,
        None if exclusive else over.first,
    )
    body = rewrite.body(s.body)
    if exclusive:
        body = guarded(body, over.first, span=s.span)
    once = exclusive or over.first is None
    owned = _owned(s, over, extents, cx) if once else ()
    return (*before, Piece(over.nest(body, s.span), owned), *after)


def _fills_private(s: Parallel, cx: ThreadContext) -> bool:
    """Whether iterations write different elements of an array that every thread has for itself:
    then every thread runs them all. An array at indices that do not depend on the iteration is
    scratch of whoever runs it."""
    mine: set[str] = set()
    varying = set(s.vars)
    for t in walk(s.body):
        if isinstance(t, Alloc):
            mine.add(t.buffer.name)
        elif isinstance(t, Let) and free_vars(t.value) & varying:
            varying.add(t.var)
        elif isinstance(t, Store) and t.buffer in cx.buffers and t.buffer not in mine:
            varies = any(free_vars(i) & varying for i in t.indices)
            if varies and cx.buffers[t.buffer].scope == "local":
                return True
    return False


def _owned(
    s: Parallel, over: Spread, extents: list[int], cx: ThreadContext
) -> tuple[tuple[str, Owner], ...]:
    """The owner of the elements of each buffer outside registers that has one."""
    found: dict[str, set[Owner | None]] = {}
    for t in walk(s.body):
        if isinstance(t, CallExtern):  # who touches what is the function's business
            found.update({r.buffer: {None} for r in regions_of(t)})
    for t in walk(s.body):
        for name, indices in accesses(t):
            buffer = cx.buffers.get(name)
            if buffer is None or buffer.scope not in _OUTSIDE_REGISTERS:
                continue
            places = [index_of(i, s.vars) for i in indices]
            known = [p for p in places if p is not None]
            whole = len(known) == len(places)
            made = owner(over.layout, extents, known, cx.fixed) if whole else None
            found.setdefault(name, set()).add(made)
    out = []
    for name, owners in found.items():
        (one, *more) = owners
        if one is not None and not more:
            out.append((name, one))
    return tuple(out)


def _must_run_once(
    s: Parallel, touched: Mapping[tuple[str, tuple[Expr, ...]], Axes], cx: ThreadContext
) -> bool:
    """Whether an iteration may not be repeated by threads that hold copies: it writes no registers,
    so nothing is gained; it asks what an update found; or it reads memory that it writes."""
    written = _written(s)
    if not written & {name for name, _ in touched}:
        return True
    if any(isinstance(t, Atomic) and t.result is not None for t in walk(s.body)):
        return True
    read = {e.buffer for e in all_effects(s.body) if e.access & Access.READ}
    both = written & read & cx.buffers.keys()
    return any(cx.buffers[name].scope in _OUTSIDE_REGISTERS for name in both)


Element = tuple[str, tuple[Expr, ...]]
"""An element as it is written: buffer and indices."""


def _fragments(
    s: Parallel, cx: ThreadContext
) -> tuple[dict[Element, Axes], dict[Element, IndexMap], frozenset[Element]]:
    """The elements of fragments that iterations touch with their axes, those whose indices are put
    together from digits, and those that are in arrays of the thread's own."""
    found: dict[Element, Axes] = {}
    digits: dict[Element, IndexMap] = {}
    rows: set[Element] = set()
    for t in walk(s.body):
        for name, indices in accesses(t):
            buffer = cx.buffers.get(name)
            if buffer is None or buffer.scope != "fragment":
                continue
            axes = axes_of(indices, buffer, s)
            if axes is not None:
                found[name, indices] = axes
                continue
            through = held_by_digits(name, indices, s, cx.buffers)
            if through is not None:
                digits[name, indices] = through
            else:
                assert row_of_thread(indices, buffer, s)  # others were moved to shared memory
                rows.add((name, indices))
    return found, digits, frozenset(rows)


def _written(s: Parallel) -> frozenset[str]:
    return frozenset(
        e.buffer for e in all_effects(s.body) if e.access & (Access.WRITE | Access.UPDATE)
    )


def _layout(
    s: Parallel,
    extents: list[int],
    touched: Mapping[tuple[str, tuple[Expr, ...]], Axes],
    cx: ThreadContext,
) -> FragmentLayout:
    """Who runs which iteration: as pinned, as what is written lies, as what is read lies."""
    pinned = fits_threads(s.layout, cx.threads)
    names = box_axes(len(extents))
    if pinned is not None:
        return relabel(pinned, dict(zip(pinned.outputs, names, strict=True)), names)
    written = _written(s)
    long = {i for i, n in enumerate(extents) if n > 1}
    full = [key for key, axes in touched.items() if long <= set(axes)]
    chosen = next((k for k in full if k[0] in written), full[0] if full else None)
    if chosen is None:
        return dealt(extents, cx.threads)
    held = cx.layout(cx.buffers[chosen[0]])
    by_axis = {
        name: None if a is None else f"d{a}"
        for name, a in zip(held.outputs, touched[chosen], strict=True)
    }
    return relabel(held, by_axis, names)


def _staged(
    s: Parallel, names: list[str], cx: ThreadContext
) -> tuple[Items, dict[str, Buffer], Items]:
    """Shared copies of fragments whose registers the iterations cannot reach, brought there and
    back."""
    before: list[Any] = []
    after: list[Any] = []
    stages: dict[str, Buffer] = {}
    written = _written(s)
    for name in names:
        fragment = cx.buffers[name]
        shape = [int(e.value) for e in fragment.shape]  # type: ignore[attr-defined]  # tiles are static
        stage, alloc = cx.shared(f"{name}_st", fragment.dtype, shape)
        stages[name] = stage
        before += [declared(alloc), *move(b.whole(fragment), b.whole(stage), cx, span=s.span)]
        if name in written:
            after += move(b.whole(stage), b.whole(fragment), cx, span=s.span)
    return tuple(before), stages, tuple(after)


def _strided(s: Parallel, cx: ThreadContext) -> Body:
    """A box of symbolic extents: iterations in row-major order, one for each thread in turn."""
    total: Expr = b.const(1, s.vars[0].dtype)
    for extent in s.extents:
        total = b.mul(total, extent)
    at = cx.names.var("at", total.dtype)
    coordinates: dict[Var, Expr] = {}
    rest: Expr = at
    for k in reversed(range(len(s.vars))):
        last = k == 0
        coordinates[s.vars[k]] = rest if last else b.floormod(rest, s.extents[k])
        rest = rest if last else b.floordiv(rest, s.extents[k])
    inner = Elements(cx, coordinates).body(s.body)
    start, step = b.cast(cx.thread, at.dtype), b.const(cx.threads, at.dtype)
    return (For(var=at, start=start, stop=total, step=step, body=inner, span=s.span),)


def lower_single(s: Stmt, cx: ThreadContext) -> Items:
    """A statement that stands by itself: values are computed by all threads, memory that they share
    is written by one."""
    if isinstance(s, Atomic) and s.result is not None:
        return _returned(s, cx)
    if isinstance(s, CallExtern):  # by every thread, also where it writes what they share
        return (Piece(Elements(cx).stmt(s)),)
    if isinstance(s, Claim) and cx.threads > 1:
        raise InternalError("E9001", "tiles are drawn by a role of one thread", span=s.span)
    if isinstance(s, Send):
        placed = cx.place(cx.buffers[s.buffer], s.indices)
        return (Piece((replace(s, indices=tuple(placed)),)),)
    first = None if cx.threads == 1 else b.eq(cx.thread, 0)
    return (Piece(Elements(cx, first=first).stmt(s)),)


def _returned(s: Atomic, cx: ThreadContext) -> Items:
    """One thread updates; all threads read the old value from shared memory."""
    assert s.result is not None  # the caller asked
    got = cx.names.var(s.result.name, s.result.dtype)
    stage, alloc = cx.shared(f"{s.result.name}_st", s.result.dtype, (1,))
    (update,) = Elements(cx).stmt(replace(s, result=got))
    at = cx.place(stage, (ZERO,))
    keep = Store(buffer=stage.name, indices=at, value=got, span=s.span)
    let = Let(var=s.result, value=Load(stage.name, at, stage.dtype), span=s.span)
    return (declared(alloc), Piece(cx.once((update, keep), s.span)), Piece((let,)))
