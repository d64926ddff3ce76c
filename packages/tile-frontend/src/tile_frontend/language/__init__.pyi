# Written by docs/generate/stubs.py: run nox -s surface.
"""The tile language: `import tile_frontend.language as T`.

Tensors and dimensions come from `tensors`, on-chip buffers from `alloc`, the grid from `launch`,
loops from `loops`, tile operations from `tile_ops`, `reduce` and `atomics`, scalar functions from
`math`, element types from `dtypes`, barriers and roles written by hand from `barriers` and `roles`,
what single threads do from `threads` and `warps`.
Names that only one family of devices has come from the installed dialects (`dialects`)."""

import builtins
from typing import Any

from tile_frontend.language.tensors import (
    Buffer as Buffer,
    FragmentBuffer as FragmentBuffer,
    LocalBuffer as LocalBuffer,
    SharedBuffer as SharedBuffer,
    StridedTensor as StridedTensor,
    Tensor as Tensor,
    const as const,
    dynamic as dynamic,
    empty as empty,
    symbolic as symbolic,
)
from tile_frontend.language.alloc import (
    alloc_buffer as alloc_buffer,
    alloc_fragment as alloc_fragment,
    alloc_global as alloc_global,
    alloc_local as alloc_local,
    alloc_shared as alloc_shared,
    alloc_var as alloc_var,
)
from tile_frontend.language.launch import (
    Kernel as Kernel,
    get_block_binding as get_block_binding,
    get_block_bindings as get_block_bindings,
    use_swizzle as use_swizzle,
)
from tile_frontend.language.loops import (
    Parallel as Parallel,
    Persistent as Persistent,
    Pipelined as Pipelined,
    Serial as Serial,
    Unroll as Unroll,
    Vectorized as Vectorized,
    break_loop as break_loop,
    continue_loop as continue_loop,
    grid as grid,
    loop_break as loop_break,
    serial as serial,
    unroll as unroll,
    vectorized as vectorized,
)
from tile_frontend.language.tile_ops import (
    GemmWarpPolicy as GemmWarpPolicy,
    clear as clear,
    copy as copy,
    fill as fill,
    gemm as gemm,
    reshape as reshape,
    transpose as transpose,
    view as view,
    wait_wgmma as wait_wgmma,
    wgmma_gemm as wgmma_gemm,
    wgmma_mma as wgmma_mma,
)
from tile_frontend.language.reduce import (
    cummax as cummax,
    cumsum as cumsum,
    reduce as reduce,
    reduce_absmax as reduce_absmax,
    reduce_abssum as reduce_abssum,
    reduce_bitand as reduce_bitand,
    reduce_bitor as reduce_bitor,
    reduce_bitxor as reduce_bitxor,
    reduce_max as reduce_max,
    reduce_min as reduce_min,
    reduce_sum as reduce_sum,
)
from tile_frontend.language.atomics import (
    atomic_add as atomic_add,
    atomic_addx2 as atomic_addx2,
    atomic_addx4 as atomic_addx4,
    atomic_load as atomic_load,
    atomic_max as atomic_max,
    atomic_min as atomic_min,
    atomic_or as atomic_or,
    atomic_store as atomic_store,
)
from tile_frontend.language.math import (
    Broadcast as Broadcast,
    Cast as Cast,
    Ramp as Ramp,
    Select as Select,
    abs as abs,
    align_up as align_up,
    bitwise_and as bitwise_and,
    bitwise_not as bitwise_not,
    bitwise_or as bitwise_or,
    bitwise_xor as bitwise_xor,
    cast as cast,
    cdiv as cdiv,
    ceildiv as ceildiv,
    clamp as clamp,
    fabs as fabs,
    floordiv as floordiv,
    floormod as floormod,
    fma as fma,
    if_then_else as if_then_else,
    index_to_coordinates as index_to_coordinates,
    infinity as infinity,
    ldexp as ldexp,
    likely as likely,
    max as max,
    max_value as max_value,
    min as min,
    min_value as min_value,
    reinterpret as reinterpret,
    round as round,
    shift_left as shift_left,
    shift_right as shift_right,
    sigmoid as sigmoid,
    truncdiv as truncdiv,
    truncmod as truncmod,
)
from tile_frontend.trace.values import (
    dtype as dtype,
)
from tile_frontend.language.dtypes import (
    is_float4 as is_float4,
    is_float4_e2m1_unpacked as is_float4_e2m1_unpacked,
    is_float4_e2m1fn as is_float4_e2m1fn,
)
from tile_frontend.language.debug import (
    all_of as all_of,
    any_of as any_of,
    assume as assume,
    device_assert as device_assert,
    evaluate as evaluate,
    print as print,
)
from tile_frontend.language.annotations import (
    Fragment as Fragment,
    Layout as Layout,
    annotate_compile_flags as annotate_compile_flags,
    annotate_dependent_launch as annotate_dependent_launch,
    annotate_l2_hit_ratio as annotate_l2_hit_ratio,
    annotate_layout as annotate_layout,
    annotate_min_blocks_per_sm as annotate_min_blocks_per_sm,
    annotate_pass_configs as annotate_pass_configs,
    annotate_restrict_buffers as annotate_restrict_buffers,
    annotate_safe_value as annotate_safe_value,
)
from tile_frontend.language.barriers import (
    alloc_barrier as alloc_barrier,
    async_copy as async_copy,
    barrier_arrive as barrier_arrive,
    barrier_wait as barrier_wait,
    create_barriers as create_barriers,
    fence_proxy_async as fence_proxy_async,
    mbarrier_arrive as mbarrier_arrive,
    mbarrier_wait_parity as mbarrier_wait_parity,
    ptx_arrive_barrier as ptx_arrive_barrier,
    ptx_commit_group as ptx_commit_group,
    ptx_wait_barrier as ptx_wait_barrier,
    ptx_wait_group as ptx_wait_group,
    sync_threads as sync_threads,
    tma_copy as tma_copy,
    tma_store_arrive as tma_store_arrive,
    tma_store_wait as tma_store_wait,
)
from tile_frontend.language.roles import (
    annotate_consumer_reg_alloc as annotate_consumer_reg_alloc,
    annotate_producer_reg_dealloc as annotate_producer_reg_dealloc,
    dec_max_nreg as dec_max_nreg,
    disable_warp_group_reg_alloc as disable_warp_group_reg_alloc,
    inc_max_nreg as inc_max_nreg,
    no_set_max_nreg as no_set_max_nreg,
    set_max_nreg as set_max_nreg,
    shuffle_elect as shuffle_elect,
    ws as ws,
)
from tile_frontend.language.threads import (
    get_block_extent as get_block_extent,
    get_block_extents as get_block_extents,
    get_lane_idx as get_lane_idx,
    get_thread_binding as get_thread_binding,
    get_thread_bindings as get_thread_bindings,
    get_thread_extent as get_thread_extent,
    get_thread_extents as get_thread_extents,
    get_warp_group_idx as get_warp_group_idx,
    get_warp_idx as get_warp_idx,
    get_warp_idx_sync as get_warp_idx_sync,
    sync_warp as sync_warp,
    syncthreads_and as syncthreads_and,
    syncthreads_count as syncthreads_count,
    syncthreads_or as syncthreads_or,
    thread_binding as thread_binding,
    tvm_storage_sync as tvm_storage_sync,
)
from tile_frontend.language.warps import (
    activemask as activemask,
    all_sync as all_sync,
    any_sync as any_sync,
    ballot as ballot,
    ballot_sync as ballot_sync,
    match_all_sync as match_all_sync,
    match_any_sync as match_any_sync,
    shfl_down as shfl_down,
    shfl_sync as shfl_sync,
    shfl_up as shfl_up,
    shfl_xor as shfl_xor,
    tvm_warp_activemask as tvm_warp_activemask,
    tvm_warp_shuffle as tvm_warp_shuffle,
    tvm_warp_shuffle_down as tvm_warp_shuffle_down,
    tvm_warp_shuffle_up as tvm_warp_shuffle_up,
    warp_reduce_bitand as warp_reduce_bitand,
    warp_reduce_bitor as warp_reduce_bitor,
    warp_reduce_max as warp_reduce_max,
    warp_reduce_min as warp_reduce_min,
    warp_reduce_sum as warp_reduce_sum,
)
from tile_frontend.language.allreduce import (
    attr as attr,
    comm_reducer as comm_reducer,
    tvm_thread_allreduce as tvm_thread_allreduce,
)
from tile_frontend.language.macros import (
    Macro as Macro,
    inline as inline,
    macro as macro,
)
from tile_frontend.language.schedulers import (
    BaseTileScheduler as BaseTileScheduler,
    PersistentTileScheduler as PersistentTileScheduler,
    meta_class as meta_class,
)
from tile_frontend.language.reducers import (
    alloc_reducer as alloc_reducer,
    finalize_reducer as finalize_reducer,
    reducer_init as reducer_init,
    reducer_update as reducer_update,
)
from tile_frontend.language.random_numbers import (
    rng_init as rng_init,
    rng_rand as rng_rand,
    rng_rand_float as rng_rand_float,
)
from tile_frontend.language.images import (
    c2d_im2col as c2d_im2col,
    im2col as im2col,
)
from tile_frontend.language.sparse import (
    gemm_sp as gemm_sp,
)
from tile_frontend.language.grid import (
    sync_global as sync_global,
    sync_grid as sync_grid,
)
from tile_frontend.language.places import (
    access_ptr as access_ptr,
    address_of as address_of,
    get_let_value as get_let_value,
    has_let_value as has_let_value,
)
from tile_frontend.language.pointers import (
    make_tensor as make_tensor,
    make_tensor_from_addr as make_tensor_from_addr,
    ptr as ptr,
)
from tile_frontend.language.vectors import (
    Shuffle as Shuffle,
    abs2 as abs2,
    add2 as add2,
    extract_lane as extract_lane,
    fma2 as fma2,
    max2 as max2,
    min2 as min2,
    mul2 as mul2,
    sub2 as sub2,
)
from tile_frontend.language.bits import (
    dp4a as dp4a,
)
from tile_frontend.language.rounding import (
    ieee_add as ieee_add,
    ieee_fdiv as ieee_fdiv,
    ieee_fmaf as ieee_fmaf,
    ieee_frcp as ieee_frcp,
    ieee_frsqrt as ieee_frsqrt,
    ieee_fsqrt as ieee_fsqrt,
    ieee_mul as ieee_mul,
    ieee_sub as ieee_sub,
)
from tile_frontend.language.function import (
    PrimFunc as PrimFunc,
    prim_func as prim_func,
)
from tile_frontend.language.refused import Refused as Refused

__all__: builtins.list[builtins.str] = [
    "BaseTileScheduler",
    "Broadcast",
    "Buffer",
    "Cast",
    "Fragment",
    "FragmentBuffer",
    "GemmWarpPolicy",
    "Kernel",
    "Layout",
    "LocalBuffer",
    "Macro",
    "Parallel",
    "Persistent",
    "PersistentTileScheduler",
    "Pipelined",
    "PrimFunc",
    "Ramp",
    "Ref",
    "Select",
    "Serial",
    "SharedBuffer",
    "Shuffle",
    "StridedTensor",
    "Tensor",
    "Unroll",
    "Vectorized",
    "__cos",
    "__exp",
    "__exp10",
    "__ffs",
    "__fns",
    "__ldg",
    "__log",
    "__log10",
    "__log2",
    "__sin",
    "__tan",
    "abs",
    "abs2",
    "access_ptr",
    "acos",
    "acosh",
    "activemask",
    "add2",
    "address_of",
    "align_up",
    "all_of",
    "all_sync",
    "alloc_barrier",
    "alloc_buffer",
    "alloc_fragment",
    "alloc_global",
    "alloc_local",
    "alloc_reducer",
    "alloc_shared",
    "alloc_var",
    "annotate_compile_flags",
    "annotate_consumer_reg_alloc",
    "annotate_dependent_launch",
    "annotate_l2_hit_ratio",
    "annotate_layout",
    "annotate_min_blocks_per_sm",
    "annotate_pass_configs",
    "annotate_producer_reg_dealloc",
    "annotate_restrict_buffers",
    "annotate_safe_value",
    "any_of",
    "any_sync",
    "asin",
    "asinh",
    "assume",
    "async_copy",
    "atan",
    "atan2",
    "atanh",
    "atomic_add",
    "atomic_addx2",
    "atomic_addx4",
    "atomic_load",
    "atomic_max",
    "atomic_min",
    "atomic_or",
    "atomic_store",
    "attr",
    "ballot",
    "ballot_sync",
    "barrier_arrive",
    "barrier_wait",
    "bfloat16",
    "bfloat16x16",
    "bfloat16x2",
    "bfloat16x32",
    "bfloat16x4",
    "bfloat16x64",
    "bfloat16x8",
    "bitwise_and",
    "bitwise_not",
    "bitwise_or",
    "bitwise_xor",
    "bool",
    "boolean",
    "break_loop",
    "c2d_im2col",
    "cast",
    "cdiv",
    "ceil",
    "ceildiv",
    "clamp",
    "clear",
    "clz",
    "comm_reducer",
    "const",
    "continue_loop",
    "copy",
    "copysign",
    "cos",
    "cosh",
    "create_barriers",
    "cummax",
    "cumsum",
    "dec_max_nreg",
    "device_assert",
    "disable_warp_group_reg_alloc",
    "double",
    "dp4a",
    "dtype",
    "dynamic",
    "empty",
    "erf",
    "evaluate",
    "exp",
    "exp10",
    "exp2",
    "extract_lane",
    "fabs",
    "fast_rcp",
    "fence_proxy_async",
    "fill",
    "finalize_reducer",
    "float",
    "float16",
    "float16x16",
    "float16x2",
    "float16x32",
    "float16x4",
    "float16x64",
    "float16x8",
    "float32",
    "float32x16",
    "float32x2",
    "float32x32",
    "float32x4",
    "float32x64",
    "float32x8",
    "float4_e2m1_unpacked",
    "float4_e2m1fn",
    "float4_e2m1fnx16",
    "float4_e2m1fnx2",
    "float4_e2m1fnx32",
    "float4_e2m1fnx4",
    "float4_e2m1fnx64",
    "float4_e2m1fnx8",
    "float64",
    "float64x16",
    "float64x2",
    "float64x32",
    "float64x4",
    "float64x64",
    "float64x8",
    "float6_e2m3fn",
    "float6_e2m3fnx16",
    "float6_e2m3fnx2",
    "float6_e2m3fnx32",
    "float6_e2m3fnx4",
    "float6_e2m3fnx64",
    "float6_e2m3fnx8",
    "float6_e3m2fn",
    "float6_e3m2fnx16",
    "float6_e3m2fnx2",
    "float6_e3m2fnx32",
    "float6_e3m2fnx4",
    "float6_e3m2fnx64",
    "float6_e3m2fnx8",
    "float8_e3m4",
    "float8_e3m4x16",
    "float8_e3m4x2",
    "float8_e3m4x32",
    "float8_e3m4x4",
    "float8_e3m4x64",
    "float8_e3m4x8",
    "float8_e4m3",
    "float8_e4m3b11fnuz",
    "float8_e4m3b11fnuzx16",
    "float8_e4m3b11fnuzx2",
    "float8_e4m3b11fnuzx32",
    "float8_e4m3b11fnuzx4",
    "float8_e4m3b11fnuzx64",
    "float8_e4m3b11fnuzx8",
    "float8_e4m3fn",
    "float8_e4m3fnuz",
    "float8_e4m3fnuzx16",
    "float8_e4m3fnuzx2",
    "float8_e4m3fnuzx32",
    "float8_e4m3fnuzx4",
    "float8_e4m3fnuzx64",
    "float8_e4m3fnuzx8",
    "float8_e4m3fnx16",
    "float8_e4m3fnx2",
    "float8_e4m3fnx32",
    "float8_e4m3fnx4",
    "float8_e4m3fnx64",
    "float8_e4m3fnx8",
    "float8_e5m2",
    "float8_e5m2fnuz",
    "float8_e5m2fnuzx16",
    "float8_e5m2fnuzx2",
    "float8_e5m2fnuzx32",
    "float8_e5m2fnuzx4",
    "float8_e5m2fnuzx64",
    "float8_e5m2fnuzx8",
    "float8_e5m2x16",
    "float8_e5m2x2",
    "float8_e5m2x32",
    "float8_e5m2x4",
    "float8_e5m2x64",
    "float8_e5m2x8",
    "float8_e8m0fnu",
    "float8_e8m0fnux16",
    "float8_e8m0fnux2",
    "float8_e8m0fnux32",
    "float8_e8m0fnux4",
    "float8_e8m0fnux64",
    "float8_e8m0fnux8",
    "floor",
    "floordiv",
    "floormod",
    "fma",
    "fma2",
    "fmod",
    "gemm",
    "gemm_sp",
    "get_block_binding",
    "get_block_bindings",
    "get_block_extent",
    "get_block_extents",
    "get_lane_idx",
    "get_let_value",
    "get_thread_binding",
    "get_thread_bindings",
    "get_thread_extent",
    "get_thread_extents",
    "get_warp_group_idx",
    "get_warp_idx",
    "get_warp_idx_sync",
    "grid",
    "half",
    "has_let_value",
    "hypot",
    "ieee_add",
    "ieee_fdiv",
    "ieee_fmaf",
    "ieee_frcp",
    "ieee_frsqrt",
    "ieee_fsqrt",
    "ieee_mul",
    "ieee_sub",
    "if_then_else",
    "im2col",
    "inc_max_nreg",
    "index_to_coordinates",
    "infinity",
    "inline",
    "int",
    "int16",
    "int16x16",
    "int16x2",
    "int16x32",
    "int16x4",
    "int16x64",
    "int16x8",
    "int32",
    "int32x16",
    "int32x2",
    "int32x32",
    "int32x4",
    "int32x64",
    "int32x8",
    "int4",
    "int4x16",
    "int4x2",
    "int4x32",
    "int4x4",
    "int4x64",
    "int4x8",
    "int64",
    "int64x16",
    "int64x2",
    "int64x32",
    "int64x4",
    "int64x64",
    "int64x8",
    "int8",
    "int8x16",
    "int8x2",
    "int8x32",
    "int8x4",
    "int8x64",
    "int8x8",
    "is_float4",
    "is_float4_e2m1_unpacked",
    "is_float4_e2m1fn",
    "isfinite",
    "isinf",
    "isnan",
    "ldexp",
    "ldg128",
    "ldg256",
    "ldg32",
    "ldg64",
    "lds128",
    "lds32",
    "lds64",
    "likely",
    "log",
    "log10",
    "log1p",
    "log2",
    "long",
    "loop_break",
    "macro",
    "make_tensor",
    "make_tensor_from_addr",
    "match_all_sync",
    "match_any_sync",
    "max",
    "max2",
    "max_value",
    "mbarrier_arrive",
    "mbarrier_wait_parity",
    "meta_class",
    "min",
    "min2",
    "min_value",
    "mul2",
    "nearbyint",
    "nextafter",
    "no_set_max_nreg",
    "popcount",
    "pow",
    "prim_func",
    "print",
    "ptr",
    "ptx_arrive_barrier",
    "ptx_commit_group",
    "ptx_wait_barrier",
    "ptx_wait_group",
    "reduce",
    "reduce_absmax",
    "reduce_abssum",
    "reduce_bitand",
    "reduce_bitor",
    "reduce_bitxor",
    "reduce_max",
    "reduce_min",
    "reduce_sum",
    "reducer_init",
    "reducer_update",
    "reinterpret",
    "reshape",
    "rng_init",
    "rng_rand",
    "rng_rand_float",
    "round",
    "rsqrt",
    "serial",
    "set_max_nreg",
    "shfl_down",
    "shfl_sync",
    "shfl_up",
    "shfl_xor",
    "shift_left",
    "shift_right",
    "short",
    "shuffle_elect",
    "sigmoid",
    "sin",
    "sinh",
    "sqrt",
    "stg128",
    "stg256",
    "stg32",
    "stg64",
    "sts128",
    "sts32",
    "sts64",
    "sub2",
    "symbolic",
    "sync_global",
    "sync_grid",
    "sync_threads",
    "sync_warp",
    "syncthreads_and",
    "syncthreads_count",
    "syncthreads_or",
    "tan",
    "tanh",
    "tfloat32",
    "tfloat32x16",
    "tfloat32x2",
    "tfloat32x32",
    "tfloat32x4",
    "tfloat32x64",
    "tfloat32x8",
    "thread_binding",
    "tma_copy",
    "tma_store_arrive",
    "tma_store_wait",
    "transpose",
    "trunc",
    "truncdiv",
    "truncmod",
    "tvm_storage_sync",
    "tvm_thread_allreduce",
    "tvm_warp_activemask",
    "tvm_warp_shuffle",
    "tvm_warp_shuffle_down",
    "tvm_warp_shuffle_up",
    "uint",
    "uint16",
    "uint16x16",
    "uint16x2",
    "uint16x32",
    "uint16x4",
    "uint16x64",
    "uint16x8",
    "uint32",
    "uint32x16",
    "uint32x2",
    "uint32x32",
    "uint32x4",
    "uint32x64",
    "uint32x8",
    "uint4",
    "uint4x16",
    "uint4x2",
    "uint4x32",
    "uint4x4",
    "uint4x64",
    "uint4x8",
    "uint64",
    "uint64x16",
    "uint64x2",
    "uint64x32",
    "uint64x4",
    "uint64x64",
    "uint64x8",
    "uint8",
    "uint8x16",
    "uint8x2",
    "uint8x32",
    "uint8x4",
    "uint8x64",
    "uint8x8",
    "unroll",
    "use_swizzle",
    "vectorized",
    "view",
    "wait_wgmma",
    "warp_reduce_bitand",
    "warp_reduce_bitor",
    "warp_reduce_max",
    "warp_reduce_min",
    "warp_reduce_sum",
    "wgmma_gemm",
    "wgmma_mma",
    "ws",
]

bfloat16: dtype
"""16 bits."""
bfloat16x16: dtype
"""16 lanes of 16 bits."""
bfloat16x2: dtype
"""2 lanes of 16 bits."""
bfloat16x32: dtype
"""32 lanes of 16 bits."""
bfloat16x4: dtype
"""4 lanes of 16 bits."""
bfloat16x64: dtype
"""64 lanes of 16 bits."""
bfloat16x8: dtype
"""8 lanes of 16 bits."""
bool: dtype
"""1 bits."""
boolean: dtype
"""1 bits."""
double: dtype
"""64 bits."""
float: dtype
"""32 bits."""
float16: dtype
"""16 bits."""
float16x16: dtype
"""16 lanes of 16 bits."""
float16x2: dtype
"""2 lanes of 16 bits."""
float16x32: dtype
"""32 lanes of 16 bits."""
float16x4: dtype
"""4 lanes of 16 bits."""
float16x64: dtype
"""64 lanes of 16 bits."""
float16x8: dtype
"""8 lanes of 16 bits."""
float32: dtype
"""32 bits."""
float32x16: dtype
"""16 lanes of 32 bits."""
float32x2: dtype
"""2 lanes of 32 bits."""
float32x32: dtype
"""32 lanes of 32 bits."""
float32x4: dtype
"""4 lanes of 32 bits."""
float32x64: dtype
"""64 lanes of 32 bits."""
float32x8: dtype
"""8 lanes of 32 bits."""
float4_e2m1_unpacked: dtype
"""4 bits."""
float4_e2m1fn: dtype
"""4 bits."""
float4_e2m1fnx16: dtype
"""16 lanes of 4 bits."""
float4_e2m1fnx2: dtype
"""2 lanes of 4 bits."""
float4_e2m1fnx32: dtype
"""32 lanes of 4 bits."""
float4_e2m1fnx4: dtype
"""4 lanes of 4 bits."""
float4_e2m1fnx64: dtype
"""64 lanes of 4 bits."""
float4_e2m1fnx8: dtype
"""8 lanes of 4 bits."""
float64: dtype
"""64 bits."""
float64x16: dtype
"""16 lanes of 64 bits."""
float64x2: dtype
"""2 lanes of 64 bits."""
float64x32: dtype
"""32 lanes of 64 bits."""
float64x4: dtype
"""4 lanes of 64 bits."""
float64x64: dtype
"""64 lanes of 64 bits."""
float64x8: dtype
"""8 lanes of 64 bits."""
float6_e2m3fn: dtype
"""6 bits."""
float6_e2m3fnx16: dtype
"""16 lanes of 6 bits."""
float6_e2m3fnx2: dtype
"""2 lanes of 6 bits."""
float6_e2m3fnx32: dtype
"""32 lanes of 6 bits."""
float6_e2m3fnx4: dtype
"""4 lanes of 6 bits."""
float6_e2m3fnx64: dtype
"""64 lanes of 6 bits."""
float6_e2m3fnx8: dtype
"""8 lanes of 6 bits."""
float6_e3m2fn: dtype
"""6 bits."""
float6_e3m2fnx16: dtype
"""16 lanes of 6 bits."""
float6_e3m2fnx2: dtype
"""2 lanes of 6 bits."""
float6_e3m2fnx32: dtype
"""32 lanes of 6 bits."""
float6_e3m2fnx4: dtype
"""4 lanes of 6 bits."""
float6_e3m2fnx64: dtype
"""64 lanes of 6 bits."""
float6_e3m2fnx8: dtype
"""8 lanes of 6 bits."""
float8_e3m4: dtype
"""8 bits."""
float8_e3m4x16: dtype
"""16 lanes of 8 bits."""
float8_e3m4x2: dtype
"""2 lanes of 8 bits."""
float8_e3m4x32: dtype
"""32 lanes of 8 bits."""
float8_e3m4x4: dtype
"""4 lanes of 8 bits."""
float8_e3m4x64: dtype
"""64 lanes of 8 bits."""
float8_e3m4x8: dtype
"""8 lanes of 8 bits."""
float8_e4m3: dtype
"""8 bits."""
float8_e4m3b11fnuz: dtype
"""8 bits."""
float8_e4m3b11fnuzx16: dtype
"""16 lanes of 8 bits."""
float8_e4m3b11fnuzx2: dtype
"""2 lanes of 8 bits."""
float8_e4m3b11fnuzx32: dtype
"""32 lanes of 8 bits."""
float8_e4m3b11fnuzx4: dtype
"""4 lanes of 8 bits."""
float8_e4m3b11fnuzx64: dtype
"""64 lanes of 8 bits."""
float8_e4m3b11fnuzx8: dtype
"""8 lanes of 8 bits."""
float8_e4m3fn: dtype
"""8 bits."""
float8_e4m3fnuz: dtype
"""8 bits."""
float8_e4m3fnuzx16: dtype
"""16 lanes of 8 bits."""
float8_e4m3fnuzx2: dtype
"""2 lanes of 8 bits."""
float8_e4m3fnuzx32: dtype
"""32 lanes of 8 bits."""
float8_e4m3fnuzx4: dtype
"""4 lanes of 8 bits."""
float8_e4m3fnuzx64: dtype
"""64 lanes of 8 bits."""
float8_e4m3fnuzx8: dtype
"""8 lanes of 8 bits."""
float8_e4m3fnx16: dtype
"""16 lanes of 8 bits."""
float8_e4m3fnx2: dtype
"""2 lanes of 8 bits."""
float8_e4m3fnx32: dtype
"""32 lanes of 8 bits."""
float8_e4m3fnx4: dtype
"""4 lanes of 8 bits."""
float8_e4m3fnx64: dtype
"""64 lanes of 8 bits."""
float8_e4m3fnx8: dtype
"""8 lanes of 8 bits."""
float8_e5m2: dtype
"""8 bits."""
float8_e5m2fnuz: dtype
"""8 bits."""
float8_e5m2fnuzx16: dtype
"""16 lanes of 8 bits."""
float8_e5m2fnuzx2: dtype
"""2 lanes of 8 bits."""
float8_e5m2fnuzx32: dtype
"""32 lanes of 8 bits."""
float8_e5m2fnuzx4: dtype
"""4 lanes of 8 bits."""
float8_e5m2fnuzx64: dtype
"""64 lanes of 8 bits."""
float8_e5m2fnuzx8: dtype
"""8 lanes of 8 bits."""
float8_e5m2x16: dtype
"""16 lanes of 8 bits."""
float8_e5m2x2: dtype
"""2 lanes of 8 bits."""
float8_e5m2x32: dtype
"""32 lanes of 8 bits."""
float8_e5m2x4: dtype
"""4 lanes of 8 bits."""
float8_e5m2x64: dtype
"""64 lanes of 8 bits."""
float8_e5m2x8: dtype
"""8 lanes of 8 bits."""
float8_e8m0fnu: dtype
"""8 bits."""
float8_e8m0fnux16: dtype
"""16 lanes of 8 bits."""
float8_e8m0fnux2: dtype
"""2 lanes of 8 bits."""
float8_e8m0fnux32: dtype
"""32 lanes of 8 bits."""
float8_e8m0fnux4: dtype
"""4 lanes of 8 bits."""
float8_e8m0fnux64: dtype
"""64 lanes of 8 bits."""
float8_e8m0fnux8: dtype
"""8 lanes of 8 bits."""
half: dtype
"""16 bits."""
int: dtype
"""32 bits."""
int16: dtype
"""16 bits."""
int16x16: dtype
"""16 lanes of 16 bits."""
int16x2: dtype
"""2 lanes of 16 bits."""
int16x32: dtype
"""32 lanes of 16 bits."""
int16x4: dtype
"""4 lanes of 16 bits."""
int16x64: dtype
"""64 lanes of 16 bits."""
int16x8: dtype
"""8 lanes of 16 bits."""
int32: dtype
"""32 bits."""
int32x16: dtype
"""16 lanes of 32 bits."""
int32x2: dtype
"""2 lanes of 32 bits."""
int32x32: dtype
"""32 lanes of 32 bits."""
int32x4: dtype
"""4 lanes of 32 bits."""
int32x64: dtype
"""64 lanes of 32 bits."""
int32x8: dtype
"""8 lanes of 32 bits."""
int4: dtype
"""4 bits."""
int4x16: dtype
"""16 lanes of 4 bits."""
int4x2: dtype
"""2 lanes of 4 bits."""
int4x32: dtype
"""32 lanes of 4 bits."""
int4x4: dtype
"""4 lanes of 4 bits."""
int4x64: dtype
"""64 lanes of 4 bits."""
int4x8: dtype
"""8 lanes of 4 bits."""
int64: dtype
"""64 bits."""
int64x16: dtype
"""16 lanes of 64 bits."""
int64x2: dtype
"""2 lanes of 64 bits."""
int64x32: dtype
"""32 lanes of 64 bits."""
int64x4: dtype
"""4 lanes of 64 bits."""
int64x64: dtype
"""64 lanes of 64 bits."""
int64x8: dtype
"""8 lanes of 64 bits."""
int8: dtype
"""8 bits."""
int8x16: dtype
"""16 lanes of 8 bits."""
int8x2: dtype
"""2 lanes of 8 bits."""
int8x32: dtype
"""32 lanes of 8 bits."""
int8x4: dtype
"""4 lanes of 8 bits."""
int8x64: dtype
"""64 lanes of 8 bits."""
int8x8: dtype
"""8 lanes of 8 bits."""
long: dtype
"""64 bits."""
short: dtype
"""16 bits."""
tfloat32: dtype
"""19 bits."""
tfloat32x16: dtype
"""16 lanes of 19 bits."""
tfloat32x2: dtype
"""2 lanes of 19 bits."""
tfloat32x32: dtype
"""32 lanes of 19 bits."""
tfloat32x4: dtype
"""4 lanes of 19 bits."""
tfloat32x64: dtype
"""64 lanes of 19 bits."""
tfloat32x8: dtype
"""8 lanes of 19 bits."""
uint: dtype
"""32 bits."""
uint16: dtype
"""16 bits."""
uint16x16: dtype
"""16 lanes of 16 bits."""
uint16x2: dtype
"""2 lanes of 16 bits."""
uint16x32: dtype
"""32 lanes of 16 bits."""
uint16x4: dtype
"""4 lanes of 16 bits."""
uint16x64: dtype
"""64 lanes of 16 bits."""
uint16x8: dtype
"""8 lanes of 16 bits."""
uint32: dtype
"""32 bits."""
uint32x16: dtype
"""16 lanes of 32 bits."""
uint32x2: dtype
"""2 lanes of 32 bits."""
uint32x32: dtype
"""32 lanes of 32 bits."""
uint32x4: dtype
"""4 lanes of 32 bits."""
uint32x64: dtype
"""64 lanes of 32 bits."""
uint32x8: dtype
"""8 lanes of 32 bits."""
uint4: dtype
"""4 bits."""
uint4x16: dtype
"""16 lanes of 4 bits."""
uint4x2: dtype
"""2 lanes of 4 bits."""
uint4x32: dtype
"""32 lanes of 4 bits."""
uint4x4: dtype
"""4 lanes of 4 bits."""
uint4x64: dtype
"""64 lanes of 4 bits."""
uint4x8: dtype
"""8 lanes of 4 bits."""
uint64: dtype
"""64 bits."""
uint64x16: dtype
"""16 lanes of 64 bits."""
uint64x2: dtype
"""2 lanes of 64 bits."""
uint64x32: dtype
"""32 lanes of 64 bits."""
uint64x4: dtype
"""4 lanes of 64 bits."""
uint64x64: dtype
"""64 lanes of 64 bits."""
uint64x8: dtype
"""8 lanes of 64 bits."""
uint8: dtype
"""8 bits."""
uint8x16: dtype
"""16 lanes of 8 bits."""
uint8x2: dtype
"""2 lanes of 8 bits."""
uint8x32: dtype
"""32 lanes of 8 bits."""
uint8x4: dtype
"""4 lanes of 8 bits."""
uint8x64: dtype
"""64 lanes of 8 bits."""
uint8x8: dtype
"""8 lanes of 8 bits."""
Ref: Any
"""Annotation of a macro's parameter that names the caller's variable itself: assigning to it
stores there.
"""
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
def __cos(x: Any) -> Any:
    """Cosine, approximate allowed."""
def __exp(x: Any) -> Any:
    """E to the x, approximate allowed."""
def __exp10(x: Any) -> Any:
    """10 to the x, approximate allowed."""
def __ffs(x: Any) -> Any:
    """The number of the lowest bit set, counted from 1; 0 where none is set. An int32."""
def __fns(mask: Any, base: Any, offset: Any) -> Any:
    """The place of the n-th bit set in a uint32, from bit `base` on: upwards for a positive
    `offset` n, downwards for a negative one, `base` itself for 0. 0xffffffff where there is
    none.
    """
def __ldg(src: Any, *indices: Any) -> Any:
    """An element, read through the read-only cache where a device has one."""
def __log(x: Any) -> Any:
    """Natural logarithm, approximate allowed."""
def __log10(x: Any) -> Any:
    """Logarithm to base 10, approximate allowed."""
def __log2(x: Any) -> Any:
    """Logarithm to base 2, approximate allowed."""
def __sin(x: Any) -> Any:
    """Sine, approximate allowed."""
def __tan(x: Any) -> Any:
    """Tangent, approximate allowed."""
def acos(x: Any) -> Any:
    """Arc cosine."""
def acosh(x: Any) -> Any:
    """Inverse hyperbolic cosine."""
def alloc_cluster_barrier(arrive_count: Any) -> Any:
    """`T.alloc_barrier` at which threads of every block of the cluster may arrive: each block
    has its own, and `T.mbarrier_arrive(bar, cta_id)` arrives at that of another one.
    """
def annotate_ws_schedule(schedule: Any) -> Any:
    """Say which warps do what. Accepted once it is found to make sense: roles are planned
    here.
    """
def asin(x: Any) -> Any:
    """Arc sine."""
def asinh(x: Any) -> Any:
    """Inverse hyperbolic sine."""
def atan(x: Any) -> Any:
    """Arc tangent."""
def atan2(x: Any, y: Any) -> Any:
    """Angle of (y, x)."""
def atanh(x: Any) -> Any:
    """Inverse hyperbolic tangent."""
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
def ceil(x: Any) -> Any:
    """Smallest integer not below x."""
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
def clz(x: Any) -> Any:
    """Leading zero bits, the width for 0."""
def copy_cluster(src: Any, dst: Any, *, dst_block: Any = ..., cluster_mask: Any = ..., remote_barrier: Any = ..., eviction_policy: Any = ..., coalesced_width: Any = ..., annotations: Any = ..., loop_layout: Any = ...) -> Any:
    """A copy that reaches other blocks of the cluster."""
def copysign(x: Any, y: Any) -> Any:
    """Magnitude of x, sign of y."""
def cos(x: Any) -> Any:
    """Cosine of radians."""
def cosh(x: Any) -> Any:
    """Hyperbolic cosine."""
def cp_async_barrier_noinc(mbar: Any) -> Any:
    """Every thread that comes here arrives when its copies of `T.async_copy` have come: it
    waits for them.
    """
def erf(x: Any) -> Any:
    """Error function."""
def exp(x: Any) -> Any:
    """E to the x."""
def exp10(x: Any) -> Any:
    """10 to the x."""
def exp2(x: Any) -> Any:
    """2 to the x."""
def fast_rcp(x: Any) -> Any:
    """1 / x, approximate allowed."""
def floor(x: Any) -> Any:
    """Largest integer not above x."""
def fmod(x: Any, y: Any) -> Any:
    """Remainder with the sign of x."""
def hypot(x: Any, y: Any) -> Any:
    """Sqrt(x*x + y*y)."""
def import_source(source: Any = ...) -> Any:
    """Put CUDA C++ text in front of the kernel: device functions that `T.call_extern` calls."""
def isfinite(x: Any) -> Any:
    """Is it finite."""
def isinf(x: Any) -> Any:
    """Is it infinite."""
def isnan(x: Any) -> Any:
    """Is it a NaN."""
def ldg128(src: Any, pred: Any = ...) -> Any:
    """128 bits of a global buffer from the place `src` on, as a vector of 4 uint32."""
def ldg256(src: Any, pred: Any = ...) -> Any:
    """256 bits of a global buffer from the place `src` on, as a vector of 8 uint32."""
def ldg32(src: Any, pred: Any = ...) -> Any:
    """32 bits of a global buffer from the place `src` on, as a uint32."""
def ldg64(src: Any, pred: Any = ...) -> Any:
    """64 bits of a global buffer from the place `src` on, as a vector of 2 uint32."""
def lds128(src: Any, pred: Any = ...) -> Any:
    """128 bits of a shared buffer from the place `src` on, as a vector of 4 uint32."""
def lds32(src: Any, pred: Any = ...) -> Any:
    """32 bits of a shared buffer from the place `src` on, as a uint32."""
def lds64(src: Any, pred: Any = ...) -> Any:
    """64 bits of a shared buffer from the place `src` on, as a vector of 2 uint32."""
def log(x: Any) -> Any:
    """Natural logarithm."""
def log10(x: Any) -> Any:
    """Logarithm to base 10."""
def log1p(x: Any) -> Any:
    """Log(1 + x)."""
def log2(x: Any) -> Any:
    """Logarithm to base 2."""
def mbarrier_arrive_expect_tx(mbar: Any, bytes: Any) -> Any:
    """Every thread that comes here announces so many bytes and arrives."""
def mbarrier_expect_tx(mbar: Any, bytes: Any) -> Any:
    """Every thread that comes here lets the phase wait for so many more bytes, and does not
    arrive.
    """
def nearbyint(x: Any) -> Any:
    """Nearest integer, ties to even."""
def nextafter(x: Any, y: Any) -> Any:
    """The neighbour of x towards y."""
def pdl_sync() -> Any:
    """This kernel may begin before the kernel in front has ended, and waits for its end before
    it uses global memory: `T.annotate_dependent_launch()`.
    """
def pdl_trigger() -> Any:
    """A dependent kernel behind this one may begin before this one has ended; it waits itself
    for what it needs.
    """
def popcount(x: Any) -> Any:
    """Number of set bits."""
def pow(x: Any, y: Any) -> Any:
    """X to the y."""
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
def rsqrt(x: Any) -> Any:
    """1 / sqrt(x)."""
def sin(x: Any) -> Any:
    """Sine of radians."""
def sinh(x: Any) -> Any:
    """Hyperbolic sine."""
def sqrt(x: Any) -> Any:
    """Square root."""
def stg128(dst: Any, value: Any, pred: Any = ...) -> Any:
    """Write 128 bits to a global buffer from the place `dst` on, where `pred` holds."""
def stg256(dst: Any, value: Any, pred: Any = ...) -> Any:
    """Write 256 bits to a global buffer from the place `dst` on, where `pred` holds."""
def stg32(dst: Any, value: Any, pred: Any = ...) -> Any:
    """Write 32 bits to a global buffer from the place `dst` on, where `pred` holds."""
def stg64(dst: Any, value: Any, pred: Any = ...) -> Any:
    """Write 64 bits to a global buffer from the place `dst` on, where `pred` holds."""
def sts128(dst: Any, value: Any, pred: Any = ...) -> Any:
    """Write 128 bits to a shared buffer from the place `dst` on, where `pred` holds."""
def sts32(dst: Any, value: Any, pred: Any = ...) -> Any:
    """Write 32 bits to a shared buffer from the place `dst` on, where `pred` holds."""
def sts64(dst: Any, value: Any, pred: Any = ...) -> Any:
    """Write 64 bits to a shared buffer from the place `dst` on, where `pred` holds."""
def tan(x: Any) -> Any:
    """Tangent of radians."""
def tanh(x: Any) -> Any:
    """Hyperbolic tangent."""
def trunc(x: Any) -> Any:
    """Integer part."""
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
Assert: Refused
"""Refused. E1506: builds a statement of another compiler's program by hand."""
CUDASourceCodeKernel: Refused
"""Refused. E1506: launches a kernel whose text nobody can check against the tensors it gets."""
Else: Refused
"""Refused. E1506: builds a statement of another compiler's program by hand."""
If: Refused
"""Refused. E1506: builds a statement of another compiler's program by hand."""
KernelLaunchFrame: Refused
"""Refused. E1501: launches threads, or has some of them leave or arrive, by itself."""
Let: Refused
"""Refused. E1506: builds a statement of another compiler's program by hand."""
PrimExpr: Refused
"""Refused. E1506: builds a statement of another compiler's program by hand."""
TensorCoreIntrinEmitter: Refused
"""Refused. E1502: takes registers in the order of one instruction, which nobody could check
against the tiles they hold.
"""
Then: Refused
"""Refused. E1506: builds a statement of another compiler's program by hand."""
Var: Refused
"""Refused. E1506: declares memory or a variable of another compiler's program by hand."""
While: Refused
"""Refused. E1506: builds a statement of another compiler's program by hand."""
alloc_descriptor: Refused
"""Refused. E1502: takes or makes a descriptor, of which nobody could check what it lets an
engine touch.
"""
alloc_tcgen05_instr_desc: Refused
"""Refused. E1502: works on the memory beside the matrix units of later devices, which no
installed target programs yet.
"""
alloc_tcgen05_instruction_desc: Refused
"""Refused. E1502: works on the memory beside the matrix units of later devices, which no
installed target programs yet.
"""
alloc_tcgen05_smem_desc: Refused
"""Refused. E1502: works on the memory beside the matrix units of later devices, which no
installed target programs yet.
"""
alloc_tmem: Refused
"""Refused. E1502: works on the memory beside the matrix units of later devices, which no
installed target programs yet.
"""
alloc_wgmma_desc: Refused
"""Refused. E1502: takes or makes a descriptor, of which nobody could check what it lets an
engine touch.
"""
allocate: Refused
"""Refused. E1506: declares memory or a variable of another compiler's program by hand."""
bind: Refused
"""Refused. E1506: builds a statement of another compiler's program by hand."""
call_intrin: Refused
"""Refused. E1506: calls a function out of the tables of another compiler."""
call_llvm_intrin: Refused
"""Refused. E1506: calls a function out of the tables of another compiler."""
call_llvm_pure_intrin: Refused
"""Refused. E1506: calls a function out of the tables of another compiler."""
call_packed: Refused
"""Refused. E1506: calls a function out of the tables of another compiler."""
clc_get_first_ctaid_x: Refused
"""Refused. E1502: is an instruction of later devices, which no installed target programs yet."""
clc_get_first_ctaid_y: Refused
"""Refused. E1502: is an instruction of later devices, which no installed target programs yet."""
clc_get_first_ctaid_z: Refused
"""Refused. E1502: is an instruction of later devices, which no installed target programs yet."""
clc_is_canceled: Refused
"""Refused. E1502: is an instruction of later devices, which no installed target programs yet."""
clc_try_cancel: Refused
"""Refused. E1502: is an instruction of later devices, which no installed target programs yet."""
clc_try_cancel_multicast: Refused
"""Refused. E1502: is an instruction of later devices, which no installed target programs yet."""
create_tma_descriptor: Refused
"""Refused. E1502: takes or makes a descriptor, of which nobody could check what it lets an
engine touch.
"""
deallocate_tmem: Refused
"""Refused. E1502: works on the memory beside the matrix units of later devices, which no
installed target programs yet.
"""
decl_buffer: Refused
"""Refused. E1506: declares memory or a variable of another compiler's program by hand."""
env_thread: Refused
"""Refused. E1501: launches threads, or has some of them leave or arrive, by itself."""
func_attr: Refused
"""Refused. E1506: tells another compiler's passes what to do with a statement."""
get_ldmatrix_offset: Refused
"""Refused. E1502: takes registers in the order of one instruction, which nobody could check
against the tiles they hold.
"""
get_mma_micro_size: Refused
"""Refused. E1502: takes registers in the order of one instruction, which nobody could check
against the tiles they hold.
"""
get_swizzle_layout: Refused
"""Refused. E1502: takes registers in the order of one instruction, which nobody could check
against the tiles they hold.
"""
handle: Refused
"""Refused. E1506: declares memory or a variable of another compiler's program by hand."""
increase_descriptor_offset: Refused
"""Refused. E1502: takes or makes a descriptor, of which nobody could check what it lets an
engine touch.
"""
initialize_tcgen05_descriptor: Refused
"""Refused. E1502: works on the memory beside the matrix units of later devices, which no
installed target programs yet.
"""
initialize_wgmma_descriptor: Refused
"""Refused. E1502: takes or makes a descriptor, of which nobody could check what it lets an
engine touch.
"""
isnullptr: Refused
"""Refused. E1505: asks for an address, and no address comes in: a tensor that the kernel
touches is there.
"""
launch_thread: Refused
"""Refused. E1501: launches threads, or has some of them leave or arrive, by itself."""
let: Refused
"""Refused. E1506: builds a statement of another compiler's program by hand."""
make_blockscaled_gemm_layout: Refused
"""Refused. E1502: works on the memory beside the matrix units of later devices, which no
installed target programs yet.
"""
make_mma_swizzle_layout: Refused
"""Refused. E1502: takes registers in the order of one instruction, which nobody could check
against the tiles they hold.
"""
match_buffer: Refused
"""Refused. E1506: declares memory or a variable of another compiler's program by hand."""
meta_var: Refused
"""Refused. E1506: tells another compiler's passes what to do with a statement."""
mma_fill: Refused
"""Refused. E1502: takes registers in the order of one instruction, which nobody could check
against the tiles they hold.
"""
mma_gemm_blockscaled: Refused
"""Refused. E1502: is an instruction of later devices, which no installed target programs yet."""
mma_store: Refused
"""Refused. E1502: takes registers in the order of one instruction, which nobody could check
against the tiles they hold.
"""
mma_store_index_map: Refused
"""Refused. E1502: takes registers in the order of one instruction, which nobody could check
against the tiles they hold.
"""
named_barrier_arrive: Refused
"""Refused. E1501: launches threads, or has some of them leave or arrive, by itself."""
parallel: Refused
"""Refused. E1506: builds a statement of another compiler's program by hand."""
ptx_cp_async_bulk: Refused
"""Refused. E1502: takes or makes a descriptor, of which nobody could check what it lets an
engine touch.
"""
ptx_ldmatrix: Refused
"""Refused. E1502: takes registers in the order of one instruction, which nobody could check
against the tiles they hold.
"""
ptx_mma: Refused
"""Refused. E1502: takes registers in the order of one instruction, which nobody could check
against the tiles they hold.
"""
ptx_mma_block_scale: Refused
"""Refused. E1502: is an instruction of later devices, which no installed target programs yet."""
ptx_mma_sm70: Refused
"""Refused. E1502: takes registers in the order of one instruction, which nobody could check
against the tiles they hold.
"""
ptx_mma_sp: Refused
"""Refused. E1502: takes registers in the order of one instruction, which nobody could check
against the tiles they hold.
"""
ptx_tcgen05_mma_blockscaled_ss: Refused
"""Refused. E1502: works on the memory beside the matrix units of later devices, which no
installed target programs yet.
"""
ptx_tcgen05_mma_ss: Refused
"""Refused. E1502: works on the memory beside the matrix units of later devices, which no
installed target programs yet.
"""
ptx_tcgen05_mma_ts: Refused
"""Refused. E1502: works on the memory beside the matrix units of later devices, which no
installed target programs yet.
"""
ptx_wgmma_rs: Refused
"""Refused. E1502: takes registers in the order of one instruction, which nobody could check
against the tiles they hold.
"""
ptx_wgmma_sp_rs: Refused
"""Refused. E1502: takes registers in the order of one instruction, which nobody could check
against the tiles they hold.
"""
ptx_wgmma_sp_ss: Refused
"""Refused. E1502: takes registers in the order of one instruction, which nobody could check
against the tiles they hold.
"""
ptx_wgmma_ss: Refused
"""Refused. E1502: takes registers in the order of one instruction, which nobody could check
against the tiles they hold.
"""
reads: Refused
"""Refused. E1506: tells another compiler's passes what to do with a statement."""
sblock: Refused
"""Refused. E1506: builds a statement of another compiler's program by hand."""
sblock_alloc_buffer: Refused
"""Refused. E1506: declares memory or a variable of another compiler's program by hand."""
sblock_attr: Refused
"""Refused. E1506: tells another compiler's passes what to do with a statement."""
target: Refused
"""Refused. E1506: builds a statement of another compiler's program by hand."""
tcgen05_after_thread_sync: Refused
"""Refused. E1502: works on the memory beside the matrix units of later devices, which no
installed target programs yet.
"""
tcgen05_before_thread_sync: Refused
"""Refused. E1502: works on the memory beside the matrix units of later devices, which no
installed target programs yet.
"""
tcgen05_cp_warpx4: Refused
"""Refused. E1502: works on the memory beside the matrix units of later devices, which no
installed target programs yet.
"""
tcgen05_gemm: Refused
"""Refused. E1502: works on the memory beside the matrix units of later devices, which no
installed target programs yet.
"""
tcgen05_gemm_blockscaled: Refused
"""Refused. E1502: works on the memory beside the matrix units of later devices, which no
installed target programs yet.
"""
tcgen05_gemm_sp: Refused
"""Refused. E1502: works on the memory beside the matrix units of later devices, which no
installed target programs yet.
"""
tcgen05_mma: Refused
"""Refused. E1502: works on the memory beside the matrix units of later devices, which no
installed target programs yet.
"""
tcgen05_mma_arrive: Refused
"""Refused. E1502: works on the memory beside the matrix units of later devices, which no
installed target programs yet.
"""
tcgen05_mma_blockscaled: Refused
"""Refused. E1502: works on the memory beside the matrix units of later devices, which no
installed target programs yet.
"""
tcgen05_sf_warp_transpose: Refused
"""Refused. E1502: works on the memory beside the matrix units of later devices, which no
installed target programs yet.
"""
thread_return: Refused
"""Refused. E1501: launches threads, or has some of them leave or arrive, by itself."""
tma_gather4: Refused
"""Refused. E1502: is an instruction of later devices, which no installed target programs yet."""
tma_gather4_bytes: Refused
"""Refused. E1502: is an instruction of later devices, which no installed target programs yet."""
tma_load: Refused
"""Refused. E1502: takes or makes a descriptor, of which nobody could check what it lets an
engine touch.
"""
tma_load_2sm: Refused
"""Refused. E1502: is an instruction of later devices, which no installed target programs yet."""
tma_scatter4: Refused
"""Refused. E1502: is an instruction of later devices, which no installed target programs yet."""
tvm_access_ptr: Refused
"""Refused. E1506: declares memory or a variable of another compiler's program by hand."""
tvm_bmma_sync: Refused
"""Refused. E1502: takes registers in the order of one instruction, which nobody could check
against the tiles they hold.
"""
tvm_fill_fragment: Refused
"""Refused. E1502: takes registers in the order of one instruction, which nobody could check
against the tiles they hold.
"""
tvm_load_matrix_sync: Refused
"""Refused. E1502: takes registers in the order of one instruction, which nobody could check
against the tiles they hold.
"""
tvm_mma_sync: Refused
"""Refused. E1502: takes registers in the order of one instruction, which nobody could check
against the tiles they hold.
"""
tvm_store_matrix_sync: Refused
"""Refused. E1502: takes registers in the order of one instruction, which nobody could check
against the tiles they hold.
"""
type_annotation: Refused
"""Refused. E1506: builds a statement of another compiler's program by hand."""
wgmma_gemm_sp: Refused
"""Refused. E1502: takes registers in the order of one instruction, which nobody could check
against the tiles they hold.
"""
writes: Refused
"""Refused. E1506: tells another compiler's passes what to do with a statement."""