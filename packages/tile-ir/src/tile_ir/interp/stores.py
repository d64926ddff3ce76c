"""Writing and updating single elements: one, one for each active lane, or a vector."""

from __future__ import annotations

from collections.abc import Callable
from itertools import repeat
from typing import TYPE_CHECKING, Any

import numpy as np

from tile_ir.interp.arith import ARRAY, NATIVE, array_op
from tile_ir.interp.indexing import (
    by_thread,
    check_lanes,
    first_bad,
    lane_indices,
    mask_over,
    match_box,
    outside,
    ring,
    slot_of,
)
from tile_ir.interp.threads import place

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tile_ir.expr import Expr, Slot
    from tile_ir.interp.arith import Value
    from tile_ir.interp.context import Context
    from tile_ir.interp.indexing import Box, Index
    from tile_ir.interp.machine import Env
    from tile_ir.interp.storage import Array, Storage
    from tile_ir.types import DType

Write = Callable[["Env", Any], None]


def compile_write(
    cx: Context,
    name: str,
    indices: Sequence[Expr],
    value: Expr,
    slot: Slot | None = None,
    *,
    clip: bool,
) -> Write:
    """What writes a value of the dtype of `value` at `indices`; outside the buffer nothing is, if
    `clip`.
    """
    if any(cx.is_array(e) for e in (*indices, value)) or cx.lane_axes:
        return _lanes(cx, name, indices, value.dtype.lanes, slot, clip=clip)
    return _scalar(cx, name, indices, slot, clip=clip)


def _scalar(
    cx: Context, name: str, indices: Sequence[Expr], slot: Slot | None, *, clip: bool
) -> Write:
    evals = [cx.expr(i) for i in indices]
    which = slot_of(cx.buffers[name], slot, cx.write_end(slot))

    def run(env: Env, value: Value) -> None:
        storage = env.bufs[name]
        array, defined = ring(storage, which, env)
        index = tuple([i(env) for i in evals])
        for i, extent in zip(index, array.shape, strict=True):
            if not 0 <= i < extent:
                _refuse(env, name, index, array.shape, clip)
                return
        array[index] = value
        if defined is not None:
            defined[index] = True

    return run


def _refuse(
    env: Env, name: str, index: object, shape: tuple[int, ...], clip: bool, what: str = "write"
) -> None:
    if not clip and env.run.debug:
        raise outside(name, what, index, shape)


def _lanes(
    cx: Context, name: str, indices: Sequence[Expr], vector: int, slot: Slot | None, *, clip: bool
) -> Write:
    buffer = cx.buffers[name]
    lanes = vector if buffer.dtype.lanes == 1 else 1
    which = slot_of(buffer, slot, cx.write_end(slot))
    indices = place(cx, buffer, indices)
    traced = cx.threads > 0 and buffer.scope == "shared"
    box = match_box(cx, indices, lanes) if buffer.dtype.lanes == 1 and not traced else None
    if box is not None and not box.complete:
        box = None
    everywhere = lane_indices(cx, indices, lanes)

    def run(env: Env, value: Value) -> None:
        storage = env.bufs[name]
        array, defined = ring(storage, which, env)
        index = None if box is None else box.slices(env, array.shape)
        if box is not None and index is not None:
            _write_box(env, box, index, array, defined, value, lanes)
            return
        scatter(env, storage, (array, defined), everywhere(env), value, clip=clip)

    return run


def _write_box(
    env: Env, box: Box, index: Index, array: Array, defined: Array | None, value: Value, lanes: int
) -> None:
    if env.mask is None:
        if all(isinstance(i, int) for i in index):
            array[index] = value
        else:
            box.arrange(array[index])[...] = value
        if defined is not None:
            defined[index] = True
        return
    mask = env.mask[..., None] if lanes > 1 else env.mask
    np.copyto(box.arrange(array[index]), as_array_like(value, array), where=mask)
    if defined is not None:
        box.arrange(defined[index])[...] |= mask


def as_array_like(value: Value, array: Array) -> Array:
    """The value in the container of `array`."""
    return np.asarray(value, array.dtype)


def active_lanes(
    env: Env, name: str, shape: tuple[int, ...], indices: Index, *, clip: bool, what: str
) -> tuple[Index, Array | None]:
    """Indices moved inside, and the lanes that count (None: all). Raises unless the others may be
    skipped.
    """
    inside, bad = check_lanes(indices, shape)
    if bad is None:
        return inside, env.mask
    mask = None if env.mask is None else mask_over(env.mask, bad)
    active = bad if mask is None else bad & mask
    if not clip and active.any():
        _refuse(env, name, first_bad(indices, active), shape, clip, what)
    return inside, ~bad if mask is None else mask & ~bad


def scatter(
    env: Env,
    storage: Storage,
    memory: tuple[Array, Array | None],
    indices: Index,
    value: Value,
    *,
    clip: bool,
) -> None:
    """Write at index arrays; where lanes meet in one element the last one, in row-major order,
    stays.
    """
    array, defined = memory
    shape = array.shape[: len(indices)]
    inside, valid = active_lanes(env, storage.name, shape, indices, clip=clip, what="write")
    if storage.trace is not None:
        storage.trace.write(env, *by_thread(env, inside, valid))
    flat, values = flatten(env, inside, valid, as_array_like(value, array), array.ndim - len(shape))
    array[flat] = values
    if defined is not None:
        defined[flat] = True


def flatten(
    env: Env, indices: Index, valid: Array | None, value: Array, trailing: int
) -> tuple[Index, Array]:
    """Indices and values of the lanes that count, one after another; `trailing` axes of a value
    stay together.
    """
    shapes = [np.shape(i) for i in indices]
    # The lanes of a vector access are one axis more than the box has.
    vector = any(len(shape) > len(env.box) for shape in shapes)
    lanes = np.broadcast_shapes((*env.box, 1) if vector else env.box, *shapes)
    tail = value.shape[value.ndim - trailing :] if trailing and value.ndim >= trailing else ()
    if not trailing:
        lanes = np.broadcast_shapes(lanes, value.shape)
    spread = [np.broadcast_to(i, lanes) for i in indices]
    values = np.broadcast_to(value, (*lanes, *tail))
    if valid is None:
        return tuple(i.reshape(-1) for i in spread), values.reshape(-1, *tail)
    if len(lanes) > valid.ndim:
        valid = valid[(...,) + (None,) * (len(lanes) - valid.ndim)]
    keep = np.broadcast_to(valid, lanes)
    return tuple(i[keep] for i in spread), values[keep]


def compile_update(
    cx: Context, name: str, indices: Sequence[Expr], kind: str, dt: DType, *, clip: bool
) -> Callable[[Env, Value], Value]:
    """What combines a value into an element, lane after lane, and gives the last old value."""
    everywhere = lane_indices(cx, indices, 1)

    def run(env: Env, value: Value) -> Value:
        storage = env.bufs[name]
        array = storage.array
        inside, valid = active_lanes(
            env, name, array.shape, everywhere(env), clip=clip, what=f"atomic {kind}"
        )
        flat, values = flatten(env, inside, valid, as_array_like(value, array), 0)
        return update(array, flat, values, kind, dt) if len(values) else storage.safe

    return run


def combiner(kind: str, dt: DType) -> Callable[[Value, Value], Value]:
    """The operator of an atomic: old value, new value -> value stored, in the container of `dt`."""
    if kind == "exchange":
        return lambda old, new: new
    return array_op(kind, dt)


def update(array: Array, index: Index, values: Array, kind: str, dt: DType) -> Value:
    """Combine `values` one after another into the elements at `index` (flat index arrays); the last
    old value.
    """
    combine = combiner(kind, dt)
    if len(values) > 1 and dt in NATIVE and kind != "exchange":
        ARRAY[kind].at(array, index or (), values)
        return None
    old = None
    for at, v in zip(zip(*index, strict=True) if index else repeat(()), values, strict=False):
        old = array[at]
        array[at] = combine(old, v)
    return old


__all__ = [
    "Write",
    "combiner",
    "compile_update",
    "compile_write",
    "update",
]
