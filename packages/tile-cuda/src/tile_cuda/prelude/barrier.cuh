/* Barriers in shared memory that count arrivals (and bytes) and flip a parity. `bar` is a pointer
 * to 8 bytes; one thread initialises it, then all synchronise. */
TILE_FN void tile_phase_init(void *bar, int count) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(tile_shared(bar)), "r"(count)
               : "memory");
}

TILE_FN void tile_phase_init_fence() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

TILE_FN void tile_phase_arrive(void *bar) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(tile_shared(bar)) : "memory");
}

/* Arrive, and expect so many more bytes from copy engines. */
TILE_FN void tile_phase_expect(void *bar, int bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(tile_shared(bar)),
               "r"(bytes)
               : "memory");
}

/* Expect so many more bytes, without arriving. */
TILE_FN void tile_phase_announce(void *bar, int bytes) {
  asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], %1;" ::"r"(tile_shared(bar)),
               "r"(bytes)
               : "memory");
}

/* Arrive at the same barrier of another block of the cluster. Without `.release.cluster`, which would
 * be a fence of the whole device: what was read is settled before by the caller's wait. */
TILE_FN void tile_phase_arrive_at(void *bar, int block) {
  asm volatile(
      "{\n.reg .b32 r;\nmapa.shared::cluster.u32 r, %0, %1;\n"
      "mbarrier.arrive.shared::cluster.b64 _, [r];\n}" ::"r"(tile_shared(bar)),
      "r"(block)
      : "memory");
}

/* The loop stands inside the assembly: written in C++ it costs registers. */
TILE_FN void tile_phase_wait(void *bar, int parity) {
  asm volatile(
      "{\n.reg .pred p;\nW:\nmbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n"
      "@p bra D;\nbra W;\nD:\n}" ::"r"(tile_shared(bar)),
      "r"(parity)
      : "memory");
}

/* The same with what threads of the whole cluster wrote made visible. */
TILE_FN void tile_phase_arrive_wide(void *bar) {
  asm volatile("mbarrier.arrive.release.cluster.shared::cta.b64 _, [%0];" ::"r"(tile_shared(bar))
               : "memory");
}

TILE_FN void tile_phase_arrive_wide_at(void *bar, int block) {
  asm volatile(
      "{\n.reg .b32 r;\nmapa.shared::cluster.u32 r, %0, %1;\n"
      "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [r];\n}" ::"r"(tile_shared(bar)),
      "r"(block)
      : "memory");
}

TILE_FN void tile_phase_wait_wide(void *bar, int parity) {
  asm volatile(
      "{\n.reg .pred p;\nW:\n"
      "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%0], %1;\n"
      "@p bra D;\nbra W;\nD:\n}" ::"r"(tile_shared(bar)),
      "r"(parity)
      : "memory");
}
