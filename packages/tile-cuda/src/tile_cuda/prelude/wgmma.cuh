/* Asynchronous matrix instructions of a warpgroup. A fence stands between ordinary use of the
 * registers and the first instruction of a group. */
TILE_FN void tile_wgmma_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }

TILE_FN void tile_wgmma_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }

template <int N>
TILE_FN void tile_wgmma_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(N) : "memory");
}

/* After a wait: keeps the compiler from moving reads of accumulators above it. */
template <int N>
TILE_FN void tile_settle(float *d) {
#pragma unroll
  for (int i = 0; i < N; i++) asm volatile("" : "+f"(d[i])::"memory");
}

template <int N>
TILE_FN void tile_settle(int *d) {
#pragma unroll
  for (int i = 0; i < N; i++) asm volatile("" : "+r"(d[i])::"memory");
}

/* How the matrix unit finds a tile in shared memory. `lead` and `stride` are bytes: between the
 * 128-byte wide columns of a tile whose contiguous axis is M or N (else unused), and between groups of
 * 8 rows. SWIZZLE: 1 for rows of 128 bytes, 2 for 64, 3 for 32, 0 for none. */
template <int SWIZZLE>
TILE_FN unsigned long long tile_descriptor(const void *p, int lead, int stride) {
  return (unsigned long long)((tile_shared(p) & 0x3ffff) >> 4) | (unsigned long long)(lead >> 4) << 16 |
         (unsigned long long)(stride >> 4) << 32 | (unsigned long long)SWIZZLE << 62;
}

/* The descriptor of a place so many times 16 bytes further on; the sum stays in the address's bits. */
TILE_FN unsigned long long tile_descriptor_plus(unsigned long long d, int chunks) {
  return (d & 0xffffffff00000000ull) | ((unsigned)d + (unsigned)chunks);
}

/* A store that is never taken and needs x: the assembler, which moves the next wait above arithmetic
 * that does not depend on it, keeps the computation of x in front. The sum has none of the bits asked
 * for: the only NaN that arithmetic gives is 0x7fffffff. */
TILE_FN void tile_pin(float x, void *anywhere) {
  asm volatile("{\n.reg .pred p;\n.reg .b32 s;\nadd.f32 s, %0, 0f00000000;\nsetp.eq.b32 p, s, 0x7fa00001;\n"
               "@p st.shared.b32 [%1], s;\n}" ::"f"(x),
               "r"(tile_shared(anywhere))
               : "memory");
}
