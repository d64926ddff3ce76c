"""The body of a loop, rewritten to do several consecutive iterations at once.

What depends on the loop variable becomes a vector of `lanes`, what does not stays scalar; a scalar
that holds still during the loop is read once in front of it. What has no vector form raises
`NotVectorizable`, and the loop stays as it is.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tile_ir import build as b
from tile_ir.core import Buffer
from tile_ir.expr import (
    Binary,
    Bitcast,
    Broadcast,
    Call,
    Cast,
    Const,
    Expr,
    Load,
    Ramp,
    Select,
    Unary,
    Var,
    free_vars,
    loads,
)
from tile_ir.opdef import Access, Body, Stmt
from tile_ir.ops import Alloc, For, If, Let, Store
from tile_ir.rewrite import all_effects, bound_vars, replace, walk
from tile_passes.lower.affine import coefficient, depends

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tile_ir.diag import Span
    from tile_ir.types import DType
    from tile_passes.naming import Names

__all__ = ["Capabilities", "NotVectorizable", "VectorBody"]

_DIVISIONS = frozenset({"floordiv", "floormod", "truncdiv", "truncmod", "ceildiv"})


class NotVectorizable(Exception):
    """The loop has no vector form; the text says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Capabilities:
    """What the target's vectors can do.

    `bytes` is the size of a vector; `carrier_bits(dtype)` the width in which a lane of that type is
    computed; `call(fn, dtype)` says whether a function has a vector form, `packed(dtype)` whether
    memory holds several elements in one byte, `gathers` whether a vector can be read whose elements
    lie anywhere along an axis.
    """

    bytes: int
    carrier_bits: Callable[[DType], int]
    call: Callable[[str, DType], bool]
    packed: Callable[[DType], bool]
    gathers: bool = False


@dataclass(slots=True)
class VectorBody:
    """Rewrites the body of one loop over `var`. `hoisted` collects the bindings to put in front of
    the loop.
    """

    var: Var
    lanes: int
    caps: Capabilities
    names: Names
    buffers: dict[str, Buffer]
    runs: Expr
    """The condition that the loop runs at all: only then may memory be read in front of it."""
    span: Span | None = None
    sums: Mapping[str, Buffer] = field(default_factory=dict)
    """Scalars that only gather values -> the vectors that gather them here."""
    guards: int = 0
    """How many conditions enclose the place at work, under which nothing is read in advance."""
    values: tuple[int, int] | None = None
    """The first and the last value of the loop's variable, where both are known."""
    _doubts: int = 0
    """How many conditions that differ between lanes enclose the place at work."""
    written: set[str] = field(default_factory=set)
    bound: set[Var] = field(default_factory=set)
    hoisted: list[Stmt] = field(default_factory=list)
    _private: dict[str, Buffer] = field(default_factory=dict)
    _vectors: dict[Var, Var] = field(default_factory=dict)
    scalars: dict[Expr, Expr] = field(default_factory=dict)
    """What was read in front of the loop already."""
    _memo: dict[Expr, Expr] = field(default_factory=dict)

    def run(self, body: Body) -> Body:
        """The vector form of the loop's body.

        Raises:
            NotVectorizable: some statement has none.
        """
        self.written = {
            e.buffer for e in all_effects(body) if e.access & (Access.WRITE | Access.UPDATE)
        }
        self.bound = {v for s in walk(body) for v in bound_vars(s)} | {self.var}
        return self.body(body)

    def body(self, body: Body) -> Body:
        """The vector form of statements in order."""
        out: list[Stmt] = []
        for s in body:
            rule = _STATEMENTS.get(type(s))
            if rule is None:
                raise NotVectorizable(f"a {type(s).__name__}")
            out.append(rule(self, s))
        return tuple(out)

    # -- statements

    def _alloc(self, s: Stmt) -> Stmt:
        assert isinstance(s, Alloc)
        if s.buffer.scope != "var":
            raise NotVectorizable(f"{s.buffer.name} is private to an iteration and no scalar")
        wide = Buffer(
            name=self.names.fresh(f"{s.buffer.name}_v"),
            dtype=s.buffer.dtype.with_lanes(self.lanes),
            shape=(),
            scope="var",
            span=s.buffer.span,
        )
        self._private[s.buffer.name] = wide
        return Alloc(buffer=wide, span=s.span)

    def _let(self, s: Stmt) -> Stmt:
        assert isinstance(s, Let)
        value = self.expr(s.value)
        if value.dtype.lanes == 1:
            return replace(s, value=value)
        wide = self.names.var(f"{s.var.name}_v", value.dtype)
        self._vectors[s.var] = wide
        return Let(var=wide, value=value, span=s.span)

    def _store(self, s: Stmt) -> Stmt:
        assert isinstance(s, Store)
        partial = self.sums.get(s.buffer)
        if partial is not None:
            if not isinstance(s.value, Binary):  # another iteration's copy was folded
                raise NotVectorizable(f"{s.buffer} gets what changes nothing")
            old = Load(partial.name, (), partial.dtype)
            total = Binary(s.value.op, old, self.vector(s.value.b), partial.dtype)
            return Store(buffer=partial.name, indices=(), value=total, span=s.span)
        private = self._private.get(s.buffer)
        if private is not None:
            return Store(buffer=private.name, indices=(), value=self.vector(s.value), span=s.span)
        if self.buffers[s.buffer].scope == "var":
            raise NotVectorizable(f"{s.buffer} outlives the iteration")
        if s.value.dtype.lanes > 1 or s.slot is not None:
            raise NotVectorizable("a vector store")
        value = self.vector(s.value)
        at = self.place(s.buffer, s.indices)
        if at is None:
            raise NotVectorizable(f"all iterations write one element of {s.buffer}")
        return replace(s, indices=at, value=value)

    def _for(self, s: Stmt) -> Stmt:
        assert isinstance(s, For)
        if depends(s.start, self._varying()) or depends(s.stop, self._varying()):
            raise NotVectorizable("the trip count of an inner loop varies")
        inner = self.body(s.body)
        kind = "serial" if s.kind == "vectorized" else s.kind
        return replace(
            s, body=inner, kind=kind, start=self.uniform(s.start), stop=self.uniform(s.stop)
        )

    def _if(self, s: Stmt) -> Stmt:
        assert isinstance(s, If)
        cond = self.expr(s.cond)
        if cond.dtype.lanes > 1:
            raise NotVectorizable("a branch that differs between iterations")
        self.guards += 1
        made = replace(s, cond=cond, then=self.body(s.then), orelse=self.body(s.orelse))
        self.guards -= 1
        return made

    # -- places

    def place(self, name: str, indices: tuple[Expr, ...]) -> tuple[Expr, ...] | None:
        """The indices of an access with a ramp along the last axis; None when it does not vary.

        Raises:
            NotVectorizable: the lanes are not consecutive elements.
        """
        varying = self._varying()
        if any(depends(i, varying) for i in indices[:-1]):
            raise NotVectorizable(f"{name} is not accessed along its last axis")
        if any(self._private_in(i) for i in indices):
            raise NotVectorizable(f"an index of {name} differs between iterations")
        if not indices or not depends(indices[-1], varying):
            return None
        if coefficient(indices[-1], self.var) != 1 or depends(indices[-1], self._vectors):
            raise NotVectorizable(f"{name} is not accessed element after element")
        self._in_one_piece(name)
        return (*indices[:-1], b.ramp(indices[-1], 1, self.lanes))

    def _in_one_piece(self, name: str) -> None:
        buffer = self.buffers[name]
        if self.caps.packed(buffer.dtype) or not _unit_stride(buffer):
            raise NotVectorizable(f"elements of {name} do not lie one after the other")

    def _gathered(self, e: Load) -> Expr | None:
        """A vector of elements that lie anywhere along the last axis; None where they follow one
        another, or are one.

        Raises:
            NotVectorizable: they lie along another axis, or some may not be there.
        """
        if not self.caps.gathers or not e.indices or not self._differs(e.indices[-1]):
            return None
        *outer, last = e.indices
        steps = coefficient(last, self.var) if not depends(last, self._vectors) else None
        if steps == 1 and not self._private_in(last):
            return None
        plain = last.dtype.bits == _INDEX_BITS and not e.dtype.is_bool
        if any(self._differs(i) for i in outer) or not plain:
            raise NotVectorizable(f"{e.buffer} is not accessed along its last axis")
        self._in_one_piece(e.buffer)
        if self._doubts and not self._inside(last, self.buffers[e.buffer].shape[-1]):
            raise NotVectorizable(f"some elements of {e.buffer} may not be there")
        at = self.vector(last)
        if isinstance(at, Ramp):  # as an index it would be a run of elements
            steps_only = Ramp(Const(0, last.dtype), at.stride, at.dtype)
            at = Binary("add", b.broadcast(at.base, self.lanes), steps_only, at.dtype)
        return Load(e.buffer, (*outer, at), e.dtype.with_lanes(self.lanes), e.slot)

    def _inside(self, index: Expr, extent: Expr) -> bool:
        """Whether an index is within an axis for all values of the loop's variable."""
        found = None if self.values is None else span(index, self.var, *self.values)
        if found is None or not isinstance(extent, Const):
            return False
        return found[0] >= 0 and found[1] < extent.value

    def _varying(self) -> set[Var]:
        return {self.var, *self._vectors}

    # -- expressions

    def vector(self, e: Expr) -> Expr:
        """`e` in every lane."""
        made = self.expr(e)
        return self.spread(made)

    def spread(self, e: Expr) -> Expr:
        """A scalar in every lane; a vector as it is."""
        if e.dtype.lanes > 1:
            return e
        return b.broadcast(self.uniform(e), self.lanes)

    def uniform(self, e: Expr) -> Expr:
        """A scalar that all iterations share, read in front of the loop where it holds still in
        it.
        """
        if isinstance(e, (Const, Var)) or not loads(e) or not self._holds_still(e):
            return e
        found = self.scalars.get(e)
        if found is None:
            stem = loads(e)[0].buffer
            var = self.names.var(f"{stem}_u", e.dtype)
            value = b.select(self.runs, e, b.const(0, e.dtype)) if self._leaves(e) else e
            self.hoisted.append(Let(var=var, value=value, span=self.span))
            found = self.scalars[e] = var
        return found

    def _holds_still(self, e: Expr) -> bool:
        if free_vars(e) & self.bound:
            return False
        if any(ld.buffer in self.written or ld.buffer in self._private for ld in loads(e)):
            return False
        return not (self.guards and self._leaves(e))

    def _leaves(self, e: Expr) -> bool:
        """Whether `e` reads memory that an index may leave when the loop is empty."""
        return any(self.buffers[ld.buffer].scope == "global" for ld in loads(e))

    def expr(self, e: Expr) -> Expr:
        """The value of `e`: scalar where all lanes agree, else a vector."""
        found = self._memo.get(e)
        if found is None:
            found = self._memo[e] = self._make(e)
        return found

    def _make(self, e: Expr) -> Expr:
        if e.dtype.lanes > 1:
            raise NotVectorizable("a vector already")
        if isinstance(e, Load):
            return self._load(e)
        if not self._differs(e):
            return e
        if e.dtype.is_int:
            step = coefficient(e, self.var)
            if step is not None and not depends(e, self._vectors) and not self._private_in(e):
                return Ramp(e, step, e.dtype.with_lanes(self.lanes))
        if isinstance(e, Var):
            return self._vectors[e]
        return _EXPRESSIONS[type(e)](self, e)

    def _differs(self, e: Expr) -> bool:
        """Whether the lanes may disagree on `e`."""
        return depends(e, self._varying()) or self._private_in(e)

    def _private_in(self, e: Expr) -> bool:
        """Whether `e` reads a scalar that every lane has for itself."""
        return any(ld.buffer in self._private for ld in loads(e))

    def _load(self, e: Load) -> Expr:
        private = self._private.get(e.buffer)
        if private is not None:
            return Load(private.name, (), private.dtype)
        gathered = self._gathered(e)
        if gathered is not None:
            return gathered
        at = self.place(e.buffer, e.indices)
        if at is None:
            return e
        return Load(e.buffer, at, e.dtype.with_lanes(self.lanes), e.slot)

    def _wide(self, dtype: DType) -> DType:
        return dtype.with_lanes(self.lanes)

    def _unary(self, e: Expr) -> Expr:
        assert isinstance(e, Unary)
        return Unary(e.op, self.vector(e.a), self._wide(e.dtype))

    def _binary(self, e: Expr) -> Expr:
        assert isinstance(e, Binary)
        if e.op in _DIVISIONS and not (isinstance(e.b, Const) and e.b.value != 0):
            raise NotVectorizable("a division by a variable")
        if e.op in ("land", "lor"):
            self._no_risk(e.b)
        cheaper = _without_division(e)
        if cheaper is not None:
            return self.expr(cheaper)
        return Binary(e.op, self.vector(e.a), self.vector(e.b), self._wide(e.dtype))

    def _select(self, e: Expr) -> Expr:
        assert isinstance(e, Select)
        cond = self.expr(e.cond)
        if cond.dtype.lanes > 1:
            self._no_risk(e.t)
            self._no_risk(e.f)
        differs = cond.dtype.lanes > 1
        self.guards += 1
        self._doubts += differs
        made = Select(cond, self.vector(e.t), self.vector(e.f), self._wide(e.dtype))
        self._doubts -= differs
        self.guards -= 1
        return made

    def _no_risk(self, e: Expr) -> None:
        """Refuse what may not be evaluated where a lane's condition fails."""
        if any(self.buffers[ld.buffer].scope == "global" for ld in loads(e)):
            raise NotVectorizable("a condition guards an access to global memory")

    def _cast(self, e: Expr) -> Expr:
        assert isinstance(e, Cast)
        return Cast(self.vector(e.a), self._wide(e.dtype))

    def _bitcast(self, e: Expr) -> Expr:
        assert isinstance(e, Bitcast)
        return Bitcast(self.vector(e.a), self._wide(e.dtype))

    def _call(self, e: Expr) -> Expr:
        assert isinstance(e, Call)
        if not self.caps.call(e.fn, self._wide(e.args[0].dtype)):
            raise NotVectorizable(f"{e.fn} has no vector form")
        return Call(e.fn, tuple(self.vector(a) for a in e.args), self._wide(e.dtype))


_INDEX_BITS = 32


def _without_division(e: Binary) -> Binary | None:
    """The quotient or remainder of a power of two by a shift or a mask; None for other nodes."""
    if not (isinstance(e.b, Const) and e.dtype.is_int and e.dtype.is_signed):
        return None
    by = int(e.b.value)
    if by < 1 or by & (by - 1):
        return None
    if e.op == "floordiv":
        return Binary("shr", e.a, Const(by.bit_length() - 1, e.dtype), e.dtype)
    if e.op == "floormod":
        return Binary("and", e.a, Const(by - 1, e.dtype), e.dtype)
    return None


def span(e: Expr, var: Var, first: int, last: int) -> tuple[int, int] | None:
    """Bounds of integer arithmetic on `var`, which runs from `first` to `last`, and constants;
    None where it is made of anything else."""
    if e is var:
        return first, last
    if isinstance(e, Const):
        return int(e.value), int(e.value)
    if isinstance(e, Cast) and e.a.dtype.is_int and e.dtype.is_int:
        return span(e.a, var, first, last)
    if not isinstance(e, Binary):
        return None
    a, c = span(e.a, var, first, last), span(e.b, var, first, last)
    if a is None or c is None:
        return None
    if e.op in ("add", "sub"):
        return (a[0] + c[0], a[1] + c[1]) if e.op == "add" else (a[0] - c[1], a[1] - c[0])
    if e.op == "mul":
        corners = [x * y for x in a for y in c]
        return min(corners), max(corners)
    by = c[0] if c[0] == c[1] else 0
    if e.op == "floordiv" and by > 0:
        return a[0] // by, a[1] // by
    if e.op == "floormod" and by > 0:
        return 0, by - 1
    return None


def _unit_stride(buffer: Buffer) -> bool:
    if buffer.strides is None:
        return True
    last = buffer.strides[-1]
    return isinstance(last, Const) and last.value == 1


_STATEMENTS: Mapping[type[Stmt], Callable[[VectorBody, Stmt], Stmt]] = {
    Alloc: VectorBody._alloc,
    For: VectorBody._for,
    If: VectorBody._if,
    Let: VectorBody._let,
    Store: VectorBody._store,
}
_EXPRESSIONS: Mapping[type[Expr], Callable[[VectorBody, Expr], Expr]] = {
    Binary: VectorBody._binary,
    Bitcast: VectorBody._bitcast,
    Broadcast: VectorBody._bitcast,
    Call: VectorBody._call,
    Cast: VectorBody._cast,
    Select: VectorBody._select,
    Unary: VectorBody._unary,
}
