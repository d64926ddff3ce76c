"""Races in global memory: between threads of a block, and between blocks of one launch."""

import numpy as np
import pytest

import tile_frontend as tile
import tile_frontend.language as T
from tile_cpu.emulator import options
from tile_ir.diag import TileError


def kernel(body, parameters="int *out, int *flags, const int *in"):
    return f"""
extern "C" __global__ void __launch_bounds__(64) k({parameters}) {{
  int t = threadIdx.x, b = blockIdx.x;
  {body}
}}
"""


def run(from_cuda, body, blocks=4, **how):
    """Outputs and flags of a kernel of 64 threads, or the error."""
    out, flags = np.zeros(64 * blocks, np.int32), np.zeros(8, np.int32)
    function = from_cuda(kernel(body), 3, 64, blocks=blocks)
    with options(**how):
        function(out, flags, np.arange(64 * blocks, dtype=np.int32))
    return out, flags


def race(from_cuda, body, line, blocks=4):
    for how in ({"schedule": "round-robin"}, {"schedule": "reverse"}):
        with pytest.raises(TileError, match="without an order between") as caught:
            run(from_cuda, body, blocks, workers=1, **how)
        error = caught.value
        assert (error.code, error.span.file, error.span.line) == ("E2306", "user.py", line)
    return error


SUM = """// user.py:3: sum
  out[t] = out[t] + in[b * 64 + t];"""


def test_sums_of_blocks_without_atomics(from_cuda):
    error = race(from_cuda, SUM, 3)
    assert error.message.startswith("reads byte ")
    assert "of argument 0, which thread" in error.message
    assert "of block" in error.message
    notes = "\n".join(error.diagnostics[0].notes)
    assert "the other access" in notes
    assert "[st.global.u32] from user.py:3" in notes


def test_one_block_of_that_is_no_race(from_cuda):
    out, _ = run(from_cuda, SUM, 1)
    assert out.tolist() == list(range(64))


def test_races_are_left_out(from_cuda):
    out, _ = run(from_cuda, SUM, races=False, workers=1)
    assert out[:64].tolist() == [4 * t + 64 * 6 for t in range(64)]


def test_sums_of_blocks_with_atomics(from_cuda):
    out, _ = run(from_cuda, "atomicAdd(&out[t], in[b * 64 + t]);")
    assert out[:64].tolist() == [4 * t + 64 * 6 for t in range(64)]


def test_atomics_do_not_order_what_is_not_atomic(from_cuda):
    """One block clears what others add to."""
    body = """// user.py:3: clear
  if (b == 0) out[t] = 0;
  // user.py:4: add
  if (b == BLOCK) atomicAdd(&out[t], in[t]);"""
    with pytest.raises(TileError) as caught:
        run(from_cuda, body.replace("BLOCK", "1"), workers=1)
    assert (caught.value.code, caught.value.span.line) == ("E2306", 4)
    out, _ = run(from_cuda, body.replace("BLOCK", "0"))
    assert out[:64].tolist() == list(range(64))


@pytest.mark.parametrize("bytes_each", [1, 2, 4])
def test_neighbours_in_a_word_are_no_race(from_cuda, bytes_each):
    kind = {1: "char", 2: "short", 4: "int"}[bytes_each]
    out, _ = run(from_cuda, f"(({kind} *)out)[t * 4 + b] = b + 1;")
    view = out.view(f"i{bytes_each}")[:256]
    assert view.tolist() == [1, 2, 3, 4] * 64


def test_threads_of_a_block(from_cuda):
    body = """// user.py:3: store
  out[b * 64 + t] = t;
  BARRIER
  // user.py:4: load
  int x = ((volatile int *)out)[b * 64 + 63 - t];
  BARRIER
  // user.py:5: store again
  out[b * 64 + t] = x;"""
    out, _ = run(from_cuda, body.replace("BARRIER", "__syncthreads();"))
    assert out[:64].tolist() == list(range(63, -1, -1))
    with pytest.raises(TileError) as caught:
        run(from_cuda, body.replace("BARRIER", ""))
    assert caught.value.code == "E2306"
    assert caught.value.span.line in (3, 4)


LAST_BLOCK = """__shared__ int last;
  // user.py:3: part
  out[b * 64 + t] = in[b * 64 + t];
  FENCE
  __syncthreads();
  // user.py:5: count
  if (t == 0) last = atomicAdd(&flags[0], 1) == 3;
  __syncthreads();
  // user.py:6: total
  if (last) {
    int sum = 0;
    for (int i = 0; i < 4; i++) sum += ((volatile int *)out)[i * 64 + t];
    flags[1 + (t != 0)] = t == 0 ? sum : 7;
  }"""


def test_the_last_block_sees_what_others_made_known(from_cuda):
    plain = LAST_BLOCK.replace("((volatile int *)out)", "out")
    plain = plain.replace("flags[1 + (t != 0)] = t == 0 ? sum : 7;", "out[t] = sum;")
    for how in ({}, {"schedule": "reverse"}, {"schedule": "random", "seed": 2}):
        out, flags = run(from_cuda, plain.replace("FENCE", "__threadfence();"), **how)
        assert flags[0] == 4
        assert out[:64].tolist() == [4 * t + 64 * 6 for t in range(64)]


def test_without_a_fence_it_does_not(from_cuda):
    plain = LAST_BLOCK.replace("((volatile int *)out)", "out")
    race(from_cuda, plain.replace("FENCE", ""), 6)
    race(from_cuda, plain.replace("FENCE", "__threadfence_block();"), 6)


FLAG = """if (b == 0) {
    // user.py:3: produce
    out[t] = in[t] + 1;
    __syncthreads();
    if (t == 0) { FENCE; *(volatile int *)flags = 1; }
  } else if (b == 1) {
    if (t == 0) while (*(volatile int *)flags == 0) { }
    __syncthreads();
    // user.py:5: consume
    out[64 + t] = out[t] * 2;
  }"""


def test_a_flag_behind_a_fence(from_cuda):
    out, _ = run(from_cuda, FLAG.replace("FENCE", "__threadfence()"), workers=2)
    assert out[64:128].tolist() == [2 * t + 2 for t in range(64)]
    with pytest.raises(TileError, match="without an order between") as caught:
        run(from_cuda, FLAG.replace("FENCE", ""), workers=2)
    assert (caught.value.code, caught.value.span.line) == ("E2306", 5)


RELEASE = FLAG.replace(
    "FENCE; *(volatile int *)flags = 1;",
    'asm volatile("st.release.gpu.global.u32 [%0], 1;" ::"l"(flags) : "memory");',
)


def test_a_flag_that_is_released(from_cuda):
    out, _ = run(from_cuda, RELEASE, workers=2)
    assert out[64:128].tolist() == [2 * t + 2 for t in range(64)]


ENGINE = """extern __shared__ __align__(128) char s[];
  for (int i = t; i < 256; i += 64) ((int *)s)[i] = b;
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  if (t == 0) {
    unsigned at = (unsigned)__cvta_generic_to_shared(s);
    // user.py:7: bulk
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 256;"
                 ::"l"(out + b * STEP), "r"(at) : "memory");
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
    asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
  }"""


def test_engines_of_two_blocks(from_cuda):
    def call(step):
        function = from_cuda(kernel(ENGINE.replace("STEP", step)), 3, 64, 1024, 2)
        out = np.full(128, -1, np.int32)
        function(out, np.zeros(8, np.int32), np.zeros(8, np.int32))
        return out

    assert call("64").tolist() == [0] * 64 + [1] * 64
    with pytest.raises(TileError) as caught:
        call("32")
    assert (caught.value.code, caught.value.span.line) == ("E2306", 7)


@T.prim_func
def split(
    A: T.Tensor((64, 256), "float32"),
    S: T.Tensor((64,), "float32"),
):
    with T.Kernel(4, threads=64) as b:
        P = T.alloc_fragment((64, 64), "float32")
        R = T.alloc_fragment((64,), "float32")
        T.copy(A[0, b * 64], P)
        T.reduce_sum(P, R, dim=1)
        for i in T.Parallel(64):
            S[i] = S[i] + R[i]


def test_a_sum_split_over_blocks(nvrtc, tmp_path, monkeypatch):
    monkeypatch.setenv("TILE_CACHE_DIR", str(tmp_path))
    run = tile.compile(split, target="cuda -arch=sm_80", device="emulator")
    with pytest.raises(TileError) as caught:
        run(np.ones((64, 256), np.float32), np.zeros(64, np.float32))
    assert caught.value.code == "E2306"
    assert caught.value.span.text().strip() == "S[i] = S[i] + R[i]"
    assert "of S, which thread" in caught.value.message
