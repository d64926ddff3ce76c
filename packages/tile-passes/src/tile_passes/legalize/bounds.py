"""Guard every access that may leave a global buffer, and only those.

The language gives every access to a global buffer a meaning outside of it: a read is the safe
value, a write does nothing. Here that meaning becomes explicit where it can matter and vanishes
where the prover shows that it cannot: a store, copy, fill or atomic keeps `clip` only when a side
may leave its buffer, and a load inside an expression gets a selection around it. It stands first,
because everything later may then take an access without `clip` to be in bounds.

    before:
        func @f(A: global f32[1000], C: global f32[1024]) {
          kernel @f {
            tiles (bx) in (8) {
              parallel (i) in (128) {
                store C[bx * 128 + i] = A[bx * 128 + i] clip
              }
            }
          }
        }
    after:
        func @f(A: global f32[1000], C: global f32[1024]) {
          kernel @f {
            tiles (bx) in (8) {
              parallel (i) in (128) {
                store C[bx * 128 + i] = select(bx * 128 + i < 1000, A[bx * 128 + i], 0.0)
              }
            }
          }
        }
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tile_ir import build as b
from tile_ir.core import Buffer, Function, Region
from tile_ir.diag import Span, TileError
from tile_ir.expr import Binary, Const, Expr, Load, Select, loads
from tile_ir.opdef import Body, Stmt, opdef
from tile_ir.ops import Atomic, AtomicTile, CallExtern, Copy, Fill, Store
from tile_ir.rewrite import declared, map_exprs, replace, with_body
from tile_passes.analysis.context import FactWalk
from tile_passes.analysis.facts import Facts
from tile_passes.base import Pass, PassContext
from tile_passes.legalize.lanes import ends, store_by_lane, vector_outside
from tile_passes.naming import Names

if TYPE_CHECKING:
    from collections.abc import Callable

    from tile_passes.plan.model import Plan


@dataclass(frozen=True, slots=True)
class _Guard:
    """The visitor: buffers by name, and which expressions are stable enough to reason about."""

    buffers: dict[str, Buffer]
    walk: FactWalk
    names: Names

    def visit(self, stmt: Stmt, facts: Facts) -> Stmt | Body | None:
        if isinstance(stmt, Store) and self._vector_may_leave(stmt, facts):
            return store_by_lane(stmt, self.names)  # each part is visited in its turn
        return self._guarded(stmt, facts)

    def _vector_may_leave(self, s: Store, facts: Facts) -> bool:
        if not s.indices or s.indices[-1].dtype.lanes == 1:
            return False
        reads = [ld for ld in loads(s.value) if ld.dtype.lanes > 1]
        places = [(s.buffer, s.indices), *((ld.buffer, ld.indices) for ld in reads)]
        return any(
            self.buffers[name].scope == "global" and self._doubts(name, indices, facts)
            for name, indices in places
        )

    def _guarded(self, stmt: Stmt, facts: Facts) -> Stmt:
        def guarded(e: Expr) -> Expr:
            return self.expr(e, facts, stmt.span)

        if isinstance(stmt, CallExtern):
            return self._called(stmt, guarded, facts)
        made = map_exprs(stmt, guarded)
        self._refuse_outside(made, facts)
        if isinstance(made, (Copy, Fill, AtomicTile, Store, Atomic)) and made.clip:
            made = replace(made, clip=not self._inside(made, facts))
        return made

    def _called(
        self, stmt: CallExtern, guarded: Callable[[Expr], Expr], facts: Facts
    ) -> CallExtern:
        """Arguments by value are reads; of places only what is always outside is known."""
        args = list(stmt.args)
        for n, arg in enumerate(args):
            if n not in stmt.places:
                args[n] = guarded(arg)
                continue
            assert isinstance(arg, Load)  # the verifier's rule
            indices = tuple(map(guarded, arg.indices))
            self._refuse_point(arg.buffer, indices, facts, stmt.span)
            args[n] = Load(arg.buffer, indices, arg.dtype, arg.slot)
        return replace(stmt, args=tuple(args))

    def _inside(self, stmt: Stmt, facts: Facts) -> bool:
        if isinstance(stmt, (Store, Atomic)):
            return not self._doubts(stmt.buffer, stmt.indices, facts)
        regions = (getattr(stmt, f.name) for f in opdef(stmt).of_kind("operand"))
        return all(self._region_inside(r, facts) for r in regions if isinstance(r, Region))

    def _region_inside(self, region: Region, facts: Facts) -> bool:
        buffer = self.buffers[region.buffer]
        return all(
            facts.prove(b.ge(r.start, 0)) and facts.prove(b.le(b.add(r.start, r.extent), n))
            for r, n in zip(region.ranges, buffer.shape, strict=True)
        )

    def _doubts(self, name: str, indices: tuple[Expr, ...], facts: Facts) -> list[Expr]:
        """The conditions, of those that keep an access in bounds, that were not proved."""
        conds = [
            cond
            for index, extent in zip(indices, self.buffers[name].shape, strict=True)
            for end in ends(index)
            for cond in (b.ge(end, 0), b.lt(end, extent))
        ]
        return [cond for cond in conds if facts.prove(cond) is not True]

    def expr(self, e: Expr, facts: Facts, span: Span | None) -> Expr:
        """The expression with a selection around every load that may leave its buffer."""
        if isinstance(e, (Select, Binary)) and _lazy(e):
            return self._lazy(e, facts, span)
        old = e.children()
        new = tuple(self.expr(c, facts, span) for c in old)
        if any(x is not y for x, y in zip(old, new, strict=True)):
            e = e.with_children(new)
        if isinstance(e, Load) and self.buffers[e.buffer].scope == "global":
            return self._load(e, facts, span)
        return e

    def _lazy(self, e: Select | Binary, facts: Facts, span: Span | None) -> Expr:
        first = self.expr(e.children()[0], facts, span)
        yes = no = facts
        if self.walk.stable(first):
            yes, no = facts.assume(first), facts.assume_not(first)
        new: tuple[Expr, ...]
        if isinstance(e, Select):
            new = (first, self.expr(e.t, yes, span), self.expr(e.f, no, span))
        else:
            new = (first, self.expr(e.b, yes if e.op == "land" else no, span))
        if all(x is y for x, y in zip(e.children(), new, strict=True)):
            return e
        return e.with_children(new)

    def _load(self, e: Load, facts: Facts, span: Span | None) -> Expr:
        self._refuse_point(e.buffer, e.indices, facts, span)
        doubts = self._doubts(e.buffer, e.indices, facts)
        if not doubts:
            return e
        if e.dtype.lanes > 1:
            raise vector_outside(e.buffer, span)
        cond = doubts[0]
        for more in doubts[1:]:
            cond = b.land(cond, more)
        safe = self.buffers[e.buffer].safe_value
        return Select(cond, e, safe if safe is not None else b.const(0, e.dtype), e.dtype)

    # -- what is never right

    def _refuse_outside(self, stmt: Stmt, facts: Facts) -> None:
        if isinstance(stmt, (Store, Atomic)):
            self._refuse_point(stmt.buffer, stmt.indices, facts, stmt.span)
        for f in opdef(stmt).of_kind("operand"):
            region = getattr(stmt, f.name)
            if isinstance(region, Region):
                self._refuse_region(region, facts, stmt.span)

    def _refuse_point(
        self, name: str, indices: tuple[Expr, ...], facts: Facts, span: Span | None
    ) -> None:
        buffer = self.buffers[name]
        for axis, (index, extent) in enumerate(zip(indices, buffer.shape, strict=True)):
            if buffer.scope == "global" and not facts.linear(index).is_const():
                continue  # guarded below: at one size of many it may be outside on every path
            outside = facts.prove(b.ge(index, extent)) or facts.prove(b.lt(index, 0))
            if outside and not facts.contradictory():
                raise _outside(name, axis, f"index {index}", extent, span)

    def _refuse_region(self, region: Region, facts: Facts, span: Span | None) -> None:
        buffer = self.buffers[region.buffer]
        for axis, (r, n) in enumerate(zip(region.ranges, buffer.shape, strict=True)):
            end = b.add(r.start, r.extent)
            if buffer.scope == "global":
                if not facts.linear(r.start).is_const():
                    continue
                outside = facts.prove(b.ge(r.start, n)) or facts.prove(b.le(end, 0))
                outside = outside and facts.prove(b.gt(r.extent, 0))
            else:  # never guarded, so no part of it may leave
                outside = facts.prove(b.gt(end, n)) or facts.prove(b.lt(r.start, 0))
            if outside and not facts.contradictory():
                raise _outside(region.buffer, axis, f"the range {r.start} : {end}", n, span)


def _lazy(e: Select | Binary) -> bool:
    return isinstance(e, Select) or e.op in ("land", "lor")


def _outside(name: str, axis: int, what: str, extent: Expr, span: Span | None) -> TileError:
    size = extent.value if isinstance(extent, Const) else extent
    return TileError(
        "E0611",
        f"{what} of axis {axis} is always outside of '{name}'",
        span=span,
        notes=(f"the axis has extent {size}: valid indices are 0 to extent - 1",),
        help="check the index, or the shape that the buffer was declared with",
    )


def bounds(fn: Function, cx: PassContext, plan: Plan) -> Function:
    """Make every access explicit about leaving its buffer.

    Raises:
        TileError: E0611 for an access that is outside whenever it is reached.
    """
    walk = FactWalk.of(fn)
    guard = _Guard(declared(fn), walk, Names.of(fn))
    return with_body(fn, walk.rewrite(fn.body, Facts.of_dims(fn.dims), guard.visit))


PASS = Pass(name="bounds", phase="legalize", rewrite=bounds, ensures=("bounded",), doc=__doc__)
