"""Pure scalar expressions: interned trees, so that equality is identity and every pass can memoize
by node.

Expressions carry no span (a shared node has many places); statements do. Buffers are referred to by
name: names are unique within a function, and the declaration alone carries scope, layout and
offset.
"""

from __future__ import annotations

import struct
import threading
from dataclasses import dataclass
from dataclasses import fields as dataclass_fields
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

if TYPE_CHECKING:
    from collections.abc import Callable

    from tile_ir.types import DType

_POOL: WeakValueDictionary[tuple[object, ...], Any] = WeakValueDictionary()
_LOCK = threading.Lock()
_PRINTER: list[Callable[[Expr], str]] = [repr]


class _Interning(type):
    """Returns the one living instance for equal fields; children are interned, so their identity is
    their key."""

    def __call__(cls, *args: object, **kwargs: object) -> Any:
        if (
            cls is not Const and not kwargs
        ):  # all fields given in order are the key: no need to build first
            found = _POOL.get((cls, *args))
            if found is not None:
                return found
        made = super().__call__(*args, **kwargs)
        key = (cls, *made.intern_key())
        found = _POOL.get(key)
        if found is not None:
            return found
        with _LOCK:
            return _POOL.setdefault(key, made)


class Expr(metaclass=_Interning):
    """Base of all expressions. `dtype` is the type of the value."""

    __slots__ = ("__weakref__",)
    dtype: DType

    def intern_key(self) -> tuple[object, ...]:
        """The fields that decide equality."""
        return tuple(getattr(self, name) for name in self.__slots__)

    def children(self) -> tuple[Expr, ...]:
        """The direct subexpressions, in order."""
        return ()

    def with_children(self, new: tuple[Expr, ...]) -> Expr:
        """The same node over other children."""
        return self

    def __copy__(self) -> Expr:
        return self

    def __deepcopy__(self, memo: object) -> Expr:
        return self

    def __reduce__(self) -> tuple[object, ...]:
        return (type(self), tuple(getattr(self, f.name) for f in dataclass_fields(self)))  # type: ignore[arg-type]  # every subclass is a dataclass

    def __str__(self) -> str:
        return _PRINTER[0](self)


@dataclass(frozen=True, slots=True, eq=False, repr=True)
class Const(Expr):
    """A literal of a scalar type: bool, int or float by the kind of `dtype`."""

    value: bool | int | float
    dtype: DType

    def intern_key(self) -> tuple[object, ...]:
        value = self.value
        # 0.0 == -0.0 and nan != nan would confuse the pool; the bits do not.
        bits = struct.pack("<d", value) if isinstance(value, float) else value
        return (type(value), bits, self.dtype)


@dataclass(frozen=True, slots=True, eq=False)
class Var(Expr):
    """A scalar name bound by a loop, a `let`, a tile index, a symbolic dimension or a scalar
    parameter."""

    name: str
    dtype: DType


@dataclass(frozen=True, slots=True)
class Slot:
    """Which slot of a channel an access means: the one waited (or acquired) last, or `back` before
    it (0, 1, ...)."""

    channel: str
    back: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class Load(Expr):
    """One element of a buffer; with a `Ramp` as last index, `dtype.lanes` elements."""

    buffer: str
    indices: tuple[Expr, ...]
    dtype: DType
    slot: Slot | None = None

    def children(self) -> tuple[Expr, ...]:
        return self.indices

    def with_children(self, new: tuple[Expr, ...]) -> Expr:
        return Load(self.buffer, new, self.dtype, self.slot)


@dataclass(frozen=True, slots=True, eq=False)
class Unary(Expr):
    """`neg`, `not` (logical), `bnot` (bitwise), `abs`."""

    op: str
    a: Expr
    dtype: DType

    def children(self) -> tuple[Expr, ...]:
        return (self.a,)

    def with_children(self, new: tuple[Expr, ...]) -> Expr:
        return Unary(self.op, new[0], self.dtype)


@dataclass(frozen=True, slots=True, eq=False)
class Binary(Expr):
    """Arithmetic, comparison, bit and logic operators on operands of one type (`land` and `lor` are
    lazy)."""

    op: str
    a: Expr
    b: Expr
    dtype: DType

    def children(self) -> tuple[Expr, ...]:
        return (self.a, self.b)

    def with_children(self, new: tuple[Expr, ...]) -> Expr:
        return Binary(self.op, new[0], new[1], self.dtype)


@dataclass(frozen=True, slots=True, eq=False)
class Select(Expr):
    """`cond ? t : f`. Only the taken branch is evaluated, so a branch may hold an access that
    `cond` guards."""

    cond: Expr
    t: Expr
    f: Expr
    dtype: DType

    def children(self) -> tuple[Expr, ...]:
        return (self.cond, self.t, self.f)

    def with_children(self, new: tuple[Expr, ...]) -> Expr:
        return Select(new[0], new[1], new[2], self.dtype)


@dataclass(frozen=True, slots=True, eq=False)
class Cast(Expr):
    """Value conversion by the rules of `tile_ir.numerics`."""

    a: Expr
    dtype: DType

    def children(self) -> tuple[Expr, ...]:
        return (self.a,)

    def with_children(self, new: tuple[Expr, ...]) -> Expr:
        return Cast(new[0], self.dtype)


@dataclass(frozen=True, slots=True, eq=False)
class Bitcast(Expr):
    """The same bits read as another type of equal width."""

    a: Expr
    dtype: DType

    def children(self) -> tuple[Expr, ...]:
        return (self.a,)

    def with_children(self, new: tuple[Expr, ...]) -> Expr:
        return Bitcast(new[0], self.dtype)


@dataclass(frozen=True, slots=True, eq=False)
class Call(Expr):
    """A pure function of the table `tile_ir.functions` (math, bit tricks, device queries)."""

    fn: str
    args: tuple[Expr, ...]
    dtype: DType

    def children(self) -> tuple[Expr, ...]:
        return self.args

    def with_children(self, new: tuple[Expr, ...]) -> Expr:
        return Call(self.fn, new, self.dtype)


@dataclass(frozen=True, slots=True, eq=False)
class Ramp(Expr):
    """The vector (base, base + stride, ...) of `dtype.lanes` lanes; as a last index it makes an
    access a vector."""

    base: Expr
    stride: int
    dtype: DType

    def children(self) -> tuple[Expr, ...]:
        return (self.base,)

    def with_children(self, new: tuple[Expr, ...]) -> Expr:
        return Ramp(new[0], self.stride, self.dtype)


@dataclass(frozen=True, slots=True, eq=False)
class Broadcast(Expr):
    """One scalar in every lane of `dtype`."""

    a: Expr
    dtype: DType

    def children(self) -> tuple[Expr, ...]:
        return (self.a,)

    def with_children(self, new: tuple[Expr, ...]) -> Expr:
        return Broadcast(new[0], self.dtype)


def print_with(printer: Callable[[Expr], str]) -> None:
    """Make `str(expr)` the given text; `tile_ir.text`, which needs this module, calls it."""
    _PRINTER[0] = printer


def walk(e: Expr) -> list[Expr]:
    """Every distinct node of `e`, children before parents."""
    if not e.children():
        return [e]
    seen: dict[Expr, None] = {}
    stack = [(e, False)]
    while stack:
        node, done = stack.pop()
        if done:
            seen.setdefault(node)
        elif node not in seen:
            stack.append((node, True))
            stack.extend((c, False) for c in reversed(node.children()))
    return list(seen)


def rewrite(e: Expr, fn: Callable[[Expr], Expr | None], memo: dict[Expr, Expr]) -> Expr:
    """Rebuild `e` bottom up: `fn` sees each node over rewritten children and returns a replacement
    or None.

    Returns `e` itself when nothing changed. `memo` may be shared between calls with the same `fn`.
    """
    found = memo.get(e)
    if found is not None:
        return found
    old = e.children()
    new = tuple(rewrite(c, fn, memo) for c in old)
    node = e if all(a is b for a, b in zip(old, new, strict=True)) else e.with_children(new)
    replaced = fn(node)
    result = node if replaced is None else replaced
    memo[e] = result
    return result


def free_vars(e: Expr) -> frozenset[Var]:
    """The variables that occur in `e`."""
    if isinstance(e, Const):  # most bounds and extents are
        return frozenset()
    return frozenset([n for n in walk(e) if isinstance(n, Var)])


def loads(e: Expr) -> tuple[Load, ...]:
    """The distinct buffer reads in `e`."""
    if isinstance(e, (Const, Var)):  # most bounds and extents are
        return ()
    return tuple([n for n in walk(e) if isinstance(n, Load)])
