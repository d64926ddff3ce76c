"""The meaning of one thread's program: all threads of a block at once, as the axis of numpy arrays.

A kernel that asks for its thread index runs here. Threads go in lockstep, statement by statement,
which is one of the orders that the hardware may choose; so that a missing barrier shows all the
same, shared memory remembers who touched each element since the last one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tile_ir import expr as ex
from tile_ir.diag import TileError
from tile_ir.interp.arith import as_array
from tile_ir.rewrite import stmt_exprs, walk
from tile_ir.types import i32

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tile_ir.core import Buffer
    from tile_ir.interp.context import Context
    from tile_ir.interp.machine import Env, Eval
    from tile_ir.interp.storage import Array
    from tile_ir.opdef import Body, Stmt

THREAD = ex.Var("thread index", i32)
"""Stands for the axis of threads among the axes of lanes; no program can spell the name."""

THREAD_INDEX = ex.Call("thread_index", (), i32)
PRIVATE = ("local", "var")
"""The scopes of which each thread has its own copy."""
TOGETHER = "move it out of the branch or loop, so that every thread that it needs comes to it"
_EXCHANGES = ("shuffle_xor", "shuffle_idx")
_PLACES = ("thread_index", "lane_index", "warp_index", "elected", "block_rank")
CALLS = frozenset({*_PLACES, *_EXCHANGES, "ballot"})


def asks_for_threads(body: Body) -> bool:
    """Whether a kernel's body is written for one thread: it names a thread, lane or warp."""
    return any(
        isinstance(n, ex.Call) and n.fn in CALLS
        for s in walk(body)
        for e in stmt_exprs(s)
        for n in ex.walk(e)
    )


def private(cx: Context, buffer: Buffer) -> bool:
    """Whether each thread has its own copy, which the buffer's array then has as first axis."""
    return cx.threads > 0 and buffer.scope in PRIVATE


def place(cx: Context, buffer: Buffer, indices: Sequence[ex.Expr]) -> tuple[ex.Expr, ...]:
    """The indices of an element in the array that holds the buffer."""
    return (THREAD_INDEX, *indices) if private(cx, buffer) else tuple(indices)


def compile_thread_call(cx: Context, e: ex.Call) -> Eval:
    """The evaluator of a function of `CALLS`."""
    ids = np.arange(cx.threads, dtype=np.int32)
    if e.fn == "thread_index":
        return lambda env: ids
    if e.fn == "lane_index":
        return lambda env: ids % np.int32(env.run.warp)
    if e.fn == "warp_index":
        return lambda env: ids // np.int32(env.run.warp)
    if e.fn == "elected":
        return lambda env: ids % np.int32(env.run.warp) == 0
    if e.fn == "block_rank":
        return lambda env: np.full_like(ids, env.block.rank)
    if e.fn == "ballot":
        return _ballot(cx.expr(e.args[0]), ids)
    value, which, dt = cx.expr(e.args[0]), cx.expr(e.args[1]), e.dtype
    flips = e.fn == "shuffle_xor"

    def run(env: Env) -> Array:
        width = env.run.warp
        x = as_array(value(env), dt)
        x = np.broadcast_to(x, (len(ids), *x.shape[1:]))
        lane = ids % width
        source = lane ^ which(env) if flips else np.asarray(which(env)) % width
        source = ids - lane + source
        if np.any(source >= len(ids)) or (
            env.mask is not None and np.any(env.mask & ~env.mask[source])
        ):
            raise TileError("E0512", f"{e.fn} reads a lane that does not take part", help=TOGETHER)
        found: Array = x[source]
        return found

    return run


def lane_bits(holds: Array) -> Array:
    """The bit of each lane where its value holds; lanes are the last axis."""
    lanes = np.arange(holds.shape[-1], dtype=np.uint64)
    found: Array = np.where(holds, np.uint64(1) << lanes, np.uint64(0))
    return found


def _ballot(value: Eval, ids: Array) -> Eval:
    def run(env: Env) -> Array:
        holds = np.broadcast_to(np.asarray(value(env)), ids.shape)
        if env.mask is not None:
            holds = holds & env.mask
        width = env.run.warp
        padded = np.zeros(-(-len(ids) // width) * width, np.bool_)
        padded[: len(ids)] = holds
        bits = np.bitwise_or.reduce(lane_bits(padded.reshape(-1, width)), axis=1)
        found: Array = bits[ids // width]
        return found

    return run


class Trace:
    """Who read and wrote each element of a shared buffer since the last barrier (-1: nobody, -2:
    several threads).
    """

    __slots__ = ("epoch", "name", "reader", "writer")

    def __init__(self, name: str, shape: tuple[int, ...]) -> None:
        self.name, self.epoch = name, 0
        self.reader = np.full(shape, -1, np.int32)
        self.writer = np.full(shape, -1, np.int32)

    def _now(self, env: Env) -> None:
        if self.epoch != env.block.epoch:
            self.epoch = env.block.epoch
            self.reader.fill(-1)
            self.writer.fill(-1)

    def read(self, env: Env, index: tuple[Any, ...], who: Array) -> None:
        """Note a read; `index` and `who` are flat arrays of one length.

        Raises:
            TileError: E0511 when another thread wrote the element since the last barrier.
        """
        self._now(env)
        self._check(self.writer, index, who, "reads", "wrote")
        before = self.reader[index]
        self.reader[index] = np.where((before == -1) | (before == who), who, -2)
        met = self.reader[index] != who
        if met.any():
            self.reader[tuple(i[met] for i in index)] = -2

    def write(self, env: Env, index: tuple[Any, ...], who: Array) -> None:
        """Note a write.

        Raises:
            TileError: E0511 when another thread touched the element since the last barrier.
        """
        self._now(env)
        self._check(self.writer, index, who, "writes", "wrote")
        self._check(self.reader, index, who, "writes", "read")
        self.writer[index] = who
        self._check(self.writer, index, who, "writes", "wrote")

    def hand_over(self, who: Array) -> None:
        """Forget what these threads did: who touches an element next has waited for them. Several
        readers of one element are not known by name; they are taken to be among several threads.
        """
        self.writer[np.isin(self.writer, who)] = -1
        self.reader[np.isin(self.reader, who)] = -1
        if len(who) > 1:
            self.reader[self.reader == -2] = -1

    def _check(self, table: Array, index: tuple[Any, ...], who: Array, does: str, did: str) -> None:
        other = table[index]
        bad = (other != -1) & (other != who)
        if bad.any():
            k = int(np.argmax(bad))
            at = [int(i[k]) for i in index]
            whom = "several threads" if other[k] < 0 else f"thread {int(other[k])}"
            raise TileError(
                "E0511",
                f"thread {int(who[k])} {does} {self.name}{at}, which {whom} {did}",
                help="put a `sync block` between the two",
            )


class Trip:
    """The threads that have left the current trip of a loop, and those that have left the loop."""

    __slots__ = ("gone", "stopped")

    def __init__(self, threads: int) -> None:
        self.gone = np.zeros(threads, np.bool_)
        self.stopped = np.zeros(threads, np.bool_)


def leave(*, loop: bool) -> Callable[[Env], None]:
    """What `break` (`loop`) and `continue` do: the active threads sit out the rest."""

    def run(env: Env) -> None:
        trip = env.trip
        assert trip is not None  # the verifier has seen a loop around
        active = np.ones_like(trip.gone) if env.mask is None else env.mask
        trip.gone = trip.gone | active
        if loop:
            trip.stopped = trip.stopped | active
        env.mask = np.zeros_like(trip.gone)

    return run


def remaining(env: Env, mask: Array | None) -> Array | None:
    """The mask after a branch: that from before, without the threads that left the trip inside."""
    if env.trip is None or not env.trip.gone.any():
        return mask
    return ~env.trip.gone if mask is None else mask & ~env.trip.gone


def loop_lanes(
    threads: int, start: Callable[[Env], Any], again: Callable[[Env, Any], Any], body: Any
) -> Callable[[Env], None]:
    """A loop in which threads may make different numbers of trips.

    `start(env)` makes the loop's state; `again(env, state)` readies the next trip and tells which
    threads make it (a bool or one for each thread).
    """

    def run(env: Env) -> None:
        outer, trip = env.mask, env.trip
        env.trip = inner = Trip(threads)
        state = start(env)
        while True:
            inner.gone = inner.stopped.copy()
            env.mask = remaining(env, outer)
            if env.mask is not None and not env.mask.any():
                break
            more = np.broadcast_to(np.asarray(again(env, state)), (threads,))
            env.mask = more if env.mask is None else env.mask & more
            if not env.mask.any():
                break
            inner.stopped = inner.stopped | ~more
            body(env)
        env.trip, env.mask = trip, outer

    return run


def check_together(env: Env, s: Stmt) -> None:
    """Raise E0512 unless all threads have come to a barrier."""
    if env.mask is not None and env.mask.any() and not env.mask.all():
        why = "only some threads of the block come to a barrier"
        raise TileError("E0512", why, s.span, help=TOGETHER)


def active(env: Env, threads: int) -> Array:
    """The numbers of the threads that are here."""
    everyone = np.arange(threads)
    return everyone if env.mask is None else everyone[env.mask]


def of_thread(value: Any, thread: int) -> int:
    """What one thread has of an integer that is uniform or differs by thread."""
    flat = np.asarray(value).reshape(-1)
    return int(flat[thread if flat.size > 1 else 0])


def agreed(env: Env, threads: int, value: Any, what: str) -> int:
    """The integer that all active threads have.

    Raises:
        TileError: E0512 when they disagree about it (`what`).
    """
    found = {of_thread(value, int(t)) for t in active(env, threads)}
    if len(found) != 1:
        fix = "compute it from values that are the same in all threads that come here"
        raise TileError("E0512", f"threads disagree about the {what}", help=fix)
    return found.pop()


def hand_over(env: Env, who: Sequence[int]) -> None:
    """The threads that are here have waited for others, so they see what those did before."""
    if not who or not env.run.debug:
        return
    threads = np.asarray(who, np.int32)
    for storage in env.bufs.values():
        if storage.trace is not None:
            storage.trace.hand_over(threads)
