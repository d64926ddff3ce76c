# Written by docs/generate/stubs.py: run nox -s surface.
"""Names that are refused where they are used, with the reason."""

from tile_frontend.language.refused import Refused

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
