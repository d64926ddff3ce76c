/* Read, combine, write, as one step that no other thread sees inside; the value from before is
 * returned. f(old) gives the new value. Words of 32 and 64 bits have an instruction; smaller ones
 * are exchanged inside the word that holds them. */
template <class F>
TILE_FN unsigned tile_atomic_word(unsigned *p, F f) {
  unsigned old = *(volatile unsigned *)p, seen;
  do {
    seen = old;
    old = atomicCAS(p, seen, f(seen));
  } while (old != seen);
  return old;
}

template <class F>
TILE_FN unsigned long long tile_atomic_wide(unsigned long long *p, F f) {
  unsigned long long old = *(volatile unsigned long long *)p, seen;
  do {
    seen = old;
    old = atomicCAS(p, seen, f(seen));
  } while (old != seen);
  return old;
}

template <class T, class F>
TILE_FN T tile_atomic_loop(T *p, F f) {
  if constexpr (sizeof(T) == 8) {
    return tile_bits_to<T>(tile_atomic_wide((unsigned long long *)p, [&](unsigned long long old) {
      return tile_bits_of<unsigned long long>(f(tile_bits_to<T>(old)));
    }));
  } else if constexpr (sizeof(T) == 4) {
    return tile_bits_to<T>(tile_atomic_word((unsigned *)p, [&](unsigned old) {
      return tile_bits_of<unsigned>(f(tile_bits_to<T>(old)));
    }));
  } else {
    unsigned long long address = (unsigned long long)p;
    unsigned shift = (unsigned)(address & 3) * 8, mask = (1u << (8 * sizeof(T))) - 1;
    unsigned old = tile_atomic_word((unsigned *)(address & ~3ull), [&](unsigned word) {
      unsigned changed = (unsigned)f((T)(word >> shift & mask)) & mask;
      return (word & ~(mask << shift)) | changed << shift;
    });
    return (T)(old >> shift & mask);
  }
}

template <class T, class B>
TILE_FN T tile_bits_to(B bits) {
  static_assert(sizeof(T) == sizeof(B), "the same bits");
  T r;
  memcpy(&r, &bits, sizeof(T));
  return r;
}

template <class B, class T>
TILE_FN B tile_bits_of(T x) {
  static_assert(sizeof(T) == sizeof(B), "the same bits");
  B r;
  memcpy(&r, &x, sizeof(B));
  return r;
}

/* On the codes of 16-bit floats; subnormals count. */
TILE_FN unsigned short tile_atomic_add_f16(unsigned short *p, unsigned short v) {
  unsigned short old;
  asm volatile("atom.add.noftz.f16 %0, [%1], %2;" : "=h"(old) : "l"(p), "h"(v) : "memory");
  return old;
}

TILE_FN unsigned short tile_atomic_add_bf16(unsigned short *p, unsigned short v) {
  unsigned short old;
  asm volatile("atom.add.noftz.bf16 %0, [%1], %2;" : "=h"(old) : "l"(p), "h"(v) : "memory");
  return old;
}

/* Neighbours in global memory by one instruction (sm_90); nothing is returned. */
TILE_FN void tile_reduce_add_f32x2(float *p, float a, float b) {
  asm volatile("red.global.add.v2.f32 [%0], {%1, %2};" ::"l"(p), "f"(a), "f"(b) : "memory");
}

TILE_FN void tile_reduce_add_f32x4(float *p, float a, float b, float c, float d) {
  asm volatile("red.global.add.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(p), "f"(a), "f"(b), "f"(c),
               "f"(d)
               : "memory");
}

/* What a thread wrote before is seen by the device before what it writes after, and the other way
 * round for what it reads. */
TILE_FN void tile_fence_acq_rel() { asm volatile("fence.acq_rel.gpu;" ::: "memory"); }

/* The same, in one order for all threads of the device. */
TILE_FN void tile_fence_seq_cst() { asm volatile("fence.sc.gpu;" ::: "memory"); }
