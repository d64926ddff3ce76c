/* Read-modify-write operations. One lock for all of memory: blocks run on several threads of the
 * host, and no type that atomics work on is rare enough to trust the host's own for the others. */

static pthread_mutex_t atomic_lock = PTHREAD_MUTEX_INITIALIZER;

static const u32 TYPE_BYTES[] = {4, 4, 8, 8, 4, 8, 2, 2, 4, 4, 2};

static u64 combine_integers(u32 op, u32 type, u64 old, u64 value, u64 other) {
  u32 bytes = TYPE_BYTES[type];
  u64 bits = bytes == 8 ? ~0ull : (1ull << 8 * bytes) - 1;
  int is_signed = type == EMU_S32 || type == EMU_S64;
  i64 a = bytes == 4 && is_signed ? (i32)old : (i64)old;
  i64 b = bytes == 4 && is_signed ? (i32)value : (i64)value;
  int less = is_signed ? a < b : (u64)a < (u64)b;
  switch (op) {
  case EMU_ADD: return (old + value) & bits;
  case EMU_MIN: return less ? old : value;
  case EMU_MAX: return less ? value : old;
  case EMU_AND: return old & value;
  case EMU_OR: return old | value;
  case EMU_XOR: return old ^ value;
  case EMU_EXCHANGE: return value;
  case EMU_COMPARE: return old == value ? other : old;
  case EMU_INC: return old >= value ? 0 : old + 1;
  default: return old == 0 || old > value ? value : old - 1;
  }
}

static double combine_floats(u32 op, double a, double b) {
  if (op == EMU_ADD) return a + b;
  return op == EMU_MIN ? fmin(a, b) : fmax(a, b);
}

static u16 combine_halves(u32 op, int is_bfloat, u16 old, u16 value) {
  if (is_bfloat) {
    u32 a = (u32)old << 16, b = (u32)value << 16;
    float x, y;
    memcpy(&x, &a, 4);
    memcpy(&y, &b, 4);
    return emu_f32_to_bf16(combine_floats(op, x, y), EMU_NEAREST);
  }
  double x = emu_f16_to_f32(old), y = emu_f16_to_f32(value);
  return emu_f32_to_f16(combine_floats(op, x, y), EMU_NEAREST);
}

static u64 combine(u32 op, u32 type, u64 old, u64 value, u64 other) {
  if (op >= EMU_AND) return combine_integers(op, type, old, value, other);
  int is_bfloat = type == EMU_BF16 || type == EMU_BF16X2;
  switch (type) {
  case EMU_F32: {
    float a, b;
    memcpy(&a, &old, 4);
    memcpy(&b, &value, 4);
    a = op == EMU_ADD ? a + b : (float)combine_floats(op, a, b);
    u32 bits;
    memcpy(&bits, &a, 4);
    return bits;
  }
  case EMU_F64: {
    double a, b;
    memcpy(&a, &old, 8);
    memcpy(&b, &value, 8);
    a = combine_floats(op, a, b);
    memcpy(&old, &a, 8);
    return old;
  }
  case EMU_F16:
  case EMU_BF16: return combine_halves(op, is_bfloat, (u16)old, (u16)value);
  case EMU_F16X2:
  case EMU_BF16X2:
    return combine_halves(op, is_bfloat, (u16)old, (u16)value) |
           (u64)combine_halves(op, is_bfloat, (u16)(old >> 16), (u16)(value >> 16)) << 16;
  default: return combine_integers(op, type, old, value, other);
  }
}

/* The bytes of a word that an operation on a part of it has changed. */
static void note_changed(struct emu_thread *t, u32 at, struct region *r, u64 address, u64 changed) {
  u32 first = (u32)__builtin_ctzll(changed) / 8, last = 7 - (u32)__builtin_clzll(changed) / 8;
  note_global(t, at, r, address + first, last - first + 1, GLOBAL_WRITE | GLOBAL_STRONG);
}

u64 emu_atomic(struct emu_thread *t, u32 at, u32 space, u32 op, u32 type, u64 address, u64 value,
               u64 other) {
  u32 bytes = TYPE_BYTES[type];
  char *place, *mask = NULL;
  struct region *r = NULL;
  u32 blind = space & EMU_BLIND, part = space & EMU_PART;
  gang_of(t)->counters[COUNT_ATOMICS]++;
  if (space & EMU_PUBLISH) emu_fence(t, 1);
  space = space_of(t, space & 15, &address);
  if (space == EMU_GLOBAL) {
    r = part ? part_region(t, at, address, bytes) : global_region(t, at, address, bytes, bytes, 1);
    if (!part) note_global(t, at, r, address, bytes, GLOBAL_WRITE | GLOBAL_STRONG);
    place = (char *)(uintptr_t)address;
    if (r->mask) mask = r->mask + (address - r->base);
  } else if (space == EMU_LOCAL) {
    u64 offset = local_offset(t, at, address, bytes);
    place = t->local + offset, mask = t->local_mask + offset;
  } else {
    struct emu_block *home;
    place = shared_place(t, at, address, bytes, bytes, &home);
    mask = home->mask + (place - home->shared);
  }
  if (part) mask = NULL;
  if (mask && op != EMU_EXCHANGE && any_bit(mask, bytes))
    fail(t, at, "uninitialized", "an atomic operation on memory that was never written");
  u64 old = 0;
  pthread_mutex_lock(&atomic_lock);
  copy_bytes(&old, place, bytes);
  u64 now = combine(op, type, old, value, other);
  copy_bytes(place, &now, bytes);
  pthread_mutex_unlock(&atomic_lock);
  if (part && r && now != old) note_changed(t, at, r, address, now ^ old);
  if (!blind) look_around(t);
  if (mask) memset(mask, 0, bytes);
  /* A thread that finds what it wrote itself, or failed to change anything, may be in a loop. */
  if (op == EMU_COMPARE ? old != value : now == old) emu_yield(t, at);
  return old;
}
