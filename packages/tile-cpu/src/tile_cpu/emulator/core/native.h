/* In front of kernels that are compiled for this processor (C++17): what the compiler's memory
 * sanitizer calls. Where a call came from, counted from the start of the library, is the position
 * in the program that reports name. */
#define EMU_UNSEEN __attribute__((noinline, nodebug, disable_sanitizer_instrumentation))
#define EMU_HIDDEN extern "C" __attribute__((visibility("hidden")))
EMU_HIDDEN const char __ehdr_start[], _end[];
#define EMU_HERE ((u32)((const char *)__builtin_return_address(0) - __ehdr_start))
#define EMU_IMAGE __ehdr_start, (u64)(_end - __ehdr_start)

struct emu_mask {
  void *bits, *origin;
};

#define EMU_ACCESS(BYTES)                                                            \
  EMU_HIDDEN EMU_UNSEEN emu_mask __msan_metadata_ptr_for_load_##BYTES(void *p) {     \
    return {emu_native_access(EMU_HERE, p, BYTES, 0), nullptr};                      \
  }                                                                                  \
  EMU_HIDDEN EMU_UNSEEN emu_mask __msan_metadata_ptr_for_store_##BYTES(void *p) {    \
    return {emu_native_access(EMU_HERE, p, BYTES, 1), nullptr};                      \
  }
EMU_ACCESS(1)
EMU_ACCESS(2)
EMU_ACCESS(4)
EMU_ACCESS(8)
EMU_HIDDEN EMU_UNSEEN emu_mask __msan_metadata_ptr_for_load_n(void *p, u64 bytes) {
  return {emu_native_access(EMU_HERE, p, bytes, 0), nullptr};
}
EMU_HIDDEN EMU_UNSEEN emu_mask __msan_metadata_ptr_for_store_n(void *p, u64 bytes) {
  return {emu_native_access(EMU_HERE, p, bytes, 1), nullptr};
}
EMU_HIDDEN EMU_UNSEEN void *__msan_get_context_state() { return emu_native_state(); }
EMU_HIDDEN EMU_UNSEEN void __msan_poison_alloca(void *p, u64 bytes, const char *) {
  emu_native_mark(p, bytes, 1);
}
EMU_HIDDEN EMU_UNSEEN void __msan_unpoison_alloca(void *p, u64 bytes) {
  emu_native_mark(p, bytes, 0);
}
EMU_HIDDEN EMU_UNSEEN void *__msan_memcpy(void *to, const void *from, u64 bytes) {
  emu_native_move(EMU_HERE, to, from, bytes);
  return to;
}
EMU_HIDDEN EMU_UNSEEN void *__msan_memmove(void *to, const void *from, u64 bytes) {
  emu_native_move(EMU_HERE, to, from, bytes);
  return to;
}
EMU_HIDDEN EMU_UNSEEN void *__msan_memset(void *to, int value, u64 bytes) {
  emu_native_fill(EMU_HERE, to, (u32)value, bytes);
  return to;
}
EMU_HIDDEN EMU_UNSEEN void __msan_warning(u32) { emu_native_unknown(EMU_HERE); }

/* Processors without an instruction for it call this to round to bf16. */
EMU_HIDDEN EMU_UNSEEN __bf16 __truncsfbf2(float x) {
  return __builtin_bit_cast(__bf16, emu_f32_to_bf16(x, EMU_NEAREST));
}
EMU_HIDDEN EMU_UNSEEN __bf16 __truncdfbf2(double x) {
  return __builtin_bit_cast(__bf16, emu_f32_to_bf16(x, EMU_NEAREST));
}

/* ---- for what targets add ---- */

#define EMU_INLINE static inline __attribute__((always_inline))
#define EMU_SELF ((struct emu_thread *)emu_native_self())

EMU_UNSEEN static void emu_send(const char *name, void *word, u32 lane) {
  emu_native_exchange(EMU_HERE, name, word, lane);
}
EMU_UNSEEN static void emu_sync_lanes() { emu_native_sync_lanes(EMU_HERE); }
EMU_UNSEEN static void emu_sync() { emu_barrier(EMU_SELF, EMU_HERE, 0, 0, 0); }
EMU_UNSEEN static unsigned char *emu_arena() { return (unsigned char *)EMU_SELF->shared; }
EMU_UNSEEN static u32 emu_lane() { return EMU_SELF->lane; }

/* The type of atomic operations on T. */
template <class T> struct emu_kind;
template <> struct emu_kind<int> { enum { VALUE = EMU_S32 }; };
template <> struct emu_kind<unsigned> { enum { VALUE = EMU_U32 }; };
template <> struct emu_kind<long> { enum { VALUE = EMU_S64 }; };
template <> struct emu_kind<unsigned long> { enum { VALUE = EMU_U64 }; };
template <> struct emu_kind<long long> { enum { VALUE = EMU_S64 }; };
template <> struct emu_kind<unsigned long long> { enum { VALUE = EMU_U64 }; };
template <> struct emu_kind<float> { enum { VALUE = EMU_F32 }; };
template <> struct emu_kind<double> { enum { VALUE = EMU_F64 }; };

EMU_UNSEEN static u64 emu_atomic_bits(u32 op, u32 type, u64 address, u64 value, u64 other) {
  return emu_atomic(EMU_SELF, EMU_HERE, EMU_GENERIC, op, type, address, value, other);
}
EMU_UNSEEN static u64 emu_atomic_part(u32 op, u32 type, u64 address, u64 value, u64 other) {
  return emu_atomic(EMU_SELF, EMU_HERE, EMU_GENERIC | EMU_PART, op, type, address, value, other);
}
template <class T>
EMU_INLINE u64 emu_bits(T x) {
  if constexpr (sizeof(T) == 8) return __builtin_bit_cast(u64, x);
  else return __builtin_bit_cast(u32, x);
}
template <class T>
EMU_INLINE T emu_value(u64 bits) {
  if constexpr (sizeof(T) == 8) return __builtin_bit_cast(T, bits);
  else return __builtin_bit_cast(T, (u32)bits);
}
template <class T>
EMU_INLINE T emu_rmw(u32 op, u64 address, T x) {
  return emu_value<T>(emu_atomic_bits(op, emu_kind<T>::VALUE, address, emu_bits(x), 0));
}
/* Loops that change less than a word read the whole word, and replace it if it is still the same. */
template <class T>
EMU_INLINE T emu_look(u64 address) {
  return emu_value<T>(emu_atomic_part(EMU_OR, emu_kind<T>::VALUE, address, 0, 0));
}
template <class T>
EMU_INLINE bool emu_replace(u64 address, T *expected, T wanted) {
  u64 had = emu_atomic_part(EMU_COMPARE, emu_kind<T>::VALUE, address, emu_bits(*expected),
                            emu_bits(wanted));
  bool same = had == emu_bits(*expected);
  *expected = emu_value<T>(had);
  return same;
}
