"""Reducers: results that the iterations of T.Parallel loops contribute to, however the loops are
divided, and that are combined once at the end.

A contribution goes to a partial result in registers with one place for each iteration of its loop,
where the place in the reducer is named by variables of the loop and there are not too many; else to
one in shared memory by atomic updates. `T.finalize_reducer` combines the partial results.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod
from typing import TYPE_CHECKING, Any, NoReturn

from tile_frontend.language.alloc import alloc_fragment
from tile_frontend.language.tile_ops import copy, fill
from tile_frontend.trace import state
from tile_frontend.trace.buffers import BufferRef
from tile_frontend.trace.builder import converted
from tile_frontend.trace.element_types import ir_dtype
from tile_frontend.trace.loops import ParallelLoop
from tile_frontend.trace.values import Value
from tile_ir import build
from tile_ir.core import Buffer
from tile_ir.diag import TileError
from tile_ir.expr import Const, Expr, Var
from tile_ir.ops import Alloc, Atomic, Fill, Reduce
from tile_ir.types import DType, f32, i32, u32

if TYPE_CHECKING:
    from tile_frontend.trace.builder import Builder, Scope
    from tile_ir.opdef import Stmt

__all__ = ["alloc_reducer", "finalize_reducer", "reducer_init", "reducer_update"]

_KINDS = {
    "sum": ("sum", "add"),
    "max": ("max", "max"),
    "min": ("min", "min"),
    "bitand": ("and", "and"),
    "bitor": ("or", "or"),
    "bitxor": ("xor", "xor"),
}
"""Name in the language -> kind of a reduction, and the operator that combines two values."""


_MOST_PLACES = 1 << 14
"""Places of a partial result in registers: as many as an accumulator of 128 by 128, the usual
largest. Beyond that it would spill."""


@dataclass(eq=False)
class _Epoch:
    """What lies between opening and closing a reducer: where it was opened, and the partial
    results so far.
    """

    scope: Scope
    place: int
    partials: dict[tuple[object, ...], tuple[BufferRef, tuple[int, ...]]] = field(
        default_factory=dict
    )
    scattered: BufferRef | None = None


class Reducer(BufferRef):
    """What `T.alloc_reducer` makes: contributions go in, and a value comes out once it is closed.

    `acc[i]` is a place to contribute to; `acc[i] += value` contributes to a sum.
    """

    __slots__ = ("epoch", "op", "readable", "result")

    def __init__(self, result: BufferRef, op: str) -> None:
        self.result = result
        self.op = op
        self.epoch: _Epoch | None = None
        self.readable = False

    @property
    def buffer(self) -> Buffer:  # type: ignore[override]  # readable at times only
        """The declaration of the buffer that holds the value.

        Raises `TileError` E1418 while there is none.
        """
        if not self.readable:
            _bad(
                f"the reducer {self.name} is read before it has a value",
                f"close it first: T.finalize_reducer({self.name}, dst), then read dst",
            )
        return self.result.buffer

    @property
    def name(self) -> str:
        """Its name in the program."""
        return self.result.name

    def __getitem__(self, key: object) -> Any:
        return self.result[key] if self.readable else Place(self, key)

    def __setitem__(self, key: object, value: object) -> None:
        if value is not Place.DONE:
            _bad(
                f"an element of the reducer {self.name} is assigned",
                f"contribute with T.reducer_update({self.name}[...], value)",
            )

    def to_fill(self) -> BufferRef:
        """`T.clear` and `T.fill` open it: what they put in is a first contribution."""
        b = state.builder("T.reducer_init")
        b.need_kernel("T.reducer_init")
        if self.epoch is not None:
            _bad(f"the reducer {self.name} is opened twice", "close it with T.finalize_reducer")
        self.readable = False
        self.epoch = _Epoch(b.scope, len(b.scope.stmts))
        b.unfinished[self.name] = (f"the reducer {self.name} is never closed", b.span)
        return self.result


class Place:
    """A place of a reducer to contribute to. It has no value."""

    __slots__ = ("key", "reducer")
    DONE = object()

    def __init__(self, reducer: Reducer, key: object) -> None:
        self.reducer = reducer
        self.key = key

    def __iadd__(self, value: object) -> object:
        if self.reducer.op != "sum":
            _bad(
                f"+= contributes to {self.reducer.name}, a reducer of kind {self.reducer.op}",
                f"use T.reducer_update({self.reducer.name}[...], value)",
            )
        reducer_update(self, value)
        return self.DONE

    @property
    def __tile_buffer__(self) -> NoReturn:
        """What is asked of operands that have no value.

        Raises `TileError` E1418: it has none yet.
        """
        _bad(
            f"a place of the reducer {self.reducer.name} is read before it has a value",
            f"contribute with T.reducer_update({self.reducer.name}[...], value), and read what "
            "T.finalize_reducer gives",
        )

    def __repr__(self) -> str:
        return f"a place of the reducer {self.reducer.name}"


def _bad(message: str, fix: str, *notes: str) -> NoReturn:
    raise TileError("E1418", message, notes=notes, help=fix)


def alloc_reducer(shape: Any, dtype: Any, op: str = "sum", replication: Any = None) -> Reducer:
    """A result of the block that iterations of T.Parallel contribute to, each once.

    Args:
        shape: positive ints.
        dtype: element type; sums of half-precision types are formed in float32.
        op: sum, max, min, bitand, bitor or bitxor.
        replication: a hint of older programs, without effect. They open a reducer by `T.clear` or
            `T.fill`, contribute by `+=`, and read it after `T.finalize_reducer(acc)`.

    Raises `TileError` E1304 outside a kernel, E1305 for a shape that is not constant, E1407 for
    another kind, or bits of floats.
    Example: `T.alloc_reducer((64,), T.float32, op="max")`
    """
    element = ir_dtype(dtype)
    if op not in _KINDS:
        raise TileError("E1407", f"there is no reducer of kind {op!r}", help=f"{', '.join(_KINDS)}")
    if op.startswith("bit") and not (element.is_int or element.is_bool):
        raise TileError(
            "E1407",
            f"a reducer of kind {op} combines bits, but holds {element}",
            help="contribute T.reinterpret(value, T.int32) to a reducer of integers",
        )
    return Reducer(alloc_fragment(shape, dtype), op)


def _identity(op: str, dtype: DType) -> Expr:
    """What leaves every value as it is when it is combined with it."""
    if op in ("max", "min") and dtype.is_float:
        return build.cast(build.const(float("-inf" if op == "max" else "inf"), "f64"), dtype)
    numbers = {
        "max": dtype.min_value,
        "min": dtype.max_value,
        "bitand": -1 if dtype.is_signed else dtype.max_value,
    }
    return build.const(numbers.get(op, 0), dtype)


def _wide(dtype: DType) -> DType:
    """The type that partial results are kept in."""
    if dtype.is_float:
        return f32 if dtype.bits < 32 else dtype
    if dtype.bits >= 32:
        return dtype
    return i32 if dtype.is_signed else u32


def _reducer(x: object, what: str) -> Reducer:
    if isinstance(x, Reducer):
        return x
    _bad(f"{what} takes {x!r}", "give it what T.alloc_reducer made")


def reducer_init(reducer: Any, init: Any = None) -> None:
    """Open a reducer: from here on it takes contributions.

    `init` is one contribution to every place, made once.

    Raises `TileError` E1418 for what is no reducer or one that is open, E1302 outside a kernel.
    Example: `T.reducer_init(acc, 0.0)`
    """
    acc = _reducer(reducer, "T.reducer_init")
    fill(acc, Value(_identity(acc.op, acc.result.buffer.dtype)) if init is None else init)


def reducer_update(target: Any, value: Any) -> None:
    """Contribute `value` to a place `acc[i]` of a reducer, once for each iteration of the loop
    T.Parallel around.

    Contributions are combined in any order. A contribution in a branch counts where it is taken.

    Raises `TileError` E1418 outside T.Parallel, for a reducer that is not open, or one that was
    opened in another branch or loop.
    Example: `for i, j in T.Parallel(64, 64): T.reducer_update(acc[i], F[i, j])`
    """
    b = state.builder("T.reducer_update")
    if not isinstance(target, Place):
        _bad(f"T.reducer_update contributes to {target!r}", "name a place of a reducer: acc[i]")
    acc = target.reducer
    epoch = _open_epoch(acc, b)
    if b.inside("parallel") is None:
        _bad(
            "T.reducer_update stands outside T.Parallel",
            "put it into `for i in T.Parallel(n)`",
            "how often it would contribute depends on how many threads run it",
        )
    indices = acc.result[target.key].indices
    variables = _loop_variables(b)
    axes = _axes(acc, indices, variables)
    if axes is None:
        _scatter(b, acc, epoch, indices, value)
        return
    extents = tuple(int(e.value) for _, e in variables if isinstance(e, Const))
    ref = _partial(b, acc, epoch, extents, axes)
    place = tuple(v for v, _ in variables)
    new = converted(value, ref.buffer.dtype)
    b.store(ref.buffer, place, _with(acc.op, build.load(ref.buffer, place), new))


def _with(op: str, old: Expr, new: Expr) -> Expr:
    """Two contributions as one."""
    return build.binary(_KINDS[op][1], old, new)


def _open_epoch(acc: Reducer, b: Builder) -> _Epoch:
    epoch = acc.epoch
    if epoch is None:
        _bad(f"the reducer {acc.name} is not open", f"call T.reducer_init({acc.name}) before")
    if not epoch.scope.open or epoch.scope not in b.scopes:
        _bad(
            f"the reducer {acc.name} was opened in a branch or loop that has ended",
            "call T.reducer_init in the block that holds the loops and T.finalize_reducer",
        )
    return epoch


def _loop_variables(b: Builder) -> list[tuple[Var, Expr]]:
    """Variables of the T.Parallel loops around, with their extents."""
    loops = [s.facts["loop"] for s in b.scopes if s.kind == "parallel"]
    return [pair for loop in loops for pair in zip(loop.variables, loop.extents, strict=True)]


def _axes(
    acc: Reducer, indices: tuple[Expr, ...], variables: list[tuple[Var, Expr]]
) -> tuple[int, ...] | None:
    """Which loop variable each axis of the reducer follows, -1 for a single place; None where a
    place cannot be told so, or the loops have too many iterations (or an unknown number).
    """
    extents = [int(e.value) if isinstance(e, Const) else _MOST_PLACES + 1 for _, e in variables]
    if prod(extents) > _MOST_PLACES:
        return None
    places = {v: n for n, (v, _) in enumerate(variables)}
    axes = []
    for index, extent in zip(indices, acc.result.buffer.shape, strict=True):
        size = extent.value if isinstance(extent, Const) else 0
        n = places.pop(index, None) if isinstance(index, Var) else None
        if n is not None and variables[n][1] == extent:
            axes.append(n)
        elif isinstance(index, Const) and size == 1:
            axes.append(-1)
        else:
            return None
    kept = [n for n in axes if n >= 0]
    return tuple(axes) if kept == sorted(kept) else None


def _partial(
    b: Builder, acc: Reducer, epoch: _Epoch, extents: tuple[int, ...], axes: tuple[int, ...]
) -> BufferRef:
    """The partial result of loops of these extents, made where the reducer was opened."""
    found = epoch.partials.get((extents, axes))
    if found is None:
        ref = _made(b, acc, epoch, extents, "fragment")
        found = epoch.partials[extents, axes] = (ref, axes)
    return found[0]


def _made(
    b: Builder, acc: Reducer, epoch: _Epoch, extents: tuple[int, ...], scope: str
) -> BufferRef:
    dtype = _wide(acc.result.buffer.dtype)
    shape = tuple(build.const(e, i32) for e in extents)
    name = b.fresh(f"{acc.name}_parts")
    made = Buffer(name=name, dtype=dtype, shape=shape, scope=scope, span=b.span)
    head: list[Stmt] = [
        Alloc(buffer=made, span=b.span),
        Fill(dst=build.whole(made), value=_identity(acc.op, dtype), span=b.span),
    ]
    epoch.scope.stmts[epoch.place : epoch.place] = head
    epoch.place += len(head)
    return BufferRef(made)


def _scatter(
    b: Builder, acc: Reducer, epoch: _Epoch, indices: tuple[Expr, ...], value: Any
) -> None:
    """A contribution to a place that is known only when the kernel runs."""
    if epoch.scattered is None:
        extents = tuple(int(e.value) for e in acc.result.buffer.shape if isinstance(e, Const))
        epoch.scattered = _made(b, acc, epoch, extents, "shared")
    shared = epoch.scattered.buffer
    b.emit(
        Atomic(
            kind=_KINDS[acc.op][1],
            buffer=shared.name,
            indices=indices,
            value=converted(value, shared.dtype),
            span=b.span,
        )
    )


def finalize_reducer(
    reducer: Any, dst: Any = None, batch: int = 1, annotations: Any = None
) -> None:
    """Close a reducer and put its value into `dst`, a fragment or another buffer of its shape.

    Without `dst` the reducer itself is the fragment that holds the value from here on. `batch` is a
    hint, without effect.

    Raises `TileError` E1418 for a reducer that is not open or was opened in another branch or loop,
    E1401 for a `dst` of another shape.
    Example: `T.finalize_reducer(acc, R)`
    """
    b = state.builder("T.finalize_reducer")
    b.need_kernel("T.finalize_reducer")
    acc = _reducer(reducer, "T.finalize_reducer")
    epoch = _open_epoch(acc, b)
    if epoch.scope is not b.scope:
        _bad(
            f"the reducer {acc.name} is closed in another block than it was opened in",
            "call T.reducer_init and T.finalize_reducer in the same block",
        )
    acc.epoch = None
    del b.unfinished[acc.name]
    for part, axes in epoch.partials.values():
        _combine(b, acc, _reduced(b, acc, part, axes), axes)
    if epoch.scattered is not None:
        _combine(b, acc, epoch.scattered, tuple(range(epoch.scattered.ndim)))
    acc.readable = dst is None
    if dst is not None:
        copy(acc.result, dst)


def _reduced(b: Builder, acc: Reducer, part: BufferRef, axes: tuple[int, ...]) -> BufferRef:
    """A partial result combined along the axes that the reducer does not follow."""
    now = part.buffer
    for axis in reversed([n for n in range(part.ndim) if n not in axes]):
        left = (*now.shape[:axis], *now.shape[axis + 1 :]) or (build.const(1, i32),)
        name = b.fresh(f"{acc.name}_part")
        made = b.alloc(
            Buffer(name=name, dtype=now.dtype, shape=left, scope="fragment", span=b.span)
        )
        b.emit(
            Reduce(
                kind=_KINDS[acc.op][0],
                src=build.whole(now),
                dst=build.whole(made),
                dim=axis,
                span=b.span,
            )
        )
        now = made
    return BufferRef(now)


def _combine(b: Builder, acc: Reducer, part: BufferRef, axes: tuple[int, ...]) -> None:
    """Contribute a result of the reducer's places, of which those of a single one have no axis."""
    zero = build.const(0, i32)
    shape = part.buffer.shape
    loop = ParallelLoop(shape)
    loop.begin(b)
    variables = iter(loop.variables)
    place = tuple(zero if n < 0 else next(variables) for n in axes)
    wide = build.load(part.buffer, loop.variables)
    old = build.cast(build.load(acc.result.buffer, place), wide.dtype)
    b.store(acc.result.buffer, place, _with(acc.op, old, wide))
    loop.end(b)
