"""What the threads of a warp and of a block do together: shuffles, votes, barriers, copies."""

import numpy as np
import pytest

THREADS = 128

SHUFFLES = """
extern "C" __global__ void k(const int *x, const int *lanes, int *out) {
  int t = threadIdx.x, v = x[t], n = 0;
  int masks[] = {1, 2, 4, 8, 16, 31, 21};
#pragma unroll
  for (int i = 0; i < 7; i++) out[32 * n++ + t] = tile_shuffle_xor(v, masks[i]);
  out[32 * n++ + t] = tile_shuffle_idx(v, lanes[t]);
#pragma unroll
  for (int width = 4; width <= 32; width *= 2) {
    out[32 * n++ + t] = __shfl_up_sync(~0u, v, 3, width);
    out[32 * n++ + t] = __shfl_down_sync(~0u, v, 5, width);
    out[32 * n++ + t] = __shfl_sync(~0u, v, lanes[t], width);
    out[32 * n++ + t] = __shfl_xor_sync(~0u, v, 9, width);
  }
  if (t % 3 == 1) out[32 * n + t] = __shfl_sync(0x92492492u, v, lanes[t] % 10 * 3 + 1);
}
"""


def test_shuffles(agree, rng):
    x, lanes = rng.randint(-(1 << 31), 1 << 31, 32, np.int64), rng.randint(0, 64, 32)
    given = [x.astype(np.int32), lanes.astype(np.int32)]
    (out,) = agree(SHUFFLES, given, [np.zeros((7 + 1 + 16 + 1, 32), np.int32)])
    t = np.arange(32)
    assert np.array_equal(out[0], x[t ^ 1])
    assert np.array_equal(out[7], x[lanes % 32])
    assert np.array_equal(out[24], np.where(t % 3 == 1, x[lanes % 10 * 3 + 1], 0))


VOTES = """
extern "C" __global__ void k(const int *x, const unsigned *sets, unsigned *out) {
  int t = threadIdx.x, n = 0;
  for (int round = 0; round < 16; round++) {
    bool own = sets[round] >> t & 1;
    out[32 * n++ + t] = tile_any(own);
    out[32 * n++ + t] = __all_sync(~0u, own);
    out[32 * n++ + t] = __ballot_sync(~0u, own);
    int same;
    out[32 * n++ + t] = __match_any_sync(~0u, x[t] + own);
    out[32 * n++ + t] = __match_all_sync(~0u, x[t] & own, &same);
    out[32 * n++ + t] = same;
    out[32 * n++ + t] = __reduce_add_sync(~0u, x[t] + round);
    out[32 * n++ + t] = __reduce_min_sync(~0u, x[t] - 8);
    out[32 * n++ + t] = __reduce_max_sync(~0u, x[t] - 8);
    out[32 * n++ + t] = __reduce_and_sync(~0u, sets[round] ^ t);
    out[32 * n++ + t] = __reduce_or_sync(~0u, sets[round] & t);
    out[32 * n++ + t] = __reduce_xor_sync(~0u, sets[round] * t);
    out[32 * n++ + t] = __popc(__ballot_sync(~0u, tile_elect()));
  }
}
"""


def test_votes(agree, rng):
    sets = rng.randint(0, 1 << 32, 16, np.uint64)
    sets[:2] = 0, (1 << 32) - 1
    given = [rng.randint(0, 6, 32).astype(np.int32), sets.astype(np.uint32)]
    (out,) = agree(VOTES, given, [np.zeros((16, 13, 32), np.uint32)])
    assert np.array_equal(out[:, 0, 5] != 0, sets != 0)
    assert np.array_equal(out[:, 1, 31] != 0, sets == (1 << 32) - 1)
    assert np.array_equal(out[:, 2, 0], sets)
    assert np.all(out[:, 12] == 1)


BLOCK = """
extern "C" __global__ void k(const int *x, int *out) {
  __shared__ int s[128];
  int t = threadIdx.x, n = 0;
  for (int round = 0; round < 4; round++) {
    int own = x[round * 128 + t];
    out[128 * n++ + t] = __syncthreads_count(own & 1);
    out[128 * n++ + t] = __syncthreads_and(own % 100 != 0);
    out[128 * n++ + t] = __syncthreads_or(own % 100 == 0);
    if (t < 64) {
      s[t] = own;
      tile_named_arrive(1, 128);
      tile_named_sync(2, 64);
      out[128 * n++ + t] = s[63 - t];
    } else {
      tile_named_sync(1, 128);
      out[128 * n++ + t] = s[127 - t];
    }
  }
}
"""


def test_barriers_of_a_block(agree, rng):
    x = rng.randint(0, 1000, (4, THREADS)).astype(np.int32)
    (out,) = agree(BLOCK, [x], [np.zeros((4, 4, THREADS), np.int32)], threads=THREADS)
    assert np.array_equal(out[:, 0, 0], np.sum(x & 1, 1))
    assert np.array_equal(out[:, 3], np.tile(x[:, 63::-1], 2))


PHASES = """
extern "C" __global__ void k(const int *steps, int *out) {
  __shared__ alignas(8) unsigned long long bar[1];
  if (threadIdx.x) return;
  tile_phase_init(bar, 5);
  unsigned at = tile_shared(bar);
  unsigned long long token = 0;
  asm volatile("mbarrier.arrive.shared::cta.b64 %0, [%1];" : "=l"(token) : "r"(at) : "memory");
  for (int i = 0; i < 200; i++) {
    int count = steps[i];
    if (count) {
      asm volatile("mbarrier.arrive.shared::cta.b64 %0, [%1], %2;"
                   : "=l"(token) : "r"(at), "r"(count) : "memory");
    }
    int seen = 0;
#pragma unroll
    for (int parity = 0; parity < 2; parity++) {
      int done;
      asm volatile("{\\n.reg .pred p;\\n"
                   "mbarrier.test_wait.parity.shared::cta.b64 p, [%1], %2;\\n"
                   "selp.b32 %0, 1, 0, p;\\n}" : "=r"(done) : "r"(at), "r"(parity) : "memory");
      seen |= done << parity;
    }
    int done;
    asm volatile("{\\n.reg .pred p;\\nmbarrier.test_wait.shared::cta.b64 p, [%1], %2;\\n"
                 "selp.b32 %0, 1, 0, p;\\n}" : "=r"(done) : "r"(at), "l"(token) : "memory");
    out[i] = seen | done << 2;
  }
}
"""


def test_phases_of_a_barrier(agree, rng):
    """Random arrivals by one thread: which phases are over after each. Bit 2 says whether the one
    is over that the last arrival belonged to."""
    steps, pending, phase, of_token, want = np.zeros(200, np.int32), 4, 0, 0, []
    for i in range(200):
        steps[i] = rng.randint(0, pending + 1)
        of_token = phase if steps[i] else of_token
        pending -= steps[i]
        if not pending:
            pending, phase = 5, phase + 1
        want.append((2 if phase % 2 == 0 else 1) | (phase != of_token) << 2)
    (out,) = agree(PHASES, [steps], [np.zeros(200, np.int32)])
    assert out.tolist() == want


RING = """
extern "C" __global__ void k(const int *x, int *out) {
  __shared__ alignas(8) unsigned long long full[3], empty[3];
  __shared__ int s[3][64];
  int t = threadIdx.x;
  if (t == 0) {
    for (int i = 0; i < 3; i++) tile_phase_init(&full[i], 64), tile_phase_init(&empty[i], 2);
    tile_phase_init_fence();
  }
  __syncthreads();
  for (int i = 0; i < 20; i++) {
    int slot = i % 3, parity = i / 3 % 2;
    if (t < 64) {
      tile_phase_wait(&empty[slot], parity ^ 1);
      s[slot][t] = x[i * 64 + t];
      tile_phase_arrive(&full[slot]);
    } else {
      tile_phase_wait(&full[slot], parity);
      out[i * 64 + t - 64] = s[slot][127 - t];
      __syncwarp();
      if (t % 32 == 0) tile_phase_arrive(&empty[slot]);
    }
  }
}
"""


def test_a_ring_of_slots(agree, rng):
    x = rng.randint(0, 1 << 30, (20, 64)).astype(np.int32)
    (out,) = agree(RING, [x], [np.zeros_like(x)], threads=THREADS)
    assert np.array_equal(out, x[:, ::-1])


COPIES = """
extern "C" __global__ void k(const char *x, const int *from, const int *valid, char *out) {{
  __shared__ alignas(16) char s[8][{bytes} * 32];
  int t = threadIdx.x;
  for (int i = 0; i < 8; i++) {{
    int n = i * 32 + t;
    tile_copy_async<{bytes}>(&s[i][t * {bytes}], x + from[n] * {bytes}, valid[n]);
    if (i % 2) tile_copy_commit();
  }}
#define AFTER(pending, rows) \\
  tile_copy_wait<pending>(); \\
  __syncwarp(); \\
  for (int i = 0; i < rows; i++) \\
    for (int j = 0; j < {bytes}; j++) \\
      out[(rows - 2 + i) * 32 * {bytes} + t * {bytes} + j] = s[i][(31 - t) * {bytes} + j];
  AFTER(3, 2)
  AFTER(0, 8)
}}
"""


@pytest.mark.parametrize("size", [4, 8, 16])
def test_groups_of_copies_with_fill(agree, rng, size):
    """What has to be there after each wait; bytes beyond the valid ones are zeros."""
    x = rng.randint(1, 256, 64 * size).astype(np.uint8)
    places = rng.randint(0, 64, (8, 32)).astype(np.int32)
    valid = rng.randint(0, size + 1, (8, 32)).astype(np.int32)
    given = [x, places, valid]
    (out,) = agree(COPIES.format(bytes=size), given, [np.zeros((14, 32, size), np.uint8)])
    copied = np.where(
        np.arange(size) < valid[..., None], x.reshape(64, size)[places], 0
    )  # rows of the block's memory
    assert np.array_equal(out[6:], copied[:, ::-1])
    assert np.array_equal(out[:2], copied[:2, ::-1])


BULK = """
extern "C" __global__ void k(const char *x, char *out) {
  extern __shared__ __align__(128) char s[];
  unsigned long long *bar = (unsigned long long *)(s + 4096);
  if (threadIdx.x == 0) {
    tile_phase_init(bar, 1);
    tile_phase_init_fence();
    tile_phase_expect(bar, 4096);
    tile_bulk_load(s + 2048, x, 2048, bar);
    tile_bulk_load(s, x + 2048, 1024, bar);
    tile_bulk_load(s + 1024, x + 3072, 1024, bar);
  }
  __syncthreads();
  tile_phase_wait(bar, 0);
  for (int i = threadIdx.x; i < 4096; i += 32) out[i] = s[i];
}
"""


def test_bulk_copies(agree, rng):
    x = rng.randint(0, 256, 4096).astype(np.uint8)
    (out,) = agree(BULK, [x], [np.zeros_like(x)], shared=4096 + 8)
    assert np.array_equal(out, np.concatenate([x[2048:], x[:2048]]))
