/* A description of a tensor for the bulk copy engine, made by the host. */
struct alignas(64) tile_tensor_map {
  unsigned long long opaque[16];
};

TILE_FN void tile_prefetch_map(const tile_tensor_map *map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory");
}

/* One thread copies a box of a tensor to shared memory; its bytes arrive at `bar`. Coordinates are
 * innermost first; what lies outside arrives as zeros. */
TILE_FN void tile_box_load_1d(void *dst, const tile_tensor_map *map, void *bar, int x) {
  asm volatile(
      "cp.async.bulk.tensor.1d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, "
      "{%3}], [%2];" ::"r"(tile_shared(dst)),
      "l"(map), "r"(tile_shared(bar)), "r"(x)
      : "memory");
}

TILE_FN void tile_box_load_2d(void *dst, const tile_tensor_map *map, void *bar, int x, int y) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, "
      "{%3, %4}], [%2];" ::"r"(tile_shared(dst)),
      "l"(map), "r"(tile_shared(bar)), "r"(x), "r"(y)
      : "memory");
}

TILE_FN void tile_box_load_3d(void *dst, const tile_tensor_map *map, void *bar, int x, int y, int z) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, "
      "{%3, %4, %5}], [%2];" ::"r"(tile_shared(dst)),
      "l"(map), "r"(tile_shared(bar)), "r"(x), "r"(y), "r"(z)
      : "memory");
}

TILE_FN void tile_box_load_4d(void *dst, const tile_tensor_map *map, void *bar, int x, int y, int z,
                              int w) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, "
      "{%3, %4, %5, %6}], [%2];" ::"r"(tile_shared(dst)),
      "l"(map), "r"(tile_shared(bar)), "r"(x), "r"(y), "r"(z), "r"(w)
      : "memory");
}

/* The same box to every block of `mask`, at the same place, each with its own barrier. */
TILE_FN void tile_box_multicast_2d(void *dst, const tile_tensor_map *map, void *bar, int x, int y,
                                   unsigned short mask) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::"
      "cluster [%0], [%1, {%3, %4}], [%2], %5;" ::"r"(tile_shared(dst)),
      "l"(map), "r"(tile_shared(bar)), "r"(x), "r"(y), "h"(mask)
      : "memory");
}

TILE_FN void tile_box_prefetch_2d(const tile_tensor_map *map, int x, int y) {
  asm volatile("cp.async.bulk.prefetch.tensor.2d.L2.global.tile [%0, {%1, %2}];" ::"l"(map), "r"(x),
               "r"(y)
               : "memory");
}

/* Contiguous bytes, a multiple of 16. */
TILE_FN void tile_bulk_load(void *dst, const void *src, int bytes, void *bar) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
          tile_shared(dst)),
      "l"(src), "r"(bytes), "r"(tile_shared(bar))
      : "memory");
}

/* Shared memory to a box; what lies outside of the tensor is dropped. */
TILE_FN void tile_box_store_2d(const tile_tensor_map *map, const void *src, int x, int y) {
  asm volatile(
      "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%2, %3}], [%1];" ::"l"(map),
      "r"(tile_shared(src)), "r"(x), "r"(y)
      : "memory");
}

TILE_FN void tile_box_store_3d(const tile_tensor_map *map, const void *src, int x, int y, int z) {
  asm volatile(
      "cp.async.bulk.tensor.3d.global.shared::cta.tile.bulk_group [%0, {%2, %3, %4}], [%1];" ::"l"(
          map),
      "r"(tile_shared(src)), "r"(x), "r"(y), "r"(z)
      : "memory");
}

TILE_FN void tile_box_add_2d(const tile_tensor_map *map, const void *src, int x, int y) {
  asm volatile(
      "cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group [%0, {%2, %3}], [%1];" ::
          "l"(map),
      "r"(tile_shared(src)), "r"(x), "r"(y)
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
