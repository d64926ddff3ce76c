/* A description of a tensor for the bulk copy engine, made by the host. */
struct alignas(64) tile_tensor_map {
  unsigned long long opaque[16];
};

TILE_FN void tile_prefetch_map(const tile_tensor_map *map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory");
}

/* Contiguous bytes, a multiple of 16. */
TILE_FN void tile_bulk_load(void *dst, const void *src, int bytes, void *bar) {
  asm volatile(
      "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
          tile_shared(dst)),
      "l"(src), "r"(bytes), "r"(tile_shared(bar))
      : "memory");
}

TILE_FN void tile_bulk_commit() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }

/* Wait until at most N groups of stores are unfinished, or have not yet read shared memory. */
template <int N>
TILE_FN void tile_bulk_wait() {
  asm volatile("cp.async.bulk.wait_group %0;" ::"n"(N) : "memory");
}

template <int N>
TILE_FN void tile_bulk_wait_read() {
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(N) : "memory");
}

/* What this thread wrote to shared memory is seen by the engines (bulk copies, matrix units). */
TILE_FN void tile_fence_async() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
