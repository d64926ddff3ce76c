"""Mistakes planted into kernels: each is reported with its kind and the user's line; the same
kernel without it runs under every schedule."""

import numpy as np
import pytest

from tile_cpu.emulator import options
from tile_ir.diag import TileError

SCHEDULES = [
    {"schedule": "round-robin"},
    {"schedule": "reverse"},
    *({"schedule": "random", "seed": seed} for seed in range(3)),
]
BARRIER = """
__device__ __forceinline__ unsigned at(const void *p) {
  return (unsigned)__cvta_generic_to_shared(p);
}
__device__ __forceinline__ void init(void *b, int n) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(at(b)), "r"(n) : "memory");
}
__device__ __forceinline__ void arrive(void *b) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(at(b)) : "memory");
}
__device__ __forceinline__ void wait(void *b, int p) {
  asm volatile("{\\n.reg .pred p;\\nW:\\n"
               "mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\\n"
               "@p bra D;\\nbra W;\\nD:\\n}" ::"r"(at(b)), "r"(p) : "memory");
}
"""


def exchange(barrier, index="127 - t"):
    return f"""
extern "C" __global__ void __launch_bounds__(128) k(int *out, const int *in) {{
  __shared__ int s[128];
  int t = threadIdx.x;
  // user.py:7: store
  s[t] = in[t];
  // user.py:8: barrier
  {barrier}
  // user.py:9: load
  out[t] = s[{index}];
}}
"""


def fault(run, *arrays, **how):
    with options(**how), pytest.raises(TileError) as caught:
        run(*arrays)
    return caught.value


def place(error):
    return (error.code, error.span.file, error.span.line)


@pytest.mark.parametrize("how", SCHEDULES)
def test_an_exchange_through_shared_memory(from_cuda, how):
    x, out = np.arange(128, dtype=np.int32), np.zeros(128, np.int32)
    with options(**how):
        counted = from_cuda(exchange("__syncthreads();"), 2, 128)(out, x)
    assert np.array_equal(out, x[::-1])
    assert counted["global_load_bytes"] == counted["shared_store_bytes"] == 512
    assert counted["barrier_arrivals"] == 128


@pytest.mark.parametrize("how", SCHEDULES)
def test_a_missing_barrier(from_cuda, how):
    """A race, or what nobody wrote, by the order in which the threads run."""
    run = from_cuda(exchange(""), 2, 128)
    error = fault(run, np.zeros(128, np.int32), np.zeros(128, np.int32), **how)
    assert error.code in ("E2305", "E2306")
    assert error.span.line in (7, 9)
    assert "warp" not in error.message


def test_a_race_names_both_sides(from_cuda):
    text = exchange("__syncthreads();").replace(
        "out[t] = s[127 - t];", "out[t] = s[127 - t]; s[t] = 0;"
    )
    error = fault(from_cuda(text, 2, 128), np.zeros(128, np.int32), np.zeros(128, np.int32))
    assert place(error) == ("E2306", "user.py", 9)
    notes = "\n".join(error.diagnostics[0].notes)
    assert "the other access" in notes
    assert "ld.shared" in notes
    assert "st.shared" in notes


def test_only_races_are_left_out(from_cuda):
    out = np.zeros(128, np.int32)
    text = exchange("__syncthreads();").replace(
        "out[t] = s[127 - t];", "out[t] = s[127 - t]; s[t] = 0;"
    )
    with options(races=False):
        from_cuda(text, 2, 128)(out, np.ones(128, np.int32))
    assert out.sum() > 0


def test_out_of_bounds(from_cuda):
    error = fault(
        from_cuda(exchange("__syncthreads();"), 2, 128),
        np.zeros(100, np.int32),
        np.zeros(128, np.int32),
    )
    assert place(error) == ("E2303", "user.py", 9)
    assert "of argument 0, which has 400" in error.message
    far = exchange("__syncthreads();", "t + 1")
    error = fault(from_cuda(far, 2, 128), np.zeros(128, np.int32), np.zeros(128, np.int32))
    assert place(error) == ("E2303", "user.py", 9)
    assert "shared address 512, of 512 bytes" in error.message


def test_misaligned(from_cuda):
    text = """
extern "C" __global__ void k(int4 *out, const char *in) {
  // user.py:3: vector
  out[threadIdx.x] = *(const int4 *)(in + threadIdx.x * 16 + 4);
}
"""
    error = fault(
        from_cuda(
            text.replace("int4", "V").replace(
                "\nextern", "\nstruct alignas(16) V { int x, y, z, w; };\nextern"
            ),
            2,
        ),
        np.zeros(128, np.int32),
        np.zeros(256, np.int32),
    )
    assert place(error) == ("E2304", "user.py", 3)


def test_uninitialized(from_cuda):
    branch = exchange("__syncthreads();").replace("s[t] = in[t];", "if (t < 64) s[t] = in[t];")
    error = fault(from_cuda(branch, 2, 128), np.zeros(128, np.int32), np.zeros(128, np.int32))
    assert place(error) == ("E2305", "user.py", 9)
    assert "stored to argument 0" in error.message
    decides = branch.replace(
        "out[t] = s[127 - t];",
        'if (s[127 - t] > 3) asm volatile("nanosleep.u32 1;");\n  out[t] = 1;',
    )
    error = fault(from_cuda(decides, 2, 128), np.zeros(128, np.int32), np.zeros(128, np.int32))
    assert place(error) == ("E2305", "user.py", 9)
    assert "decides a branch" in error.message


def test_what_is_masked_out_may_be_unknown(from_cuda):
    text = exchange("__syncthreads();").replace("s[t] = in[t];", "if (t < 64) s[t] = in[t];")
    text = text.replace("s[127 - t];", "t < 64 ? 5 : s[127 - t] & 0xff;")
    out = np.zeros(128, np.int32)
    from_cuda(text, 2, 128)(out, np.full(128, 0x1234, np.int32))
    assert out.tolist() == [5] * 64 + [0x34] * 64


def test_deadlock_tells_where_each_warp_is(from_cuda):
    text = exchange(
        'if (t < 32) asm volatile("bar.sync 1, 64;");'
        ' else if (t >= 64) asm volatile("bar.sync 2, 64;");',
        "t",
    )
    error = fault(from_cuda(text, 2, 128), np.zeros(128, np.int32), np.zeros(128, np.int32))
    assert error.code == "E2307"
    notes = "\n".join(error.diagnostics[0].notes)
    assert "warp 0 from lane 0 waits at a barrier" in notes
    assert "user.py:8" in notes
    assert "warp 1 from lane 0 has ended" in notes


def test_divergent_barrier(from_cuda):
    error = fault(
        from_cuda(exchange("if (t % 32 < 16) __syncthreads();", "t"), 2, 128),
        np.zeros(128, np.int32),
        np.zeros(128, np.int32),
        races=False,
    )
    assert error.code == "E2308"
    assert error.span.line == 8


def test_a_shuffle_of_half_a_warp(from_cuda):
    text = exchange("if (t & 1) s[t] = __shfl_xor_sync(~0u, t, 1); else s[t] = __any_sync(~0u, t);")
    error = fault(from_cuda(text, 2, 128), np.zeros(128, np.int32), np.zeros(128, np.int32))
    assert place(error) == ("E2308", "user.py", 8)


def ring(steps):
    return f"""{BARRIER}
extern "C" __global__ void __launch_bounds__(128) k(int *out, const int *in) {{
  __shared__ alignas(8) char full[8];
  __shared__ int s[128];
  int t = threadIdx.x;
  if (t == 0) init(full, 64);
  __syncthreads();
  if (t < 64) {{
    // user.py:4: produce
    s[t] = in[t];
    {steps}
  }} else {{
    // user.py:6: consume
    wait(full, 0);
    out[t] = s[t - 64];
  }}
}}
"""


def test_phases_order_what_they_should(from_cuda):
    out = np.zeros(128, np.int32)
    for how in SCHEDULES:
        with options(**how):
            from_cuda(ring("arrive(full);"), 2, 128)(out, np.arange(128, dtype=np.int32))
        assert out[64:].tolist() == list(range(64))


def test_too_few_and_too_many_arrivals(from_cuda):
    args = np.zeros(128, np.int32), np.zeros(128, np.int32)
    error = fault(from_cuda(ring("if (t) arrive(full);"), 2, 128), *args)
    assert place(error) == ("E2307", "user.py", 6)
    assert "waits for a phase" in "\n".join(error.diagnostics[0].notes)
    error = fault(
        from_cuda(
            ring("arrive(full);").replace(
                "init(full, 64)", "init(full + 0, 64); else if (t == 1) wait(full, 0)"
            ),
            2,
            128,
        ),
        *args,
        schedule="reverse",
    )
    assert error.code == "E2309"
    assert "no initialised barrier" in error.message


def test_an_arrival_before_the_write(from_cuda):
    text = ring("arrive(full);").replace(
        "s[t] = in[t];\n    arrive(full);", "arrive(full); s[t] = in[t];"
    )
    found = set()
    for how in SCHEDULES:
        found.add(
            fault(
                from_cuda(text, 2, 128), np.zeros(128, np.int32), np.zeros(128, np.int32), **how
            ).code
        )
    assert found <= {"E2305", "E2306"}


def copied(pending):
    return f"""
extern "C" __global__ void k(int *out, const int *in) {{
  __shared__ int s[64];
  int t = threadIdx.x;
  for (int i = 0; i < 2; i++) {{
    // user.py:5: copy
    unsigned to = (unsigned)__cvta_generic_to_shared(&s[i * 32 + t]);
    const int *from = in + i * 32 + t;
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(to), "l"(from) : "memory");
    asm volatile("cp.async.commit_group;" ::: "memory");
  }}
  asm volatile("cp.async.wait_group {pending};" ::: "memory");
  // user.py:7: use
  out[t] = s[32 + t];
}}
"""


def test_copies_are_as_late_as_the_wait_allows(from_cuda):
    out, x = np.zeros(32, np.int32), np.arange(64, dtype=np.int32)
    from_cuda(copied(0), 2)(out, x)
    assert np.array_equal(out, x[32:])
    error = fault(from_cuda(copied(1), 2), out, x)
    assert place(error) == ("E2305", "user.py", 7)


def test_a_trap(from_cuda):
    text = exchange("__syncthreads(); if (in[t] < 0) __trap();")
    x = np.arange(128, dtype=np.int32)
    from_cuda(text, 2, 128)(np.zeros(128, np.int32), x)
    error = fault(from_cuda(text, 2, 128), np.zeros(128, np.int32), -x)
    assert place(error) == ("E2310", "user.py", 8)


def test_an_unknown_instruction_is_named(from_ptx):
    opcode = "tcgen05.alloc.cta_group::1.sync [%r0], 32;"
    ptx = f".visible .entry k(.param .u64 p0)\n{{\n.reg .b32 %r<2>;\n{opcode}\nret;\n}}\n"
    with pytest.raises(TileError, match=r"tcgen05\.alloc") as caught:
        from_ptx(ptx, "k", 1)
    assert caught.value.code == "E2301"


def test_arrays_of_a_thread(from_cuda):
    """Indexed by a variable, they lie in local memory, which knows what was never written."""
    text = """
extern "C" __global__ void k(int *out, const int *in) {
  int own[8], t = threadIdx.x;
  for (int i = 0; i < COUNT; i++) own[(i * 3) & 7] = in[t] + i;
  // user.py:4: pick
  out[t] = own[in[t + 32] & 7];
}
"""
    x = np.arange(64, dtype=np.int32)
    out = np.zeros(32, np.int32)
    from_cuda(text.replace("COUNT", "8"), 2)(out, x)
    place_of = {i * 3 & 7: i for i in range(8)}
    assert out.tolist() == [t + place_of[(t + 32) & 7] for t in range(32)]
    error = fault(from_cuda(text.replace("COUNT", "7"), 2), out, x)
    assert place(error) == ("E2305", "user.py", 4)
