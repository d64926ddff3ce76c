/* All lanes of the warp take part. A value of at most 4 bytes travels in one shuffle. */
template <class T>
TILE_FN T tile_shuffle_xor(T x, int mask) {
  return __shfl_xor_sync(0xffffffffu, x, mask);
}

template <class T>
TILE_FN T tile_shuffle_idx(T x, int lane) {
  return __shfl_sync(0xffffffffu, x, lane);
}

TILE_FN int tile_lane() { return (int)(threadIdx.x & 31); }

/* By an exchange: from it the compiler knows that the number is equal in a warp. */
TILE_FN int tile_warp() { return __shfl_sync(0xffffffffu, (int)(threadIdx.x >> 5), 0); }

TILE_FN bool tile_any(bool x) { return __any_sync(0xffffffffu, x); }

/* One lane of the warp, the same at every call. */
TILE_FN bool tile_elect() {
#if __CUDA_ARCH__ >= 900
  unsigned chosen;
  asm volatile(
      "{\n.reg .pred p;\nbar.warp.sync 0xffffffff;\nelect.sync _|p, 0xffffffff;\n"
      "selp.u32 %0, 1, 0, p;\n}" : "=r"(chosen)::"memory");
  return chosen != 0;
#else
  return (threadIdx.x & 31) == 0;
#endif
}

/* Named barriers: 0 is that of __syncthreads; `threads` is a multiple of 32. */
TILE_FN void tile_named_sync(int barrier, int threads) {
  asm volatile("bar.sync %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
}

TILE_FN void tile_named_arrive(int barrier, int threads) {
  asm volatile("bar.arrive %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
}

/* Hand registers between warpgroups; all threads of a warpgroup execute it. */
template <int N>
TILE_FN void tile_registers_more() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(N));
}

template <int N>
TILE_FN void tile_registers_less() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(N));
}

TILE_FN void tile_cluster_arrive() {
  asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
}

TILE_FN void tile_cluster_wait() {
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}

TILE_FN int tile_cluster_rank() {
  int r;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(r));
  return r;
}

/* Dependent launch: let the next kernel start, and wait for the one in front. */
TILE_FN void tile_launch_dependents() { asm volatile("griddepcontrol.launch_dependents;" ::: "memory"); }

TILE_FN void tile_wait_dependency() { asm volatile("griddepcontrol.wait;" ::: "memory"); }

/* The tile that a block takes as its next one when every other full round of tiles is dealt
   backwards, the last full one among them. */
TILE_FN int tile_snake(int turn, int tiles, int blocks) {
  const int round = turn / blocks, back = tiles / blocks - 1 - round;
  return back >= 0 && back % 2 == 0 ? (2 * round + 1) * blocks - 1 - turn : turn;
}

/* A tile that no block of this launch has: the first ones are the blocks' own, the others are drawn.
   A launch draws once for each tile, and the counter goes round in a circle of that many values: it
   begins with zero and ends there. */
TILE_FN int tile_claim(unsigned *counter, int tiles, int first) {
  return (int)atomicInc(counter, (unsigned)tiles - 1) + first;
}

/* A word into the memory of a block of the cluster, whose barrier there gets 4 bytes. */
TILE_FN void tile_send(int *to, int value, unsigned long long *bar, int peer) {
  asm volatile(
      "{\n.reg .b32 a, b;\nmapa.shared::cluster.u32 a, %0, %3;\n"
      "mapa.shared::cluster.u32 b, %2, %3;\n"
      "st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [a], %1, [b];\n}" ::"r"(
          tile_shared(to)),
      "r"(value), "r"(tile_shared(bar)), "r"(peer)
      : "memory");
}
