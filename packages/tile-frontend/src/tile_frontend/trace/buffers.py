"""Buffers as the kernel sees them: indexing gives elements, slicing gives regions, assigning
stores.
"""

from __future__ import annotations

from typing import Any, NoReturn

from tile_frontend.trace import state
from tile_frontend.trace.host_functions import OfTheDevice
from tile_frontend.trace.indices import extent_between, index_of, wrapped
from tile_frontend.trace.values import Value, dtype, expr_of, unwrap
from tile_ir import build
from tile_ir.core import Buffer, Range, Region
from tile_ir.diag import TileError
from tile_ir.expr import Const, Expr, Load, free_vars


class TileIndexError(TileError, IndexError):
    """An index that does not fit its buffer; also an `IndexError` to Python."""


class Box(OfTheDevice):
    """What has many elements: it is no scalar, whatever Python would make of it."""

    __slots__ = ()
    __tile_buffer__ = True

    @property
    def shape(self) -> tuple[Any, ...]:
        """Its extents."""
        raise NotImplementedError

    def __bool__(self) -> NoReturn:
        expr_of(self)
        raise AssertionError

    def __len__(self) -> int:
        first = self.shape[0]
        if isinstance(first, int):
            return first
        raise TileError(
            "E1005",
            f"{self!r} has {first!r} elements, which is not known while the kernel is traced",
            help="shape[0] is that number as a value of the kernel",
        )

    def __iter__(self) -> NoReturn:
        raise TileError(
            "E1010",
            f"{self!r} cannot be iterated over",
            help="loop over its indices: `for i in T.serial(extent)` or T.Parallel",
        )

    def _no_arithmetic(self, other: object = None) -> NoReturn:
        expr_of(self)
        raise AssertionError

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _no_arithmetic
    __truediv__ = __rtruediv__ = __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = _no_arithmetic
    __pow__ = __rpow__ = __matmul__ = __rmatmul__ = __neg__ = __abs__ = _no_arithmetic
    __and__ = __rand__ = __or__ = __ror__ = __xor__ = __rxor__ = __invert__ = _no_arithmetic
    __lt__ = __le__ = __gt__ = __ge__ = _no_arithmetic


class BufferRef(Box):
    """A buffer of the kernel being traced. Equality is identity; `buffer` is its declaration."""

    __slots__ = ("buffer",)

    def __init__(self, buffer: Buffer) -> None:
        self.buffer = buffer

    @property
    def name(self) -> str:
        """Its name in the program."""
        return self.buffer.name

    @property
    def dtype(self) -> dtype:
        """The type of its elements."""
        return dtype.of(self.buffer.dtype)

    @property
    def shape(self) -> tuple[Any, ...]:
        """Its extents: Python ints where known, traced values otherwise."""
        return tuple(unwrap(e) for e in self.buffer.shape)

    @property
    def strides(self) -> tuple[Any, ...]:
        """Distances between neighbours along each axis, in elements."""
        given = self.buffer.strides
        if given is not None:
            return tuple(unwrap(e) for e in given)
        out: list[Expr] = []
        step: Expr = build.const(1, "i32")
        for extent in reversed(self.buffer.shape):
            out.insert(0, step)
            step = build.mul(step, extent)
        return tuple(unwrap(e) for e in out)

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.buffer.shape)

    def scope(self) -> str:
        """Where it lives: global, shared, fragment, local or var."""
        return self.buffer.scope

    def __getitem__(self, key: object) -> Any:
        items = _items(self.buffer, key)
        if any(isinstance(item, slice) for item in items):
            return RegionRef(self, _ranges(self.buffer, items))
        return Element(self, _checked(self.buffer, items))

    def __setitem__(self, key: object, value: object) -> None:
        target = self[key]
        if isinstance(target, RegionRef):
            raise TileError(
                "E1208",
                f"a region of {self.name} is assigned",
                help="use T.copy for a tile, T.fill for a constant, or assign elements in "
                "T.Parallel",
            )
        store_element(target, value)

    def __repr__(self) -> str:
        shape = ", ".join(str(e) for e in self.buffer.shape)
        return f"{self.name}: {self.buffer.scope} {self.dtype}[{shape}]"


class Element(Value):
    """One element of a buffer: a scalar where a value is wanted, the start of a tile where a tile
    is.
    """

    __slots__ = ("indices", "ref")

    def __init__(self, ref: BufferRef, indices: tuple[Expr, ...]) -> None:
        self.ref = ref
        self.indices = indices
        self.origin = self
        self.born = state.now()

    @property
    def expr(self) -> Expr:
        """A read of the element, made where it is used."""
        return build.load(self.ref.buffer, self.indices)


class RegionRef(Box):
    """A box of a buffer. Unit axes that were indexed rather than sliced are kept as unit axes."""

    __slots__ = ("ranges", "ref")

    def __init__(self, ref: BufferRef, ranges: tuple[Range, ...]) -> None:
        self.ref = ref
        self.ranges = ranges

    @property
    def region(self) -> Region:
        """The box for the IR."""
        return Region(self.ref.name, self.ranges)

    @property
    def dtype(self) -> dtype:
        """The type of its elements."""
        return self.ref.dtype

    @property
    def shape(self) -> tuple[Any, ...]:
        """Its extents."""
        return tuple(unwrap(r.extent) for r in self.ranges)

    def __repr__(self) -> str:
        return f"region of {self.ref!r}"


class VarRef(Value):
    """A mutable scalar: reading gives its value now, assigning to its name stores."""

    __slots__ = ("buffer", "fresh")

    def __init__(self, buffer: Buffer) -> None:
        self.buffer = buffer
        self.origin = None
        self.fresh = (
            True  # until a name is bound to it; a second name gets the value, not the variable
        )

    @property
    def expr(self) -> Expr:
        """A read, made where it is used."""
        return Load(self.buffer.name, (), self.buffer.dtype)

    def read(self) -> Expr:
        """A read, made where it is used: a variable is never stale."""
        return self.expr

    @property
    def name(self) -> str:
        """Its name in the program."""
        return self.buffer.name

    def scope(self) -> str:
        """Always "var"."""
        return "var"

    def __getitem__(self, key: object) -> VarRef:
        self._only_zero(key)
        return self

    def __setitem__(self, key: object, value: object) -> None:
        self._only_zero(key)
        self.store(value)

    def _only_zero(self, key: object) -> None:
        if key != 0:
            raise TileIndexError(
                "E1201",
                f"{self.name} is a scalar; it has no element {key!r}",
                help=f"use {self.name} itself, or T.alloc_local for an array",
            )

    def store(self, value: object) -> None:
        """Give it a new value, converted to its type."""
        state.builder("assigning to a T.alloc_var").store(self.buffer, (), value)


def store_element(target: Element | VarRef, value: object) -> None:
    """Write `value`, converted to the element's type."""
    if isinstance(target, VarRef):
        target.store(value)
        return
    made = state.builder("assigning to a buffer")
    made.store(target.ref.buffer, target.indices, value)


def _items(buffer: Buffer, key: object) -> list[object]:
    items = list(key) if isinstance(key, (tuple, list)) else [key]
    if Ellipsis in [i for i in items if i is Ellipsis]:
        at = next(n for n, i in enumerate(items) if i is Ellipsis)
        missing = len(buffer.shape) - len(items) + 1
        items[at : at + 1] = [slice(None)] * missing
    if len(items) != len(buffer.shape):
        axes = len(buffer.shape)
        raise TileIndexError(
            "E1201",
            f"{buffer.name} has {axes} ax{'i' if axes == 1 else 'e'}s but is indexed with "
            f"{len(items)}",
            notes=(f"it is declared as {BufferRef(buffer)!r}",),
            help="give one index or slice for each axis",
        )
    return items


def _checked(buffer: Buffer, items: list[object]) -> tuple[Expr, ...]:
    return tuple(
        _in_reach(buffer, axis, wrapped(index_of(item, buffer.name), extent))
        for axis, (item, extent) in enumerate(zip(items, buffer.shape, strict=True))
    )


def _in_reach(buffer: Buffer, axis: int, index: Expr) -> Expr:
    extent = buffer.shape[axis]
    if buffer.scope in ("local", "fragment"):
        _check_parallel(buffer, index)
    if buffer.scope == "global" or not (isinstance(index, Const) and isinstance(extent, Const)):
        return index
    if not 0 <= index.value < extent.value:
        raise TileIndexError(
            "E1204",
            f"index {index.value} is outside axis {axis} of {buffer.name}, which has "
            f"{extent.value} elements",
            help="only reads outside a global tensor are defined; stay inside on-chip buffers",
        )
    return index


def _check_parallel(buffer: Buffer, index: Expr) -> None:
    """Who owns an element is known only for loops of fixed extent over tiles of the block."""
    b = state.active()
    if b is None or not b.parallel_vars:
        return
    found = sorted(v.name for v in free_vars(index) if v.name in b.parallel_vars)
    if buffer.scope == "fragment":
        loose = [name for name in found if not isinstance(b.parallel_vars[name], Const)]
        if loose:
            raise TileError(
                "E1205",
                f"the fragment {buffer.name} is indexed by {loose[0]}, whose T.Parallel has a "
                "run-time extent",
                help="run over the fragment's own extent and guard the body with `if`",
            )
    elif found:
        raise TileError(
            "E1307",
            f"{buffer.name} is local to each thread but is indexed by {found[0]} of T.Parallel",
            notes=(
                "iterations of T.Parallel are divided among the threads, so each has only its own",
            ),
            help="use T.alloc_fragment for a tile of the block, or T.serial to fill a local array",
        )


def _ranges(buffer: Buffer, items: list[object]) -> tuple[Range, ...]:
    return tuple(
        _range(buffer, item, extent) for item, extent in zip(items, buffer.shape, strict=True)
    )


def _range(buffer: Buffer, item: object, extent: Expr) -> Range:
    if not isinstance(item, slice):
        return Range(wrapped(index_of(item, buffer.name), extent), build.const(1, "i32"))
    if item.step is not None and item.step != 1:
        raise TileIndexError(
            "E1203",
            f"a slice of {buffer.name} has step {item.step}",
            notes=("a tile is a box of consecutive elements",),
            help="copy element by element in T.Parallel to skip some",
        )
    start = build.const(0, "i32") if item.start is None else index_of(item.start, buffer.name)
    stop = extent if item.stop is None else index_of(item.stop, buffer.name)
    start, stop = wrapped(start, extent), wrapped(stop, extent)
    return Range(start, extent_between(start, stop))
