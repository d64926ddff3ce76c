/* Copies of the thread's own 4, 8 or 16 bytes from global to shared memory, without registers; of
 * `valid` bytes, the rest becomes zero. 16 bytes go past the first-level cache. */
template <int BYTES, typename Place>
TILE_FN void tile_copy_async(Place dst, const void *src, int valid = BYTES) {
  if constexpr (BYTES == 16) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(tile_shared(dst)), "l"(src),
                 "r"(valid)
                 : "memory");
  } else {
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(tile_shared(dst)), "l"(src),
                 "n"(BYTES), "r"(valid)
                 : "memory");
  }
}

TILE_FN void tile_copy_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }

/* Wait until at most N of this thread's groups are unfinished. */
template <int N>
TILE_FN void tile_copy_wait() {
  asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory");
}
