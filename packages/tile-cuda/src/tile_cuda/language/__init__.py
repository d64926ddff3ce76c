"""The names that the tile language has for NVIDIA GPUs: `T.name`, where this package is installed.

A kernel that uses them means the same everywhere: blocks of a cluster, barriers that count bytes
and copies that end at a barrier are ops of the program, which the oracle runs too. A device that
lacks what they need refuses the kernel; what only asks for speed is left out there.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tile_cuda.language.clusters import (
    ClusterKernel,
    alloc_cluster_barrier,
    block_rank_in_cluster,
    cluster_arrive,
    cluster_arrive_relaxed,
    cluster_sync,
    cluster_wait,
    copy_cluster,
    ptx_arrive_cluster_barrier,
)
from tile_cuda.language.counted_bytes import (
    cp_async_barrier_noinc,
    mbarrier_arrive_expect_tx,
    mbarrier_expect_tx,
    ptx_arrive_barrier_expect_tx,
    ptx_cp_async_barrier,
    ptx_fence_barrier_init,
    ptx_init_barrier_thread_count,
)
from tile_cuda.language.dependent_launch import (
    pdl_sync,
    pdl_trigger,
)
from tile_cuda.language.inline_source import (
    call_extern,
    call_pure_extern,
    import_source,
)
from tile_cuda.language.role_schedules import (
    WSID,
    WarpSpecialize,
    WSInstr,
    WSOpRef,
    WSPipeline,
    WSRole,
    WSSchedule,
    WSScope,
    WSSync,
    WSSyncKind,
    annotate_ws_schedule,
    ws_op,
)
from tile_cuda.language.thread_copies import (
    ptx_cp_async,
)
from tile_cuda.language.warp_groups import (
    warpgroup_arrive,
    warpgroup_commit_batch,
    warpgroup_fence_operand,
    warpgroup_wait,
)
from tile_frontend.trace.places import not_the_users

__all__ = [
    "WSID",
    "ClusterKernel",
    "WSInstr",
    "WSOpRef",
    "WSPipeline",
    "WSRole",
    "WSSchedule",
    "WSScope",
    "WSSync",
    "WSSyncKind",
    "WarpSpecialize",
    "alloc_cluster_barrier",
    "annotate_ws_schedule",
    "block_rank_in_cluster",
    "call_extern",
    "call_pure_extern",
    "cluster_arrive",
    "cluster_arrive_relaxed",
    "cluster_sync",
    "cluster_wait",
    "copy_cluster",
    "cp_async_barrier_noinc",
    "import_source",
    "mbarrier_arrive_expect_tx",
    "mbarrier_expect_tx",
    "pdl_sync",
    "pdl_trigger",
    "ptx_arrive_barrier_expect_tx",
    "ptx_arrive_cluster_barrier",
    "ptx_cp_async",
    "ptx_cp_async_barrier",
    "ptx_fence_barrier_init",
    "ptx_init_barrier_thread_count",
    "warpgroup_arrive",
    "warpgroup_commit_batch",
    "warpgroup_fence_operand",
    "warpgroup_wait",
    "ws_op",
]

not_the_users(Path(__file__).resolve().parent)


def lookup(name: str) -> Any:
    """What a program gets that writes one of these names. Raises `KeyError` for any other."""
    return globals()[name]
