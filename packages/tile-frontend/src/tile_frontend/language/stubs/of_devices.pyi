# Written by docs/generate/stubs.py: run nox -s surface.
"""Names of one family of devices, which come from the installed dialects."""

from typing import Any

ClusterKernel: Any
"""`with T.ClusterKernel(grid_x, grid_y, cluster_dims=(2, 1)) as (bx, by):` is `T.Kernel` whose
blocks run in groups of neighbours.
"""
WSID: Any
"""The key of annotations that names an operation for a schedule."""
WSInstr: Any
"""A step of a role: a `T.WSOpRef` or a `T.WSSync`. Raises nothing. Example: `T.WSInstr`"""
WSOpRef: Any
"""An operation of the program, by the name that `T.ws_op` or the annotation `T.WSID` gave it."""
WSPipeline: Any
"""Buffers with `depth` versions that go from one role to another."""
WSRole: Any
"""The warps from `warps_lo` to before `warps_hi`."""
WSSchedule: Any
"""Roles, the pipelines between them, and what each does where."""
WSScope: Any
"""What each role does in a loop, or at the outermost level."""
WSSync: Any
"""A step of one end of a pipeline."""
WSSyncKind: Any
"""What an end of a pipeline waits for, or says. Raises nothing. Example: `T.WSSyncKind`"""
WarpSpecialize: Any
"""`with T.ws(0):` runs its body in the first 128 threads only, `T.ws(1)` in the next, and
`T.ws(0, 1)` in both together.
"""
def alloc_cluster_barrier(arrive_count: Any) -> Any:
    """`T.alloc_barrier` at which threads of every block of the cluster may arrive: each block
    has its own, and `T.mbarrier_arrive(bar, cta_id)` arrives at that of another one.
    """
def annotate_ws_schedule(schedule: Any) -> Any:
    """Say which warps do what. Accepted once it is found to make sense: roles are planned
    here.
    """
def block_rank_in_cluster() -> Any:
    """The number of this block in its cluster, along the first axis first; 0 in a `T.Kernel`,
    whose blocks are clusters of their own.
    """
def call_extern(*args: Any, reference: Any = ..., dtype: Any = ..., span: Any = ...) -> Any:
    """Call a device function of `T.import_source`: `T.call_extern("float32", "f", x, S[0,
    0])`.
    """
def call_pure_extern(*args: Any, reference: Any = ..., dtype: Any = ..., span: Any = ...) -> Any:
    """Call a device function of `T.import_source`: `T.call_extern("float32", "f", x, S[0,
    0])`.
    """
def cluster_arrive() -> Any:
    """The first half of `T.cluster_sync`: say that this block has come, and go on."""
def cluster_arrive_relaxed() -> Any:
    """`T.cluster_arrive`: what was written before is visible to the others all the same."""
def cluster_sync() -> Any:
    """All threads of all blocks of the cluster wait for each other; what they wrote is
    visible.
    """
def cluster_wait() -> Any:
    """The second half of `T.cluster_sync`: wait until all blocks have come."""
def copy_cluster(src: Any, dst: Any, *, dst_block: Any = ..., cluster_mask: Any = ..., remote_barrier: Any = ..., eviction_policy: Any = ..., coalesced_width: Any = ..., annotations: Any = ..., loop_layout: Any = ...) -> Any:
    """A copy that reaches other blocks of the cluster."""
def cp_async_barrier_noinc(mbar: Any) -> Any:
    """Every thread that comes here arrives when its copies of `T.async_copy` have come: it
    waits for them.
    """
def import_source(source: Any = ...) -> Any:
    """Put CUDA C++ text in front of the kernel: device functions that `T.call_extern` calls."""
def mbarrier_arrive_expect_tx(mbar: Any, bytes: Any) -> Any:
    """Every thread that comes here announces so many bytes and arrives."""
def mbarrier_expect_tx(mbar: Any, bytes: Any) -> Any:
    """Every thread that comes here lets the phase wait for so many more bytes, and does not
    arrive.
    """
def pdl_sync() -> Any:
    """This kernel may begin before the kernel in front has ended, and waits for its end before
    it uses global memory: `T.annotate_dependent_launch()`.
    """
def pdl_trigger() -> Any:
    """A dependent kernel behind this one may begin before this one has ended; it waits itself
    for what it needs.
    """
def ptx_arrive_barrier_expect_tx(mbar: Any, bytes: Any) -> Any:
    """Every thread that comes here announces so many bytes and arrives."""
def ptx_arrive_cluster_barrier(mbar: Any, cta_id: Any) -> Any:
    """`T.mbarrier_arrive(mbar, cta_id)`."""
def ptx_cp_async(dst: Any, src: Any, num_elems: Any, predicate: Any = ...) -> Any:
    """Copy `num_elems` elements from the place `src` in global memory to the place `dst` in
    shared memory; zeros where `predicate` does not hold.
    """
def ptx_cp_async_barrier(mbar: Any) -> Any:
    """The phase does not end before this thread's copies of `T.async_copy` have come: it waits
    for them here. It is no arrival.
    """
def ptx_fence_barrier_init() -> Any:
    """Accepted and without effect: barriers are known to all threads where they are made."""
def ptx_init_barrier_thread_count(mbar: Any, thread_count: Any) -> Any:
    """Accepted where it repeats the number of arrivals that the barrier was made with."""
def warpgroup_arrive() -> Any:
    """Accepted and without effect: `T.wgmma_gemm` orders registers before it begins."""
def warpgroup_commit_batch() -> Any:
    """Accepted and without effect: each `T.wgmma_gemm` is a group of its own."""
def warpgroup_fence_operand(buf: Any, offset: Any = ..., num_regs: Any = ..., dtype: Any = ...) -> Any:
    """Accepted and without effect: the compiler keeps accumulators in registers while products
    are in flight.
    """
def warpgroup_wait(n: Any) -> Any:
    """`T.wait_wgmma(n)`."""
ws_op: Any
"""`with T.ws_op("load"):` names the statements in it for a schedule; it changes nothing."""
