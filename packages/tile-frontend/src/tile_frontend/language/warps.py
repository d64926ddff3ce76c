"""What the threads of a warp do together: exchange values, vote, combine.

A warp is 32 threads, 64 on devices whose warps are so wide, 32 where there are no threads. In a
branch that only some threads take, exchanges and votes are among those that take it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tile_frontend.language.thread_values import (
    all_of,
    bad,
    check_mask,
    kept,
    kernel_of,
    operand,
    thread_of,
    truth,
)
from tile_frontend.trace import state
from tile_frontend.trace.loops import CountedLoop
from tile_frontend.trace.values import Value, expr_of, static_int
from tile_ir import build
from tile_ir.core import Buffer
from tile_ir.expr import Load
from tile_ir.ops import Shuffle, WarpReduce
from tile_ir.types import i32, u64
from tile_passes.lower.reductions import identity

if TYPE_CHECKING:
    from tile_frontend.trace.builder import Builder
    from tile_ir.expr import Expr
    from tile_ir.types import DType

__all__ = [
    "activemask",
    "all_sync",
    "any_sync",
    "ballot",
    "ballot_sync",
    "match_all_sync",
    "match_any_sync",
    "shfl_down",
    "shfl_sync",
    "shfl_up",
    "shfl_xor",
    "tvm_warp_activemask",
    "tvm_warp_shuffle",
    "tvm_warp_shuffle_down",
    "tvm_warp_shuffle_up",
    "warp_reduce_bitand",
    "warp_reduce_bitor",
    "warp_reduce_max",
    "warp_reduce_min",
    "warp_reduce_sum",
]

_FULL_MASKS = (-1, 0xFFFFFFFF, 0xFFFFFFFFFFFFFFFF)
_WIDEST = 64
"""Lanes of the widest warps there are."""


# -- exchanges


def _result(dtype: DType, b: Builder) -> Buffer:
    return b.alloc(Buffer(name=b.fresh("got"), dtype=dtype, shape=(), scope="var", span=b.span))


def _shuffled(value: Expr, lane: Expr, b: Builder) -> Expr:
    """The value of another lane of the warp."""
    if value.dtype.is_bool:
        return build.ne(_shuffled(build.cast(value, i32), lane, b), 0)
    src, by = kept("given", value, 0, b), kept("lane", build.cast(lane, i32), 0, b)
    dst = _result(src.dtype, b)
    b.emit(Shuffle(src=all_of(src), by=all_of(by), dst=all_of(dst), span=b.span))
    return Load(dst.name, (), dst.dtype)


def _combined(kind: str, value: Expr, idle: Any, b: Builder) -> Expr:
    src = kept("given", value, idle, b)
    dst = _result(src.dtype, b)
    b.emit(WarpReduce(kind=kind, src=all_of(src), dst=all_of(dst), span=b.span))
    return Load(dst.name, (), dst.dtype)


def _lanes(width: Any, what: str) -> tuple[Expr, Expr, Expr]:
    """A thread's lane, the first one of its group of `width`, and `width`."""
    lane = build.floormod(thread_of(what), build.call("warp_width"))
    if width is None:
        return lane, build.const(0, i32), build.call("warp_width")
    size = static_int(width)
    if size is None or size < 1 or size & (size - 1) or size > _WIDEST:
        bad(f"{what} has groups of {width!r} lanes", "a width is a power of two up to the warp's")
    return lane, build.mul(build.floordiv(lane, size), size), build.const(size, i32)


def _int(value: Any, what: str) -> Expr:
    e = expr_of(value)
    if not e.dtype.is_int:
        bad(f"{what} counts lanes by {value!r}", "lanes are whole numbers")
    return build.cast(e, i32)


def shfl_sync(value: Any, srcLane: Any, width: int | None = 32, mask: Any = None) -> Value:
    """The value of lane `srcLane`, modulo `width`, of the thread's group of `width` lanes; of its
    whole warp with None.

    A lane that does not come here gives 0. `mask` names the lanes that come; nothing depends on it.

    Raises `TileError` E1522 for a width that is no power of two, E0613 (when the kernel is
    compiled) where warps of the target are not whole.
    Example: `T.shfl_sync(x, 0)`
    """
    what = "T.shfl_sync"
    _, first, size = _lanes(width, what)
    check_mask(mask, what)
    lane = build.add(first, build.floormod(_int(srcLane, what), size))
    return Value(_shuffled(operand(value, what), lane, state.builder(what)))


def shfl_up(value: Any, delta: Any, width: int | None = 32, mask: Any = None) -> Value:
    """The value of the lane `delta` below; its own where the group of `width` has none.

    Raises `TileError` as `T.shfl_sync` does.
    Example: `T.shfl_up(x, 1)`
    """
    what = "T.shfl_up"
    lane, first, _ = _lanes(width, what)
    check_mask(mask, what)
    other = build.sub(lane, _int(delta, what))
    inside = build.select(build.ge(other, first), other, lane)
    return Value(_shuffled(operand(value, what), inside, state.builder(what)))


def shfl_down(value: Any, delta: Any, width: int | None = 32, mask: Any = None) -> Value:
    """The value of the lane `delta` above; its own where the group of `width` has none.

    Raises `TileError` as `T.shfl_sync` does.
    Example: `T.shfl_down(x, 1)`
    """
    what = "T.shfl_down"
    lane, first, size = _lanes(width, what)
    check_mask(mask, what)
    other = build.add(lane, _int(delta, what))
    inside = build.select(build.lt(other, build.add(first, size)), other, lane)
    return Value(_shuffled(operand(value, what), inside, state.builder(what)))


def shfl_xor(value: Any, lane_mask: Any, width: int | None = 32, mask: Any = None) -> Value:
    """The value of the lane whose number differs in the bits of `lane_mask`; its own where the
    group of `width` ends before it.

    Raises `TileError` as `T.shfl_sync` does.
    Example: `T.shfl_xor(x, 1)`
    """
    what = "T.shfl_xor"
    lane, first, size = _lanes(width, what)
    check_mask(mask, what)
    other = build.bit_xor(lane, _int(lane_mask, what))
    inside = build.select(build.lt(other, build.add(first, size)), other, lane)
    return Value(_shuffled(operand(value, what), inside, state.builder(what)))


def tvm_warp_shuffle(mask: Any, value: Any, lane: Any, width: int, warp_size: int = 32) -> Value:
    """`T.shfl_sync(value, lane, width)`.

    Raises `TileError` as `T.shfl_sync` does.
    Example: `T.tvm_warp_shuffle(-1, x, 0, 32, 32)`
    """
    return shfl_sync(value, lane, width)


def tvm_warp_shuffle_up(
    mask: Any, value: Any, delta: Any, width: int, warp_size: int = 32
) -> Value:
    """`T.shfl_up(value, delta, width)`.

    Raises `TileError` as `T.shfl_sync` does.
    Example: `T.tvm_warp_shuffle_up(-1, x, 1, 32, 32)`
    """
    return shfl_up(value, delta, width)


def tvm_warp_shuffle_down(
    mask: Any, value: Any, delta: Any, width: int, warp_size: int = 32
) -> Value:
    """`T.shfl_down(value, delta, width)`.

    Raises `TileError` as `T.shfl_sync` does.
    Example: `T.tvm_warp_shuffle_down(-1, x, 1, 32, 32)`
    """
    return shfl_down(value, delta, width)


# -- votes


def _named(mask: Any, what: str) -> Expr | None:
    """Whether a lane is named by a mask; None: all are."""
    number = static_int(mask) if mask is not None else -1
    if number is None:
        bad(f"{what} has the mask {mask!r}", "a mask is an int known while tracing, or left out")
    if number in _FULL_MASKS:
        return None
    bits = build.const(number % (1 << 64), u64)
    return build.ne(build.bit_and(bits, _bit(what)), build.const(0, u64))


def _bit(what: str) -> Expr:
    """The bit of the thread's lane."""
    lane = build.floormod(thread_of(what), build.call("warp_width"))
    return build.shl(build.const(1, u64), build.cast(lane, u64))


def ballot_sync(pred: Any, mask: Any = None) -> Value:
    """The lanes of the warp in which `pred` holds, a bit for each, as uint64: of those that come
    here and that `mask` names.

    Raises `TileError` E1522 for a mask that is not known, E0613 (when the kernel is compiled) where
    warps of the target are not whole.
    Example: `T.ballot_sync(x > 0)`
    """
    return Value(_ballot(pred, mask, "T.ballot_sync"))


def _ballot(pred: Any, mask: Any, what: str) -> Expr:
    b, _ = kernel_of(what)
    thread_of(what)
    holds, named = truth(pred, what), _named(mask, what)
    if named is not None:
        holds = build.land(holds, named)
    src = kept("given", holds, False, b)
    dst = _result(u64, b)
    b.emit(WarpReduce(kind="ballot", src=all_of(src), dst=all_of(dst), span=b.span))
    return Load(dst.name, (), u64)


def ballot(pred: Any) -> Value:
    """`T.ballot_sync` of all lanes that come here.

    Raises `TileError` as `T.ballot_sync` does.
    Example: `T.ballot(x > 0)`
    """
    return Value(_ballot(pred, None, "T.ballot"))


def activemask() -> Value:
    """The lanes of the warp that come here, as uint64.

    Raises `TileError` as `T.ballot_sync` does.
    Example: `T.activemask()`
    """
    return Value(_ballot(True, None, "T.activemask"))


tvm_warp_activemask = activemask


def any_sync(pred: Any, mask: Any = None) -> Value:
    """1 where `pred` holds in a lane of the warp that comes here and that `mask` names, else 0.

    Raises `TileError` as `T.ballot_sync` does.
    Example: `T.any_sync(x > 0)`
    """
    met = _ballot(pred, mask, "T.any_sync")
    return Value(build.cast(build.ne(met, build.const(0, u64)), i32))


def all_sync(pred: Any, mask: Any = None) -> Value:
    """1 where `pred` holds in all lanes of the warp that come here and that `mask` names, else 0.

    Raises `TileError` as `T.ballot_sync` does.
    Example: `T.all_sync(x > 0)`
    """
    what = "T.all_sync"
    missed = _ballot(Value(build.logical_not(truth(pred, what))), mask, what)
    return Value(build.cast(build.eq(missed, build.const(0, u64)), i32))


def match_any_sync(value: Any, mask: Any = None) -> Value:
    """The lanes of the warp that have the same value as this one, as uint64: of those that come
    here and that `mask` names.

    Raises `TileError` as `T.ballot_sync` does.
    Example: `T.match_any_sync(I[0, 0])`
    """
    return Value(_matches(value, mask, "T.match_any_sync")[0])


def match_all_sync(value: Any, mask: Any = None) -> Value:
    """The lanes that come here and that `mask` names if all of them have one value, else 0; as
    uint64.

    Raises `TileError` as `T.ballot_sync` does.
    Example: `T.match_all_sync(I[0, 0])`
    """
    same, there = _matches(value, mask, "T.match_all_sync")
    return Value(build.select(build.eq(same, there), there, build.const(0, u64)))


def _matches(value: Any, mask: Any, what: str) -> tuple[Expr, Expr]:
    """The lanes with the thread's own value, and all lanes that take part."""
    b, _ = kernel_of(what)
    mine = b.let("mine", operand(value, what)).expr
    there = _ballot(True, mask, what)
    found = b.alloc(Buffer(name=b.fresh("same"), dtype=u64, shape=(), scope="var", span=b.span))
    b.store(found, (), Value(build.bit_and(there, build.const(0, u64))))
    seen = Load(found.name, (), u64)
    loop = _every_lane(what)
    lane = loop.begin(b).expr
    equal = build.eq(_shuffled(mine, lane, b), mine)
    bit = build.shl(build.const(1, u64), build.cast(lane, u64))
    more = build.select(equal, bit, build.const(0, u64))
    b.store(found, (), Value(build.bit_or(seen, more)))
    loop.end(b)
    return build.bit_and(seen, there), there


def _every_lane(what: str) -> CountedLoop:
    return CountedLoop(what, build.const(0, i32), build.call("warp_width"))


# -- reductions


def _warp_reduced(kind: str, value: Any, what: str) -> Value:
    thread_of(what)
    e = operand(value, what)
    e = build.cast(e, i32) if e.dtype.is_bool else e
    if kind in ("and", "or") and not e.dtype.is_int:
        bad(f"{what} combines bits of a {e.dtype}", "bits are combined in integers")
    return Value(_combined(kind, e, identity(kind, e.dtype).value, state.builder(what)))


def warp_reduce_sum(value: Any) -> Value:
    """The sum over the lanes of the warp that come here, in the type of `value`; all lanes get it.

    Lanes are added in pairs that lie apart by half of a warp, then by a quarter, and so on.

    Raises `TileError` E0613 (when the kernel is compiled) where warps of the target are not whole.
    Example: `T.warp_reduce_sum(x)`
    """
    return _warp_reduced("sum", value, "T.warp_reduce_sum")


def warp_reduce_max(value: Any) -> Value:
    """The largest value among the lanes of the warp that come here; a NaN wins.

    Raises `TileError` as `T.warp_reduce_sum` does.
    Example: `T.warp_reduce_max(x)`
    """
    return _warp_reduced("max", value, "T.warp_reduce_max")


def warp_reduce_min(value: Any) -> Value:
    """The smallest value among the lanes of the warp that come here; a NaN wins.

    Raises `TileError` as `T.warp_reduce_sum` does.
    Example: `T.warp_reduce_min(x)`
    """
    return _warp_reduced("min", value, "T.warp_reduce_min")


def warp_reduce_bitand(value: Any) -> Value:
    """The bits that are set in all lanes of the warp that come here.

    Raises `TileError` E1522 for a float, and as `T.warp_reduce_sum` does.
    Example: `T.warp_reduce_bitand(I[0, 0])`
    """
    return _warp_reduced("and", value, "T.warp_reduce_bitand")


def warp_reduce_bitor(value: Any) -> Value:
    """The bits that are set in a lane of the warp that comes here.

    Raises `TileError` E1522 for a float, and as `T.warp_reduce_sum` does.
    Example: `T.warp_reduce_bitor(I[0, 0])`
    """
    return _warp_reduced("or", value, "T.warp_reduce_bitor")
