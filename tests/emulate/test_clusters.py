"""Blocks of a cluster: barriers of peers, their memory, and copies to several of them."""

import numpy as np
import pytest

from tile_cpu.emulator import options
from tile_ir.diag import TileError

PEERS = """
extern "C" __global__ void __cluster_dims__(2, 1, 1) __launch_bounds__(64) k(int *out) {
  __shared__ int s[64];
  int t = threadIdx.x;
  unsigned own = (unsigned)__cvta_generic_to_shared(&s[t]), rank, peer;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  // user.py:6: peer
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(peer) : "r"(own), "r"(rank ^ 1));
  asm volatile("st.shared::cluster.u32 [%0], %1;" ::"r"(peer), "r"(1000 * rank + t) : "memory");
  ARRIVE
  // user.py:8: read
  out[blockIdx.x * 64 + t] = s[t];
}
"""
SYNC = """asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");"""


@pytest.mark.parametrize("schedule", ["round-robin", "reverse", "random"])
def test_peers_exchange_through_shared_memory(from_cuda, schedule):
    out = np.zeros(4 * 64, np.int32)
    with options(schedule=schedule):
        from_cuda(PEERS.replace("ARRIVE", SYNC), 1, 64, blocks=4)(out)
    want = [1000 * (1 - rank) + t for _ in range(2) for rank in range(2) for t in range(64)]
    assert out.tolist() == want


def test_without_the_clusters_barrier(from_cuda):
    run = from_cuda(PEERS.replace("ARRIVE", "__syncthreads();"), 1, 64, blocks=2)
    with pytest.raises(TileError) as caught:
        run(np.zeros(128, np.int32))
    assert caught.value.code in ("E2305", "E2306")
