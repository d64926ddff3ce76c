"""Barriers that the kernel counts itself, and copies that it does not wait for.

A kernel that uses them is taken as it is written: its loops are not pipelined and no copy gets
threads of its own. What they mean is the same on every device. One without barriers that count
refuses roles, and copies at once where all threads do the same.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any, NoReturn

from tile_frontend.language.tile_ops import EVICTION
from tile_frontend.trace import state
from tile_frontend.trace.operands import Tile, matched
from tile_frontend.trace.values import expr_of, static_int
from tile_ir import build
from tile_ir.diag import TileError
from tile_ir.expr import Const
from tile_ir.ops import (
    BULK,
    RUNS,
    BarrierArrive,
    Barriers,
    BarrierWait,
    CommitGroup,
    Copy,
    Issue,
    SettleCount,
    Sync,
)

if TYPE_CHECKING:
    from tile_frontend.trace.builder import Builder
    from tile_ir.expr import Expr

__all__ = [
    "alloc_barrier",
    "async_copy",
    "barrier_arrive",
    "barrier_wait",
    "create_barriers",
    "fence_proxy_async",
    "mbarrier_arrive",
    "mbarrier_wait_parity",
    "ptx_arrive_barrier",
    "ptx_commit_group",
    "ptx_wait_barrier",
    "ptx_wait_group",
    "sync_threads",
    "tma_copy",
    "tma_store_arrive",
    "tma_store_wait",
]

_MOST_ARRIVALS = (1 << 20) - 1
"""The count of a barrier has 20 bits on every device that has such barriers."""


class Barrier:
    """An array of barriers; `bar[i]` is one of them, and the array itself where there is one."""

    __slots__ = ("arrivals", "count", "name", "wide")

    def __init__(self, name: str, arrivals: tuple[int, ...], *, wide: bool = False) -> None:
        self.name, self.arrivals, self.wide = name, arrivals, wide
        """`wide`: blocks of the cluster arrive at each other's."""
        self.count = len(arrivals)

    def __getitem__(self, key: object) -> Place:
        index = expr_of(key)
        if not index.dtype.is_int:
            misused(f"{self.name} is indexed with {key!r}", "a barrier has a whole number")
        if isinstance(index, Const) and not 0 <= index.value < self.count:
            misused(
                f"there is no barrier {self.name}[{index.value}]",
                f"the indices of {self.name} are 0 to {self.count - 1}",
            )
        return Place(self, index)

    def __len__(self) -> int:
        return self.count

    def __repr__(self) -> str:
        return f"{self.name}: {self.count} barriers"


class Place:
    """One barrier of an array; its own block's."""

    __slots__ = ("barrier", "index")

    def __init__(self, barrier: Barrier, index: Expr) -> None:
        self.barrier, self.index = barrier, index


def misused(message: str, fix: str) -> NoReturn:
    """Raise E1513."""
    raise TileError("E1513", message, help=fix)


def is_wide(x: object) -> bool:
    """Whether a barrier, or an array of them, belongs to a cluster."""
    array = x.barrier if isinstance(x, Place) else x
    return isinstance(array, Barrier) and array.wide


def barrier_at(x: object, what: str) -> tuple[str, Expr]:
    """The array and the index of the barrier that `x` is.

    Raises `TileError` E1513 for anything else, and for one of several.
    """
    if isinstance(x, Barrier):
        if x.count != 1:
            misused(f"{what} means one of the {x.count} barriers {x.name}", f"write {x.name}[i]")
        return x.name, build.const(0, "i32")
    if isinstance(x, Place):
        return x.barrier.name, x.index
    return misused(f"{what} works on a barrier, not on {x!r}", "pass what T.alloc_barrier gave")


def in_kernel(what: str) -> Builder:
    """The builder of a kernel's body outside T.Parallel. Raises `TileError` E1302, E1306."""
    b = state.builder(what)
    b.need_kernel(what)
    return b


def alloc_barrier(arrive_count: int | list[int]) -> Barrier:
    """Barriers in the memory of the block, one for each entry of `arrive_count`.

    The phase of one ends when that many threads have arrived and all bytes announced for it have
    come. Phases have the parities 0, 1, 0, ... in turn.

    Args:
        arrive_count: arrivals of each phase, from 1 to 1048575; a list makes an array.

    Raises `TileError` E1302 outside a kernel, E1513 for counts that no barrier has, or inside of a
    branch, loop or role.
    Example: `T.alloc_barrier([128, 128])`
    """
    return made_barriers(arrive_count, "T.alloc_barrier")


def made_barriers(arrive_count: int | list[int], what: str, scope: str = "block") -> Barrier:
    """Barriers of a block, or of a cluster. Raises `TileError` as `alloc_barrier` does."""
    b = in_kernel(what)
    given = arrive_count if isinstance(arrive_count, (list, tuple)) else [arrive_count]
    counts = [static_int(n) for n in given]
    if not counts or any(n is None or not 1 <= n <= _MOST_ARRIVALS for n in counts):
        misused(
            f"{what}({arrive_count!r})",
            "arrivals are positive ints known while tracing, or a list of them",
        )
    if b.scope.kind != "kernel":
        misused(
            f"{what} stands in a branch, a loop or a role",
            "make barriers at the beginning of the kernel, where all threads come",
        )
    wanted = tuple(int(n) for n in counts if n is not None)
    name = b.fresh(b.hint("barrier"))
    even = len(set(wanted)) == 1
    b.emit(
        Barriers(
            name=name,
            count=len(wanted),
            arrivals=wanted[0],
            each=() if even else wanted,
            scope=scope,
            span=b.span,
        )
    )
    b.manual = True
    return Barrier(name, wanted, wide=scope == "cluster")


def create_barriers(*arrive_counts: int) -> Barrier:
    """`T.alloc_barrier` of its arguments.

    Raises `TileError` as `T.alloc_barrier` does.
    Example: `T.create_barriers(128, 128)`
    """
    return alloc_barrier(list(arrive_counts))


def barrier_arrive(mbar: Any, cta_id: Any = None) -> None:
    """Every thread that comes here arrives once: all of the block, or of the `T.ws` around it.

    `cta_id` is the rank of the block of the cluster whose barrier is meant; left out, this one's.

    Raises `TileError` E1513 for what is no barrier, or with `cta_id` for one of a block.
    Example: `T.barrier_arrive(T.alloc_barrier(128))`
    """
    b = in_kernel("T.barrier_arrive")
    name, index = barrier_at(mbar, "T.barrier_arrive")
    wide, peer = is_wide(mbar), None
    if cta_id is not None:
        if not wide:
            misused(
                f"blocks of the cluster arrive at {name}, of one block",
                "make it by T.alloc_cluster_barrier, or leave cta_id out",
            )
        peer = rank_of(cta_id, "T.barrier_arrive")
    b.emit(BarrierArrive(barrier=name, index=index, peer=peer, wide=wide, span=b.span))


def rank_of(block: Any, what: str) -> Expr:
    """The rank of a block in its cluster. Raises `TileError` E1513 for what is none."""
    rank, scope = expr_of(block), state.builder(what).inside("kernel")
    blocks = prod(scope.facts["kernel"].get("cluster", (1,))) if scope is not None else 1
    if not rank.dtype.is_int or (isinstance(rank, Const) and not 0 <= rank.value < blocks):
        misused(
            f"{what} names the block {block!r} of a cluster of {blocks}",
            f"ranks are 0 to {blocks - 1}, as T.block_rank_in_cluster counts them",
        )
    return rank


def barrier_wait(mbar: Any, parity: Any) -> None:
    """Wait until the phase of that parity has ended; before the first one has, parity 1 passes.

    Raises `TileError` E1513 for what is no barrier.
    Example: `T.barrier_wait(T.alloc_barrier(128), 1)`
    """
    b = in_kernel("T.barrier_wait")
    name, index = barrier_at(mbar, "T.barrier_wait")
    phase = expr_of(parity)
    if phase.dtype.is_bool:
        phase = build.cast(phase, "i32")
    if not phase.dtype.is_int:
        misused(
            f"T.barrier_wait has the parity {parity!r}", "a parity is 0 or 1, such as k // 2 % 2"
        )
    b.emit(BarrierWait(barrier=name, index=index, parity=phase, wide=is_wide(mbar), span=b.span))


def tma_copy(
    src: Any,
    dst: Any,
    *,
    barrier: Any = None,
    cluster_mask: Any = None,
    leader_scope_threads: Any = None,
    eviction_policy: Any = None,
    annotations: Any = None,
) -> None:
    """Start the copy of a whole box between global and shared memory, and go on.

    A load announces its bytes at `barrier`, whose phase ends only when they have come; arriving is
    the caller's. A store closes a group by itself: `T.tma_store_wait` waits for it.

    Args:
        src, dst: operands as of `T.copy`, of one element type.
        barrier: what a load completes onto.
        cluster_mask: a bit for each block of the cluster that gets the box. All of them come here;
            the first one brings the box that it names to the same place of each, and each one's
            barrier waits for its bytes. Blocks outside of the mask bring their own.
        eviction_policy: "evict_normal", "evict_first" or "evict_last", a cache hint.
        leader_scope_threads, annotations: hints without effect.

    Raises `TileError` E1514 for other memories or types, a load without a barrier, or a mask of
    blocks that the cluster has not; E1503 for another policy.
    Example: `T.tma_copy(A[0:64, 0:64], S[0:64, 0:64], barrier=T.alloc_barrier(1))`
    """
    b = in_kernel("T.tma_copy")
    mask = mask_of(cluster_mask, "T.tma_copy")
    a, c = between(src, dst, "T.tma_copy")
    if eviction_policy not in EVICTION:
        raise TileError(
            "E1503",
            f"T.tma_copy has eviction_policy={eviction_policy!r}",
            help="the policies are evict_normal, evict_first, evict_last",
        )
    inner = Copy(
        src=a.region,
        dst=c.region,
        clip=a.may_leave or c.may_leave,
        eviction=EVICTION[eviction_policy],
        span=b.span,
    )
    if c.buffer.scope == "global":
        b.emit(Issue(engine=BULK, body=(inner,), span=b.span))
        b.emit(CommitGroup(engine=BULK, span=b.span))
    else:
        if barrier is None:
            raise TileError(
                "E1514",
                "a load by T.tma_copy has no barrier",
                notes=("nothing else tells when its bytes have come",),
                help="pass barrier=bar[i], of T.alloc_barrier",
            )
        name, index = barrier_at(barrier, "T.tma_copy")
        b.emit(Issue(engine=BULK, onto=name, index=index, mask=mask, body=(inner,), span=b.span))
    b.manual = True


def mask_of(cluster_mask: Any, what: str) -> int:
    """The blocks of a mask, 0 for none. Raises `TileError` E1514 for what the cluster has not."""
    if cluster_mask is None:
        return 0
    mask, scope = static_int(cluster_mask), state.builder(what).inside("kernel")
    blocks = prod(scope.facts["kernel"].get("cluster", (1,))) if scope is not None else 1
    if mask is None or not 0 < mask < 1 << blocks:
        raise TileError(
            "E1514",
            f"{what} brings a box to the blocks {cluster_mask!r} of a cluster of {blocks}",
            help="a mask is an int known while tracing, with a bit for each block of the "
            "T.ClusterKernel around",
        )
    return mask


def between(src: Any, dst: Any, what: str) -> tuple[Tile, Tile]:
    """The operands of a copy by an engine. Raises `TileError` E1514 for others."""
    a, c = matched(src, dst, what)
    scopes = (a.buffer.scope, c.buffer.scope)
    able = {("global", "shared")} if what == "T.async_copy" else _BOX_WAYS
    if scopes not in able or a.buffer.dtype is not c.buffer.dtype:
        raise TileError(
            "E1514",
            f"{what} moves {scopes[0]} {a.buffer.dtype} to {scopes[1]} {c.buffer.dtype}",
            notes=("a copy engine moves bytes between global and shared memory",),
            help="use T.copy, which converts and reaches registers",
        )
    return a, c


_BOX_WAYS = {("global", "shared"), ("shared", "global")}


def async_copy(
    src: Any,
    dst: Any,
    *,
    coalesced_width: Any = None,
    annotations: Any = None,
    loop_layout: Any = None,
) -> None:
    """Start a copy from global to shared memory as a group of its own, and go on.

    `T.ptx_wait_group(n)` waits until at most n groups are under way, then `T.sync_threads()` shows
    all threads what came. The options are hints without effect.

    Raises `TileError` E1514 for other memories or types.
    Example: `T.async_copy(A[0:64, 0:64], S[0:64, 0:64])`
    """
    b = in_kernel("T.async_copy")
    a, c = between(src, dst, "T.async_copy")
    inner = Copy(src=a.region, dst=c.region, clip=a.may_leave, span=b.span)
    b.emit(Issue(engine=RUNS, body=(inner,), span=b.span))
    b.emit(CommitGroup(engine=RUNS, span=b.span))
    b.manual = True


def _pending(n: Any, what: str) -> int:
    count = static_int(n)
    if count is None or count < 0:
        misused(f"{what} leaves {n!r} groups under way", "the number is an int from 0")
    return count


def ptx_commit_group() -> None:
    """Close the group of copies started since the last one; `T.async_copy` does so itself.

    Raises `TileError` E1302 outside a kernel.
    Example: `T.ptx_commit_group()`
    """
    b = in_kernel("T.ptx_commit_group")
    b.emit(CommitGroup(engine=RUNS, span=b.span))


def ptx_wait_group(n: int) -> None:
    """Wait until at most `n` groups of `T.async_copy` are under way.

    Raises `TileError` E1513 for a number that is not known.
    Example: `T.ptx_wait_group(0)`
    """
    b = in_kernel("T.ptx_wait_group")
    count = _pending(n, "T.ptx_wait_group")
    b.emit(SettleCount(engine=RUNS, pending=count, span=b.span))


def tma_store_arrive() -> None:
    """Close the group of stores started since the last one; `T.tma_copy` does so itself.

    Raises `TileError` E1302 outside a kernel.
    Example: `T.tma_store_arrive()`
    """
    b = in_kernel("T.tma_store_arrive")
    b.emit(CommitGroup(engine=BULK, span=b.span))


def tma_store_wait(count: int = 0, read: bool = True) -> None:
    """Wait until at most `count` groups of stores are under way: with `read` until their sources
    may be overwritten, else until the results are there.

    Raises `TileError` E1513 for a number that is not known.
    Example: `T.tma_store_wait()`
    """
    b = in_kernel("T.tma_store_wait")
    pending = _pending(count, "T.tma_store_wait")
    b.emit(SettleCount(engine=BULK, pending=pending, read=bool(read), span=b.span))


def sync_threads(barrier_id: Any = None, arrive_count: Any = None) -> None:
    """A barrier of all threads of the block, or of those of the `T.ws` around it.

    The compiler places such barriers itself where threads meet in shared memory; one more is never
    wrong. Which hardware barrier it takes is the compiler's business, so `barrier_id` is not used.

    Raises `TileError` E1503 when `arrive_count` is not the number of threads that come here.
    Example: `T.sync_threads()`
    """
    b = in_kernel("T.sync_threads")
    role = b.inside("role")
    if arrive_count is not None and role is not None:
        threads = role.facts["threads"]
        if static_int(arrive_count) != threads:
            raise TileError(
                "E1503",
                f"T.sync_threads waits for {arrive_count!r} threads where {threads} come",
                help="leave arrive_count out, or pass the number of threads of the T.ws around",
            )
    b.emit(Sync(scope="block" if role is None else "role", span=b.span))


def fence_proxy_async() -> None:
    """Accepted and without effect: fences follow from what threads and engines do to memory.

    Raises `TileError` E1302 outside a kernel.
    Example: `T.fence_proxy_async()`
    """
    in_kernel("T.fence_proxy_async")


mbarrier_arrive = barrier_arrive
mbarrier_wait_parity = barrier_wait
ptx_arrive_barrier = barrier_arrive
ptx_wait_barrier = barrier_wait
