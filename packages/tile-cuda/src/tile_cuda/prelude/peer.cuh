/* A few bytes of this block's shared memory into that of another block of the cluster, at the same
 * place of which `to` is the address here. */
template <int BYTES>
TILE_FN void tile_put_peer_word(unsigned to, unsigned from) {
  if constexpr (BYTES == 1) {
    asm volatile(
        "{\n.reg .b16 v;\nld.shared.u8 v, [%1];\nst.shared::cluster.u8 [%0], v;\n}" ::"r"(to),
        "r"(from)
        : "memory");
  } else if constexpr (BYTES == 2) {
    asm volatile(
        "{\n.reg .b16 v;\nld.shared.u16 v, [%1];\nst.shared::cluster.u16 [%0], v;\n}" ::"r"(to),
        "r"(from)
        : "memory");
  } else {
    asm volatile(
        "{\n.reg .b32 v;\nld.shared.u32 v, [%1];\nst.shared::cluster.u32 [%0], v;\n}" ::"r"(to),
        "r"(from)
        : "memory");
  }
}

TILE_FN unsigned tile_of_peer(unsigned place, int peer) {
  unsigned there;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(place), "r"(peer));
  return there;
}

template <int BYTES, typename To, typename From>
TILE_FN void tile_put_peer(To to, From from, int peer) {
  constexpr int WORD = BYTES < 4 ? BYTES : 4;
  const unsigned there = tile_of_peer(tile_shared(to), peer), here = tile_shared(from);
#pragma unroll
  for (int i = 0; i < BYTES; i += WORD) tile_put_peer_word<WORD>(there + i, here + i);
}

/* Words of this thread's registers into another block's memory, counted by its barrier. */
template <int BYTES>
TILE_FN void tile_send_words(const void *to, const void *from, void *bar, int peer) {
  const unsigned there = tile_of_peer(tile_shared(to), peer);
  const unsigned told = tile_of_peer(tile_shared(bar), peer);
  const unsigned *w = (const unsigned *)from;
  if constexpr (BYTES == 16) {
    asm volatile(
        "st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [%0], {%1, %2, %3, %4}, "
        "[%5];" ::"r"(there),
        "r"(w[0]), "r"(w[1]), "r"(w[2]), "r"(w[3]), "r"(told)
        : "memory");
  } else {
#pragma unroll
    for (int i = 0; i < BYTES / 4; i++) {
      asm volatile(
          "st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [%0], %1, [%2];" ::"r"(
              there + 4 * i),
          "r"(w[i]), "r"(told)
          : "memory");
    }
  }
}

/* The same, counted by that block's barrier at the place of `bar`. */
template <int BYTES, typename To, typename From>
TILE_FN void tile_send_peer(To to, From from, void *bar, int peer) {
  const unsigned there = tile_of_peer(tile_shared(to), peer), here = tile_shared(from);
  const unsigned told = tile_of_peer(tile_shared(bar), peer);
#pragma unroll
  for (int i = 0; i < BYTES; i += 4) {
    asm volatile(
        "{\n.reg .b32 v;\nld.shared.u32 v, [%1];\n"
        "st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%0], v, [%2];\n}" ::"r"(
            there + i),
        "r"(here + i), "r"(told)
        : "memory");
  }
}
