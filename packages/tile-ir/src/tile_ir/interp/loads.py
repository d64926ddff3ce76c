"""Reading elements: one, one for each lane, or a vector; in bounds, or the safe value of global
memory.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tile_ir.diag import TileError
from tile_ir.interp.arith import as_array
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
    from tile_ir.expr import Load
    from tile_ir.interp.arith import Value
    from tile_ir.interp.context import Context
    from tile_ir.interp.indexing import Index
    from tile_ir.interp.machine import Env, Eval
    from tile_ir.interp.storage import Array, Storage


def compile_load(cx: Context, e: Load) -> Eval:
    """The evaluator of a `Load`."""
    return _vector(cx, e) if cx.is_array(e) else _scalar(cx, e)


def undefined(name: str) -> TileError:
    """The error for a read of memory that was never written."""
    return TileError(
        "E0503",
        f"{name} is read where it was never written",
        help=f"write the element or fill {name} first; in a pipeline, wait for its channel first",
    )


def _safe(env: Env, storage: Storage, index: object, shape: tuple[int, ...]) -> Value:
    """What a read outside gives, if anything."""
    allowed = storage.scope == "global" and not env.run.strict
    if env.run.debug and not allowed and env.active():
        raise outside(storage.name, "read", index, shape)
    return storage.safe


def _scalar(cx: Context, e: Load) -> Eval:
    name, dt, threads = e.buffer, e.dtype, np.arange(cx.threads, dtype=np.int32)
    indices = [cx.expr(i) for i in e.indices]
    slot = slot_of(cx.buffers[name], e.slot, cx.read_end(e.slot))
    # Uniform integers are Python's; a float keeps its container, which carries its rounding.
    one: Any = None if dt.is_float else (bool if dt.is_bool else int)

    def run(env: Env) -> Value:
        storage = env.bufs[name]
        array, defined = ring(storage, slot, env)
        index = tuple([i(env) for i in indices])
        for i, extent in zip(index, array.shape, strict=True):
            if not 0 <= i < extent:
                return _safe(env, storage, index, array.shape)
        if defined is not None and not defined[index] and env.active():
            raise undefined(name)
        if storage.trace is not None and env.active():
            who = threads if env.mask is None else threads[env.mask]
            storage.trace.read(env, tuple(np.full(who.shape, i) for i in index), who)
        value = array[index]
        return value if one is None else one(value)

    return run


def _vector(cx: Context, e: Load) -> Eval:
    name = e.buffer
    buffer = cx.buffers[name]
    lanes = e.dtype.lanes if buffer.dtype.lanes == 1 else 1
    slot = slot_of(buffer, e.slot, cx.read_end(e.slot))
    indices = place(cx, buffer, e.indices)
    traced = cx.threads > 0 and buffer.scope == "shared"
    plain = buffer.dtype.lanes == 1 and not traced
    box = match_box(cx, indices, lanes) if plain else None
    everywhere = lane_indices(cx, indices, lanes)

    def run(env: Env) -> Value:
        storage = env.bufs[name]
        array, defined = ring(storage, slot, env)
        if box is not None:
            index = box.slices(env, array.shape)
            if index is not None:
                if defined is not None:
                    _check_defined(env, name, box.arrange(defined[index]))
                return box.arrange(array[index])
        return gather(env, storage, array, defined, everywhere(env))

    return run


def _check_defined(env: Env, name: str, defined: Array) -> None:
    good = defined if env.mask is None else defined | ~mask_over(env.mask, defined)
    if not np.all(good):
        raise undefined(name)


def gather(
    env: Env, storage: Storage, array: Array, defined: Array | None, indices: Index
) -> Value:
    """The elements at index arrays; lanes that are not active may point anywhere."""
    shape = array.shape[: len(indices)]
    inside, bad = check_lanes(indices, shape)
    if storage.trace is not None:
        valid = env.mask
        if bad is not None:
            valid = ~bad if env.mask is None else mask_over(env.mask, bad) & ~bad
        storage.trace.read(env, *by_thread(env, inside, valid))
    if bad is None:
        if defined is not None:
            _check_defined(env, storage.name, np.asarray(defined[inside]))
        return array[inside]
    active = bad if env.mask is None else bad & mask_over(env.mask, bad)
    if active.any():
        _safe(env, storage, first_bad(indices, active), shape)
    if 0 in shape:
        lanes = np.broadcast_shapes(*(np.shape(i) for i in indices))
        return np.full(lanes, as_array(storage.safe, storage.dtype))
    if defined is not None:
        _check_defined(env, storage.name, np.asarray(defined[inside]) | bad)
    if array.ndim > len(indices):
        bad = bad[..., None]
    return np.where(bad, as_array(storage.safe, storage.dtype), array[inside])
