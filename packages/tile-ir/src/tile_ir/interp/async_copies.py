"""The meaning of asynchronous copies in one thread's program: boxes by one thread, runs by every
thread. One happens when the phase of its barrier ends or its group settles, at the latest; until
then what it will write is undefined.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from tile_ir import ops
from tile_ir.expr import Const, Load, Ramp
from tile_ir.interp.compiler import rule
from tile_ir.interp.phases import Action, phases_of
from tile_ir.interp.schedule import engines_of
from tile_ir.interp.shared_tiles import Box
from tile_ir.interp.storage import poison_value
from tile_ir.interp.stores import combiner
from tile_ir.interp.threads import active, of_thread

if TYPE_CHECKING:
    from collections.abc import Callable

    from tile_ir.interp.compiler import Compiler
    from tile_ir.interp.machine import Block, Env
    from tile_ir.interp.storage import Storage

__all__ = ["BOXES_LEAVE", "THREADS_COPY", "started"]

THREADS_COPY, BOXES_LEAVE = "threads copy", "boxes leave"
"""Streams of copies whose engine is known only when their group is closed."""


def started(env: Env, action: Action) -> Action:
    """The action, already done where effects are early."""
    if not env.run.late:
        action.finish()
    return action


def _write(storage: Storage, at: Any, value: Any) -> None:
    storage.array[at] = value
    if storage.defined is not None:
        storage.defined[at] = True


def _blank(storage: Storage, at: Any) -> None:
    storage.array[at] = poison_value(storage.dtype)
    if storage.defined is not None:
        storage.defined[at] = False


@rule(ops.BoxLoad)
def box_load(cx: Compiler, s: ops.BoxLoad) -> Callable[[Env], None]:
    """A box into a shared tile, of several blocks perhaps; zeros for what is outside."""
    src, dst, index, threads = Box(cx, s.src), Box(cx, s.dst), cx.expr(s.index), cx.threads
    size = prod(dst.shape) * dst.buffer.dtype.storage_bits // 8
    mask = None if s.multicast is None else cx.expr(s.multicast)

    def loaded(env: Env, block: Block, t: int) -> Action:
        source, target = env.bufs[src.name], block.tiles[dst.name]
        at = dst.offsets(dst.corner(env, t))
        outer, inner = src.part(src.corner(env, t), source.array.shape)
        box = np.zeros(src.shape, source.array.dtype)
        _blank(target, at)

        def finish() -> None:
            box[inner] = source.array[outer]
            _write(target, at, box.reshape(at.shape))

        return started(env, Action(finish))

    def run(env: Env) -> None:
        for t in map(int, active(env, threads)):
            bits = 1 << env.block.rank if mask is None else of_thread(mask(env), t)
            for rank, block in enumerate(env.block.peers):
                if bits >> rank & 1:
                    action = loaded(env, block, t)
                    phases_of(block, s.barrier).load(of_thread(index(env), t), size, action)

    return run


@rule(ops.BoxStore)
def box_store(cx: Compiler, s: ops.BoxStore) -> Callable[[Env], None]:
    """A shared tile's box out to global memory, less what is outside; or combined into it."""
    src, dst, threads = Box(cx, s.src), Box(cx, s.dst), cx.threads
    combine = combiner(s.reduce, dst.buffer.dtype) if s.reduce else None

    def stored(env: Env, t: int) -> Action:
        source, target = env.bufs[src.name], env.bufs[dst.name]
        at = src.offsets(src.corner(env, t))
        outer, inner = dst.part(dst.corner(env, t), target.array.shape)
        box = np.zeros(dst.shape, source.array.dtype)

        def read() -> None:
            box[...] = source.array[at].reshape(dst.shape)

        def finish() -> None:
            new = box[inner]
            _write(target, outer, combine(target.array[outer], new) if combine else new)

        return started(env, Action(finish, read))

    def run(env: Env) -> None:
        for t in map(int, active(env, threads)):
            engines_of(env).issue(BOXES_LEAVE, stored(env, t))

    return run


@rule(ops.AsyncCopy)
def async_copy(cx: Compiler, s: ops.AsyncCopy) -> Callable[[Env], None]:
    """A run of elements for each thread, zeros where there is none."""
    count = s.dst.ranges[-1].extent
    assert isinstance(count, Const)  # the verifier's rule
    lanes, dt = int(count.value), cx.buffers[s.src.buffer].dtype
    *outer, last = (r.start for r in s.src.ranges)
    along = Ramp(last, 1, last.dtype.with_lanes(lanes)) if lanes > 1 else last
    load = cx.expr(Load(s.src.buffer, (*outer, along), dt.with_lanes(lanes)))
    start = cx.expr(s.dst.ranges[-1].start)
    where = None if s.where is None else cx.expr(s.where)
    threads = cx.threads

    def run(env: Env) -> None:
        here, mask = active(env, threads), env.mask
        at = np.broadcast_to(np.asarray(start(env)), (threads,))[here][:, None] + np.arange(lanes)
        wanted = np.ones(threads, np.bool_)
        if where is not None:
            wanted = np.broadcast_to(np.asarray(where(env)), (threads,))
        value = np.zeros((threads, lanes), env.bufs[s.src.buffer].array.dtype)
        env.mask = wanted if mask is None else wanted & mask
        if env.mask.any():
            got = np.asarray(load(env))
            got = got if lanes > 1 or got.ndim == 0 else got[:, None]
            value[env.mask] = np.broadcast_to(got, value.shape)[env.mask]
        env.mask = mask
        target = env.bufs[s.dst.buffer]
        _blank(target, at)
        action = Action(lambda: _write(target, at, value[here]))
        engines_of(env).issue(THREADS_COPY, started(env, action))

    return run
