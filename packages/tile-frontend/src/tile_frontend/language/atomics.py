"""Indivisible updates of memory that other blocks may update at the same time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tile_frontend.language.places import element_at, neighbours
from tile_frontend.language.vectors import Lanes, lanes_of
from tile_frontend.trace import state
from tile_frontend.trace.buffers import BufferRef, Element, RegionRef
from tile_frontend.trace.builder import converted
from tile_frontend.trace.operands import matched, tile
from tile_frontend.trace.values import Value
from tile_ir import build
from tile_ir.diag import TileError
from tile_ir.expr import Expr, Var
from tile_ir.ops import MEMORY_ORDERS, Atomic, AtomicTile

if TYPE_CHECKING:
    from collections.abc import Callable

    from tile_ir.core import Buffer

__all__ = [
    "atomic_add",
    "atomic_addx2",
    "atomic_addx4",
    "atomic_load",
    "atomic_max",
    "atomic_min",
    "atomic_or",
    "atomic_store",
]


def _update(
    kind: str, dst: Any, value: Any, order: str | None, return_prev: bool, what: str
) -> Value | None:
    b = state.builder(what)
    order = order or "relaxed"
    if order not in MEMORY_ORDERS:
        raise TileError(
            "E1415", f"{what} has memory_order={order!r}", help=f"{', '.join(MEMORY_ORDERS)}"
        )
    if _is_tile(value) or _is_tile(dst):
        _update_tile(kind, dst, value, order, return_prev, what)
        return None
    buffer, indices = _element(dst, what)
    if b.inside("kernel") is None:
        b.need_kernel(what)
    _check_target(kind, buffer, what)
    previous = Var(b.fresh(b.hint("previous")), buffer.dtype) if return_prev else None
    b.emit(
        Atomic(
            kind=kind,
            buffer=buffer.name,
            indices=indices,
            value=converted(value, buffer.dtype),
            result=previous,
            order=order,
            clip=buffer.scope == "global",
            span=b.span,
        )
    )
    return None if previous is None else Value(previous)


def _is_tile(x: object) -> bool:
    return isinstance(x, (BufferRef, RegionRef))


def _element(dst: Any, what: str) -> tuple[Buffer, tuple[Expr, ...]]:
    origin = getattr(dst, "origin", None)
    if not isinstance(origin, Element):
        raise TileError(
            "E1411",
            f"{what} updates {dst!r}, which is no element of a buffer",
            help="give an element A[i, j], or a tile together with a tile of values",
        )
    return origin.ref.buffer, origin.indices


def _check_target(kind: str, buffer: Buffer, what: str) -> None:
    if buffer.scope not in ("global", "shared"):
        raise TileError(
            "E1411",
            f"{what} updates {buffer.name}, a {buffer.scope} buffer",
            notes=("only memory that several threads see needs indivisible updates",),
            help="assign to it plainly, or update a global or shared buffer",
        )
    if buffer.dtype.is_bool:
        raise TileError(
            "E1411", f"{what} updates {buffer.name}, which holds bools", help="use an integer type"
        )
    if kind in ("and", "or", "xor") and not buffer.dtype.is_int:
        raise TileError(
            "E1411",
            f"{what} combines bits, {buffer.name} holds {buffer.dtype}",
            help="use integers",
        )


def _update_tile(kind: str, dst: Any, value: Any, order: str, return_prev: bool, what: str) -> None:
    b = state.builder(what)
    b.need_kernel(what)
    if return_prev:
        raise TileError(
            "E1411",
            f"{what} of a tile returns no previous values",
            help="update element by element in T.Parallel to get them",
        )
    if not _is_tile(value) and tile(value, what).is_start is False:
        raise TileError("E1411", f"{what} adds {value!r} to a tile", help="give a tile of values")
    src, target = matched(value, dst, what)
    _check_target(kind, target.buffer, what)
    b.emit(
        AtomicTile(
            kind=kind,
            src=src.region,
            dst=target.region,
            order=order,
            clip=src.may_leave or target.may_leave,
            span=b.span,
        )
    )


def atomic_add(
    dst: Any,
    value: Any,
    memory_order: str | None = None,
    return_prev: bool = False,
    use_tma: bool = False,
    annotations: Any = None,
) -> Value | None:
    """Add `value` to an element, or a tile of values to a tile, indivisibly for each element.

    Args:
        dst: an element `C[i, j]`, or a region or tile start when `value` is a tile.
        memory_order: relaxed (default), consume, acquire, release, acq_rel or seq_cst. Around any
            but the first all threads of a block meet: it tells others of what the block did before.
        return_prev: give the value from before (elements only).
        use_tma: a hint, without effect.

    Elements outside a global buffer are skipped.

    Raises `TileError` E1411 for what cannot be updated, E1415 for an unknown order, E1401 for tiles
    that differ.
    Example: `T.atomic_add(B[0, 0], 1.0)`
    """
    return _update("add", dst, value, memory_order, return_prev, "T.atomic_add")


def _neighbours(count: int, dst: Any, value: Any, return_prev: bool) -> Value | None:
    what = f"T.atomic_addx{count}"
    target = element_at(dst, what)
    lanes = lanes_of(value) if isinstance(value, Value) and value.dtype.lanes > 1 else []
    if not lanes:
        source = element_at(value, what)
        lanes = [build.load(source.ref.buffer, at) for at in neighbours(source, count)]
    if len(lanes) != count:
        raise TileError(
            "E1411",
            f"{what} is given a vector of {len(lanes)}",
            help=f"give {count} values: a vector, or the place of the first one",
        )
    values = [Value(lane) for lane in lanes]
    places = [Element(target.ref, at) for at in neighbours(target, count)]
    old = [
        _update("add", *pair, None, return_prev, what) for pair in zip(places, values, strict=True)
    ]
    return Lanes([v.expr for v in old if v is not None]) if return_prev else None


def atomic_addx2(dst: Any, value: Any, return_prev: bool = False) -> Value | None:
    """Add two values to an element and its neighbour along the last axis, indivisibly each.

    Args:
        dst: the first element, a place, or a buffer to begin with.
        value: likewise, or a vector of two.
        return_prev: give the values from before as a vector.

    Raises `TileError` E1411 for what cannot be updated or another number of values, E1405 for what
    is no place.
    Example: `T.atomic_addx2(B[0, 0], S[0, 0])`
    """
    return _neighbours(2, dst, value, return_prev)


def atomic_addx4(dst: Any, value: Any, return_prev: bool = False) -> Value | None:
    """Add four values to an element and its neighbours along the last axis, indivisibly each.

    Arguments and errors are those of `T.atomic_addx2`.
    Example: `T.atomic_addx4(B[0, 0], S[0, 0])`
    """
    return _neighbours(4, dst, value, return_prev)


def _extreme(kind: str, word: str) -> Callable[..., Value | None]:
    def update(
        dst: Any,
        value: Any,
        memory_order: str | None = None,
        return_prev: bool = False,
        annotations: Any = None,
    ) -> Value | None:
        return _update(kind, dst, value, memory_order, return_prev, f"T.atomic_{kind}")

    update.__name__ = update.__qualname__ = f"atomic_{kind}"
    update.__doc__ = f"""Replace an element by the {word} of it and `value`, indivisibly; tiles
    likewise.

    Arguments and errors are those of `T.atomic_add`.
    Example: `T.atomic_{kind}(B[0, 0], 1.0)`
    """
    return update


atomic_max = _extreme("max", "larger")
atomic_min = _extreme("min", "smaller")


def atomic_or(dst: Any, value: Any, memory_order: str | None = None) -> None:
    """Or the bits of `value` into an integer element, indivisibly.

    Raises `TileError` E1411 for floats and tiles, E1415 for an unknown order.
    Example: `T.atomic_or(I[0, 0], 1)`
    """
    _update("or", dst, value, memory_order, False, "T.atomic_or")


def atomic_load(src: Any, memory_order: str = "seq_cst") -> Value:
    """Read an element indivisibly.

    Raises `TileError` E1411 when it is no element, E1415 for an order that no read has.
    Example: `T.atomic_load(I[0, 0])`
    """
    if memory_order not in ("relaxed", "consume", "acquire", "seq_cst"):
        raise TileError(
            "E1415",
            f"T.atomic_load has memory_order={memory_order!r}",
            help="a read is relaxed, consume, acquire or seq_cst",
        )
    buffer, _ = _element(src, "T.atomic_load")
    kind = "or" if buffer.dtype.is_int else "add"
    made = _update(kind, src, 0, memory_order, True, "T.atomic_load")
    assert made is not None
    return made


def atomic_store(dst: Any, src: Any, memory_order: str = "seq_cst") -> None:
    """Write an element indivisibly.

    Raises `TileError` E1411 when it is no element, E1415 for an order that no write has.
    Example: `T.atomic_store(I[0, 0], 1)`
    """
    if memory_order not in ("relaxed", "release", "seq_cst"):
        raise TileError(
            "E1415",
            f"T.atomic_store has memory_order={memory_order!r}",
            help="a write is relaxed, release or seq_cst",
        )
    _update("exchange", dst, src, memory_order, False, "T.atomic_store")
