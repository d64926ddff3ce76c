"""Copies of a thread's own few elements into shared memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tile_frontend.language.places import element_at
from tile_frontend.trace import state
from tile_frontend.trace.logic import truth
from tile_frontend.trace.values import static_int
from tile_ir import build
from tile_ir.diag import TileError
from tile_ir.expr import Const
from tile_ir.ops import For, Store
from tile_ir.types import i32

if TYPE_CHECKING:
    from tile_frontend.trace.buffers import Element
    from tile_ir.expr import Expr

__all__ = ["ptx_cp_async"]


def ptx_cp_async(dst: Any, src: Any, num_elems: int, predicate: Any = None) -> None:
    """Copy `num_elems` elements from the place `src` in global memory to the place `dst` in shared
    memory; zeros where `predicate` does not hold.

    Unlike `T.async_copy` it is done at once, which is one of the times at which the device may do
    it: `T.ptx_commit_group` and `T.ptx_wait_group` have nothing to wait for. It may stand in
    T.Parallel. Both places are those of `T.access_ptr` or `T.address_of`, or elements.

    Raises `TileError` E1302 outside a kernel, E1514 for other memories or types, a number that is
    not known, or more elements than the row has from there on; E1405 for what is no place.
    Example: `T.ptx_cp_async(T.access_ptr(S[0, 0], "w"), T.access_ptr(A[0, 0], "r"), 8)`
    """
    what = "T.ptx_cp_async"
    b = state.builder(what)
    if b.inside("kernel") is None:
        b.need_kernel(what)
    to, origin = element_at(dst, what), element_at(src, what)
    target, source = to.ref.buffer, origin.ref.buffer
    count = static_int(num_elems)
    able = (source.scope, target.scope) == ("global", "shared") and source.dtype is target.dtype
    if not able or count is None or count < 1:
        raise TileError(
            "E1514",
            f"{what} moves {num_elems!r} elements of {source.scope} {source.dtype} to "
            f"{target.scope} {target.dtype}",
            help="move a positive number of elements from global to shared memory of one type",
        )
    for place in (to, origin):
        _check_row(place, count, what)
    var = b.counter("v", dtype=i32)
    value: Expr = build.load(source, (*origin.indices[:-1], build.add(origin.indices[-1], var)))
    if predicate is not None:
        value = build.select(truth(predicate), value, build.const(0, source.dtype))
    store = Store(
        buffer=target.name,
        indices=(*to.indices[:-1], build.add(to.indices[-1], var)),
        value=value,
        span=b.span,
    )
    start, stop, step = build.const(0), build.const(count), build.const(1)
    b.emit(For(var=var, start=start, stop=stop, step=step, body=(store,), span=b.span))


def _check_row(place: Element, count: int, what: str) -> None:
    """The elements lie along the last axis: the next row is not part of the run."""
    buffer, first = place.ref.buffer, place.indices[-1]
    extent, begin = buffer.shape[-1], int(first.value) if isinstance(first, Const) else 0
    if isinstance(extent, Const) and begin + count > extent.value:
        raise TileError(
            "E1514",
            f"{what} moves {count} elements from {begin} on, and a row of {buffer.name} has "
            f"{extent.value}",
            help="copy each row by itself",
        )
