"""Blocks of a cluster: they wait for each other and reach each other's memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tile_frontend.language.barriers import (
    Barrier,
    barrier_arrive,
    barrier_at,
    between,
    in_kernel,
    made_barriers,
    mask_of,
    misused,
    rank_of,
)
from tile_frontend.language.launch import Kernel
from tile_frontend.trace import state
from tile_frontend.trace.operands import matched
from tile_frontend.trace.values import Value, static_int
from tile_ir import build
from tile_ir.clusters import meets_peers
from tile_ir.core import Buffer
from tile_ir.diag import TileError
from tile_ir.expr import Const, Load
from tile_ir.ops import (
    BULK,
    Alloc,
    Assert,
    BarrierArrive,
    Barriers,
    BarrierWait,
    Copy,
    CopyPeer,
    Issue,
    Store,
    Sync,
)
from tile_ir.types import i32

if TYPE_CHECKING:
    from types import TracebackType

    from tile_frontend.trace.builder import Builder, Scope
    from tile_frontend.trace.operands import Tile
    from tile_ir.expr import Expr
    from tile_ir.opdef import Stmt

__all__ = [
    "ClusterKernel",
    "alloc_cluster_barrier",
    "block_rank_in_cluster",
    "cluster_arrive",
    "cluster_arrive_relaxed",
    "cluster_sync",
    "cluster_wait",
    "copy_cluster",
    "ptx_arrive_cluster_barrier",
]

_AXES = 3


class ClusterKernel(Kernel):
    """`with T.ClusterKernel(grid_x, grid_y, cluster_dims=(2, 1)) as (bx, by):` is `T.Kernel` whose
    blocks run in groups of neighbours.

    Args:
        blocks, threads: as of `T.Kernel`; every extent is a multiple of the cluster's.
        cluster_dims: blocks of a cluster along each axis, an int or up to three.

    A device without clusters runs the kernel too, as long as its blocks have nothing to do with
    each other; else it refuses it (E0712).

    Raises `TileError` as `T.Kernel` does, and E1303 for a cluster that the grid is no multiple of.
    Example: `T.ClusterKernel(4, cluster_dims=2)`
    """

    def __init__(
        self, *blocks: Any, cluster_dims: Any, threads: Any = None, prelude: str | None = None
    ) -> None:
        super().__init__(*blocks, threads=threads, prelude=prelude)
        given = cluster_dims if isinstance(cluster_dims, (tuple, list)) else (cluster_dims,)
        sizes = [static_int(n) for n in given]
        if not 1 <= len(sizes) <= _AXES or any(n is None or n < 1 for n in sizes):
            raise TileError(
                "E1303",
                f"T.ClusterKernel has cluster_dims={cluster_dims!r}",
                help="cluster_dims is a positive int, or up to three of them, known while tracing",
            )
        cluster = [n for n in sizes if n is not None]
        while len(cluster) > 1 and cluster[-1] == 1:
            cluster.pop()
        self.cluster = tuple(cluster)
        self._check_grid()

    def _check_grid(self) -> None:
        axes = (*self.extents, *(build.const(1),) * (_AXES - len(self.extents)))
        for extent, size in zip(axes, self.cluster, strict=False):
            if isinstance(extent, Const) and extent.value % size:
                raise TileError(
                    "E1303",
                    f"a grid extent of {extent.value} is no multiple of the cluster's {size}",
                    notes=("a cluster is launched whole",),
                    help="round the extent up, T.ceildiv(N, size) * size, and guard the rest",
                )

    def __enter__(self) -> Any:
        b = state.builder("T.ClusterKernel")
        for extent, size in zip(self.extents, self.cluster, strict=False):
            if size > 1 and not isinstance(extent, Const):
                whole = build.eq(build.floormod(extent, size), 0)
                text = f"the grid is a multiple of {size} blocks, which are launched together"
                b.emit(Assert(cond=whole, message=text, span=b.span))
        indices = super().__enter__()
        self.scope.facts["kernel"]["cluster"] = self.cluster
        return indices

    def __exit__(
        self, kind: type[BaseException] | None, error: object, trace: TracebackType | None
    ) -> None:
        if kind is None:
            _check_order(self.scope)
            stmts = self.scope.stmts
            met = any(isinstance(s, Barriers) and s.scope == "cluster" for s in stmts)
            if not met and meets_peers(tuple(stmts)):
                # A block's memory stays until no other block can touch it any more.
                stmts.append(Sync(scope="cluster", span=self.scope.span))
        super().__exit__(kind, error, trace)


def _check_order(scope: Scope) -> None:
    if scope.facts["tiles"].get("panel"):
        raise TileError(
            "E1416",
            "T.use_swizzle in a T.ClusterKernel",
            scope.span,
            notes=("the blocks of a cluster are neighbours of the grid",),
            help="leave it out, or use T.Kernel",
        )


def _cluster(what: str) -> tuple[Builder, Scope]:
    b = in_kernel(what)
    scope = b.inside("kernel")
    assert scope is not None  # just checked
    if "cluster" not in scope.facts["kernel"]:
        misused(f"{what} stands in a kernel without clusters", "launch it by T.ClusterKernel")
    return b, scope


def block_rank_in_cluster() -> Value:
    """The number of this block in its cluster, along the first axis first; 0 in a `T.Kernel`, whose
    blocks are clusters of their own.

    Raises `TileError` E1302 outside a kernel.
    Example: `T.block_rank_in_cluster()`
    """
    b = state.builder("T.block_rank_in_cluster")
    if b.inside("kernel") is None:
        b.need_kernel("T.block_rank_in_cluster")
    scope = b.inside("kernel")
    assert scope is not None  # just checked
    rank, below = build.const(0), 1
    for var, size in zip(
        scope.facts["vars"], scope.facts["kernel"].get("cluster", ()), strict=False
    ):
        if size > 1:
            rank = build.add(rank, build.mul(build.floormod(build.cast(var, i32), size), below))
        below *= size
    return Value(rank)


def _meet(what: str, part: str) -> None:
    b, _ = _cluster(what)
    if b.inside("role") is not None:
        misused(
            f"{what} stands in a role",
            "all threads of all blocks come to it: put it before the first or after the last T.ws",
        )
    b.manual = True
    b.emit(Sync(scope="cluster", part=part, span=b.span))


def cluster_sync() -> None:
    """All threads of all blocks of the cluster wait for each other; what they wrote is visible.

    Raises `TileError` E1513 outside of `T.ClusterKernel` or in a role.
    Example: `T.cluster_sync()`
    """
    _meet("T.cluster_sync", "")


def cluster_arrive() -> None:
    """The first half of `T.cluster_sync`: say that this block has come, and go on.

    Raises `TileError` as `T.cluster_sync` does, E0468 (when the kernel is compiled) where no wait
    follows.
    Example: `T.cluster_arrive(); T.cluster_wait()`
    """
    _meet("T.cluster_arrive", "arrive")


def cluster_arrive_relaxed() -> None:
    """`T.cluster_arrive`: what was written before is visible to the others all the same.

    Raises `TileError` as `T.cluster_sync` does.
    Example: `T.cluster_arrive_relaxed(); T.cluster_wait()`
    """
    _meet("T.cluster_arrive_relaxed", "arrive")


def cluster_wait() -> None:
    """The second half of `T.cluster_sync`: wait until all blocks have come.

    Raises `TileError` as `T.cluster_sync` does, E0468 (when the kernel is compiled) without an
    arrival before it.
    Example: `T.cluster_arrive(); T.cluster_wait()`
    """
    _meet("T.cluster_wait", "wait")


def alloc_cluster_barrier(arrive_count: int | list[int]) -> Barrier:
    """`T.alloc_barrier` at which threads of every block of the cluster may arrive: each block has
    its own, and `T.mbarrier_arrive(bar, cta_id)` arrives at that of another one.

    Raises `TileError` as `T.alloc_barrier` does, E1513 outside of `T.ClusterKernel`.
    Example: `T.alloc_cluster_barrier([128, 128])`
    """
    _cluster("T.alloc_cluster_barrier")
    return made_barriers(arrive_count, "T.alloc_cluster_barrier", "cluster")


def ptx_arrive_cluster_barrier(mbar: Any, cta_id: Any) -> None:
    """`T.mbarrier_arrive(mbar, cta_id)`.

    Raises `TileError` as `T.mbarrier_arrive` does.
    Example: `T.ptx_arrive_cluster_barrier(T.alloc_cluster_barrier(512), 1)`
    """
    barrier_arrive(mbar, cta_id)


def copy_cluster(
    src: Any,
    dst: Any,
    *,
    dst_block: Any = None,
    cluster_mask: Any = None,
    remote_barrier: Any = None,
    eviction_policy: Any = None,
    coalesced_width: Any = None,
    annotations: Any = None,
    loop_layout: Any = None,
) -> None:
    """A copy that reaches other blocks of the cluster.

    Args:
        src, dst: with `dst_block` both in shared memory; with `cluster_mask` from global to shared
            memory.
        dst_block: the rank of the block into whose buffer `dst` it goes, which sees it behind the
            next `T.cluster_sync`.
        remote_barrier: with `dst_block`, that block's barrier, at which it has announced the bytes;
            their coming ends its phase.
        cluster_mask: a bit for each block that gets the box which the first of them names. All of
            them come here, and have it when they go on.
        eviction_policy, coalesced_width, annotations, loop_layout: hints without effect.

    Raises `TileError` E1513 outside of `T.ClusterKernel`, E1514 for other memories or types, or
    for none or both of `dst_block` and `cluster_mask`.
    Example: `T.clear(S); T.copy_cluster(S, S2, dst_block=1); T.cluster_sync(); T.copy(S2, F)`
    """
    b, scope = _cluster("T.copy_cluster")
    if (dst_block is None) == (cluster_mask is None):
        raise TileError(
            "E1514",
            "T.copy_cluster has one of dst_block= and cluster_mask=",
            help="dst_block= names one block to copy to, cluster_mask= all that get a box",
        )
    b.manual = True
    if cluster_mask is not None:
        mask = mask_of(cluster_mask, "T.copy_cluster")
        a, c = between(src, dst, "T.async_copy")
        _brought_at_once(b, scope, a, c, mask)
        return
    a, c = matched(src, dst, "T.copy_cluster")
    if {a.buffer.scope, c.buffer.scope} != {"shared"} or a.buffer.dtype is not c.buffer.dtype:
        raise TileError(
            "E1514",
            f"T.copy_cluster moves {a.buffer.scope} {a.buffer.dtype} to {c.buffer.scope} "
            f"{c.buffer.dtype} of another block",
            help="copy from shared memory into shared memory of the same type",
        )
    peer = rank_of(dst_block, "T.copy_cluster")
    name, index = "", None
    if remote_barrier is not None:
        name, index = barrier_at(remote_barrier, "T.copy_cluster")
    b.emit(CopyPeer(src=a.region, dst=c.region, peer=peer, onto=name, index=index, span=b.span))


def _brought_at_once(b: Builder, scope: Scope, a: Tile, c: Tile, mask: int) -> None:
    """A box for several blocks, waited for at a barrier of its own: the blocks meet first, for one
    may still read what another one would overwrite."""
    bar, phase = b.fresh("come"), b.fresh("phase")
    turn = Buffer(name=phase, dtype=i32, shape=(), scope="var")
    zero, parity = build.const(0), Load(phase, (), i32)
    made: list[Stmt] = [
        Barriers(name=bar, count=1, arrivals=1, scope="cluster", span=b.span),
        Alloc(buffer=turn, span=b.span),
        Store(buffer=phase, indices=(), value=zero, span=b.span),
    ]
    scope.stmts[:0] = made
    inner = Copy(src=a.region, dst=c.region, clip=a.may_leave, span=b.span)
    flipped: Expr = build.sub(1, parity)
    for s in (
        Sync(scope="cluster", span=b.span),
        Issue(engine=BULK, onto=bar, index=zero, mask=mask, body=(inner,), span=b.span),
        BarrierArrive(barrier=bar, index=zero, one=True, span=b.span),
        BarrierWait(barrier=bar, index=zero, parity=parity, span=b.span),
        Store(buffer=phase, indices=(), value=flipped, span=b.span),
    ):
        b.emit(s)
