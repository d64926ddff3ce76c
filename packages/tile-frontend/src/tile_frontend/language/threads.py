"""The threads of a block by number: their places, exchanges in warps, votes, barriers with a count.

A statement that names a thread, or a value that differs by thread, runs once for each thread of the
block; any other statement of a kernel is done once for the block. Threads go statement by statement
and wait for each other where one touches what another one has written in shared memory; between
barriers their accesses to global memory have no order. In a branch that only some threads take,
exchanges and votes are among those that take it.

A warp is 32 threads, 64 on devices whose warps are so wide, 32 where there are no threads.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

from tile_frontend.language.barriers import sync_threads
from tile_frontend.language.thread_values import (
    all_of,
    bad,
    check_mask,
    kept,
    kernel_of,
    thread_of,
    truth,
)
from tile_frontend.trace import state
from tile_frontend.trace.loops import TracedLoop, loop_bound
from tile_frontend.trace.values import Value, static_int
from tile_ir import build
from tile_ir.core import Buffer
from tile_ir.diag import TileError
from tile_ir.ops import If, Reduce, Sync
from tile_ir.types import i32

if TYPE_CHECKING:
    from tile_frontend.trace.builder import Builder
    from tile_ir.expr import Expr

__all__ = [
    "get_block_extent",
    "get_block_extents",
    "get_lane_idx",
    "get_thread_binding",
    "get_thread_bindings",
    "get_thread_extent",
    "get_thread_extents",
    "get_warp_group_idx",
    "get_warp_idx",
    "get_warp_idx_sync",
    "sync_warp",
    "syncthreads_and",
    "syncthreads_count",
    "syncthreads_or",
    "thread_binding",
    "tvm_storage_sync",
]

_WARPS_OF_A_GROUP = 4


# -- places


def _axis(dim: Any, given: tuple[Any, ...], what: str) -> int:
    axis = static_int(dim)
    if axis is None or not 0 <= axis < max(len(given), 1):
        raise TileError(
            "E1303",
            f"{what}({dim!r}): there are {len(given)} axes",
            help=f"axes are counted from 0 to {len(given) - 1}",
        )
    return axis


def _threads(what: str) -> tuple[int, int, int]:
    """The extents of a block along its three axes."""
    given: tuple[int, ...] = kernel_of(what)[1].facts["threads"]
    x, y, z = (*given, 1, 1)[:3]
    return x, y, z


def get_thread_binding(dim: int = 0) -> Value:
    """The number of a thread in its block along axis `dim` of `T.Kernel(threads=...)`; 0 along an
    axis that is not given.

    What it is used in runs once for each thread. A branch on it around tile operations, such as
    `if tx < 128:`, is a role as `T.ws(0)` is; around barriers and copies by one thread, `if tx ==
    0:` has one thread do them.

    Raises `TileError` E1303 for an axis that is none of three, E1501 or E1521 (when the kernel
    ends) where work of the whole block depends on it.
    Example: `T.get_thread_binding()`
    """
    what = "T.get_thread_binding"
    threads = _threads(what)
    return Value(_place(_axis(dim, threads, what), threads, what))


def _place(axis: int, threads: tuple[int, ...], what: str) -> Expr:
    place = thread_of(what)
    before, after = prod(threads[:axis]), prod(threads[axis + 1 :])
    if threads[axis] == 1 and (before > 1 or after > 1):
        return build.const(0, i32)
    if before > 1:
        place = build.floordiv(place, before)
    return place if after == 1 else build.floormod(place, threads[axis])


def get_thread_bindings() -> list[Value]:
    """The number of a thread along the three axes of `T.Kernel(threads=...)`.

    Raises `TileError` E1302 outside a kernel.
    Example: `T.get_thread_bindings()`
    """
    return places("T.get_thread_bindings")


def places(what: str) -> list[Value]:
    """The number of a thread along the three axes, for the function `what`."""
    threads = _threads(what)
    return [Value(_place(axis, threads, what)) for axis in range(len(threads))]


def get_thread_extent(dim: int = 0) -> int:
    """How many threads a block has along axis `dim`; 1 along an axis that is not given.

    Raises `TileError` E1303 for an axis that is none of three.
    Example: `T.get_thread_extent(0)`
    """
    what = "T.get_thread_extent"
    threads = _threads(what)
    return threads[_axis(dim, threads, what)]


def get_thread_extents() -> list[int]:
    """How many threads a block has along its three axes.

    Raises `TileError` E1302 outside a kernel.
    Example: `T.get_thread_extents()`
    """
    return list(_threads("T.get_thread_extents"))


def get_block_extent(dim: int = 0) -> Any:
    """How many blocks the grid has along axis `dim`: an int, or an expression of dimensions.

    Raises `TileError` E1303 for an axis that the grid lacks.
    Example: `T.get_block_extent(0)`
    """
    extents = get_block_extents()
    return extents[_axis(dim, tuple(extents), "T.get_block_extent")]


def get_block_extents() -> list[Any]:
    """How many blocks the grid has along all axes.

    Raises `TileError` E1302 outside a kernel.
    Example: `T.get_block_extents()`
    """
    found = [Value(e) for e in kernel_of("T.get_block_extents")[1].facts["extents"]]
    known = [static_int(v) for v in found]
    return [v if n is None else n for v, n in zip(found, known, strict=True)]


def _width(warp_size: Any, what: str) -> Expr:
    if warp_size is None:
        return build.call("warp_width")
    size = static_int(warp_size)
    if size is None or size < 1:
        bad(f"{what} has warps of {warp_size!r}", "the size is a positive int, or left out")
    return build.const(size, i32)


def get_lane_idx(warp_size: int | None = None) -> Value:
    """The number of a thread in its warp, or among `warp_size` neighbours.

    Raises `TileError` E1522 for a size that is not known.
    Example: `T.get_lane_idx()`
    """
    what = "T.get_lane_idx"
    return Value(build.floormod(thread_of(what), _width(warp_size, what)))


def get_warp_idx(warp_size: int | None = None) -> Value:
    """The number of a thread's warp, or of its `warp_size` neighbours.

    Raises `TileError` E1522 for a size that is not known.
    Example: `T.get_warp_idx()`
    """
    what = "T.get_warp_idx"
    return Value(build.floordiv(thread_of(what), _width(warp_size, what)))


def get_warp_idx_sync(warp_size: int | None = None) -> Value:
    """`T.get_warp_idx`.

    Raises `TileError` as `T.get_warp_idx` does.
    Example: `T.get_warp_idx_sync()`
    """
    return get_warp_idx(warp_size)


def get_warp_group_idx(warp_size: int | None = None, warps_per_group: int | None = None) -> Value:
    """The number of a thread's group of warps, four of them unless told otherwise.

    Raises `TileError` E1522 for sizes that are not known.
    Example: `T.get_warp_group_idx()`
    """
    what = "T.get_warp_group_idx"
    count = _width(_WARPS_OF_A_GROUP if warps_per_group is None else warps_per_group, what)
    return Value(build.floordiv(thread_of(what), build.mul(_width(warp_size, what), count)))


class _ThreadLoop(TracedLoop):
    """A loop of which each thread makes one trip."""

    leavable = False

    def __init__(self, what: str, start: Expr, stop: Expr, axis: int) -> None:
        self.what, self.start, self.stop, self.axis = what, start, stop, axis

    def begin(self, builder: Builder) -> Value:
        """The trip's number."""
        threads = _threads(self.what)
        place = _place(_axis(self.axis, threads, self.what), threads, self.what)
        self.at = build.add(self.start, build.cast(place, self.start.dtype))
        extent = static_int(Value(build.sub(self.stop, self.start)))
        self.whole = extent == threads[self.axis]
        if extent is None or extent > threads[self.axis]:
            bad(
                f"{self.what} has {extent or 'an unknown number of'} trips for "
                f"{threads[self.axis]} threads",
                "let T.Kernel(threads=...) have as many along this axis",
            )
        self.scope = builder.open("branch")
        return Value(self.at)

    def end(self, builder: Builder) -> None:
        """The body, for the threads that have a trip."""
        body = builder.close(self.scope)
        if self.whole:
            builder.scopes[-1].stmts += body
        else:
            cond = build.lt(self.at, self.stop)
            builder.emit(If(cond=cond, then=body, span=self.scope.span))


def thread_binding(
    start: Any, stop: Any = None, thread: str | None = None, *, annotations: Any = None
) -> TracedLoop:
    """`for tx in T.thread_binding(0, 128, thread="threadIdx.x")`: one trip for each thread.

    Args:
        start, stop: ints; `stop` alone counts from 0. At most as many as the kernel has threads.
        thread: the axis, "threadIdx.x", "threadIdx.y" or "threadIdx.z".
        annotations: a hint without effect.

    Raises `TileError` E1522 for another axis or more trips than threads.
    Example: `for t in T.thread_binding(0, 128, thread="threadIdx.x"): x = t`
    """
    if isinstance(stop, str):
        start, stop, thread = 0, start, stop
    if stop is None:
        start, stop = 0, start
    axes = ("threadIdx.x", "threadIdx.y", "threadIdx.z")
    if thread not in axes:
        bad(f"T.thread_binding binds a loop to {thread!r}", f"axes are {', '.join(axes)}")
    what = "T.thread_binding"
    return _ThreadLoop(what, loop_bound(start, what), loop_bound(stop, what), axes.index(thread))


# -- barriers


def _counted(kind: str, pred: Any, what: str) -> Value:
    """A barrier of the block that combines a truth value of each of its threads."""
    thread_of(what)
    b = state.builder(what)
    src = kept("given", build.cast(truth(pred, what), i32), 0, b)
    one = (build.const(1, i32),)
    name = b.fresh("counted")
    dst = b.alloc(Buffer(name=name, dtype=i32, shape=one, scope="shared", span=b.span))
    b.emit(Reduce(kind=kind, src=all_of(src), dst=build.whole(dst), dim=0, span=b.span))
    return b.let("counted", build.load(dst, (0,)))


def syncthreads_count(pred: Any) -> Value:
    """A barrier of the block that gives the number of threads in which `pred` holds, an int32.

    Raises `TileError` E1521 (when the kernel ends) in a branch of some threads.
    Example: `T.syncthreads_count(x > 0)`
    """
    return _counted("sum", pred, "T.syncthreads_count")


def syncthreads_and(pred: Any) -> Value:
    """A barrier of the block that gives 1 where `pred` holds in all its threads, else 0.

    Raises `TileError` as `T.syncthreads_count` does.
    Example: `T.syncthreads_and(x > 0)`
    """
    return _counted("min", pred, "T.syncthreads_and")


def syncthreads_or(pred: Any) -> Value:
    """A barrier of the block that gives 1 where `pred` holds in a thread, else 0.

    Raises `TileError` as `T.syncthreads_count` does.
    Example: `T.syncthreads_or(x > 0)`
    """
    return _counted("max", pred, "T.syncthreads_or")


def sync_warp(mask: Any = None) -> None:
    """What lanes of a warp did before is seen by the others after it.

    Raises `TileError` E1522 for a mask that is not known.
    Example: `T.sync_warp()`
    """
    check_mask(mask, "T.sync_warp")
    b, _ = kernel_of("T.sync_warp")
    b.names_threads = True
    b.emit(Sync(scope="warp", span=b.span))


def tvm_storage_sync(scope: str, *rest: Any) -> None:
    """`T.sync_threads()` for the scope "shared" or "shared.dyn", `T.sync_warp()` for "warp".

    Raises `TileError` E1522 for another scope.
    Example: `T.tvm_storage_sync("shared")`
    """
    if scope == "warp":
        sync_warp()
    elif scope in ("shared", "shared.dyn"):
        sync_threads()
    else:
        bad(f"T.tvm_storage_sync({scope!r})", 'the scope is "shared", "shared.dyn" or "warp"')
