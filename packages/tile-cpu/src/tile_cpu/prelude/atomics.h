/* Read, combine, write, as one step that no other thread sees inside; the value from before is
 * returned. Types without an instruction take a compare-and-exchange loop. */
TILE_FN DT_t tile_atomic_add_DT(DT_t *p, DT_t v) {
  return __atomic_fetch_add(p, v, __ATOMIC_SEQ_CST);
}

TILE_FN DT_t tile_atomic_and_DT(DT_t *p, DT_t v) {
  return __atomic_fetch_and(p, v, __ATOMIC_SEQ_CST);
}

TILE_FN DT_t tile_atomic_or_DT(DT_t *p, DT_t v) {
  return __atomic_fetch_or(p, v, __ATOMIC_SEQ_CST);
}

TILE_FN DT_t tile_atomic_xor_DT(DT_t *p, DT_t v) {
  return __atomic_fetch_xor(p, v, __ATOMIC_SEQ_CST);
}

TILE_FN DT_t tile_atomic_exchange_DT(DT_t *p, DT_t v) {
  return __atomic_exchange_n(p, v, __ATOMIC_SEQ_CST);
}

TILE_FN DT_t tile_atomic_max_DT(DT_t *p, DT_t v) {
  DT_t old = __atomic_load_n(p, __ATOMIC_SEQ_CST);
  while (v > old &&
         !__atomic_compare_exchange_n(p, &old, v, 1, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {}
  return old;
}

TILE_FN DT_t tile_atomic_min_DT(DT_t *p, DT_t v) {
  DT_t old = __atomic_load_n(p, __ATOMIC_SEQ_CST);
  while (v < old &&
         !__atomic_compare_exchange_n(p, &old, v, 1, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {}
  return old;
}

/* Floats by their bits; f16 and bf16 are passed and returned as f32. */
TILE_FN f32_t tile_atomic_add_f32(f32_t *p, f32_t v) {
  u32_t *bits = (u32_t *)p, old = __atomic_load_n(bits, __ATOMIC_SEQ_CST), next;
  f32_t value;
  do {
    value = tile_from_bits_f32(old);
    next = tile_bits_f32(value + v);
  } while (!__atomic_compare_exchange_n(bits, &old, next, 1, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST));
  return value;
}

TILE_FN f32_t tile_atomic_max_f32(f32_t *p, f32_t v) {
  u32_t *bits = (u32_t *)p, old = __atomic_load_n(bits, __ATOMIC_SEQ_CST), next;
  f32_t value;
  do {
    value = tile_from_bits_f32(old);
    next = tile_bits_f32(tile_max_f32(value, v));
  } while (!__atomic_compare_exchange_n(bits, &old, next, 1, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST));
  return value;
}

TILE_FN f32_t tile_atomic_min_f32(f32_t *p, f32_t v) {
  u32_t *bits = (u32_t *)p, old = __atomic_load_n(bits, __ATOMIC_SEQ_CST), next;
  f32_t value;
  do {
    value = tile_from_bits_f32(old);
    next = tile_bits_f32(tile_min_f32(value, v));
  } while (!__atomic_compare_exchange_n(bits, &old, next, 1, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST));
  return value;
}

TILE_FN f32_t tile_atomic_exchange_f32(f32_t *p, f32_t v) {
  u32_t *bits = (u32_t *)p, old = __atomic_load_n(bits, __ATOMIC_SEQ_CST), next;
  f32_t value;
  do {
    value = tile_from_bits_f32(old);
    next = tile_bits_f32(v);
  } while (!__atomic_compare_exchange_n(bits, &old, next, 1, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST));
  return value;
}

TILE_FN f64_t tile_atomic_add_f64(f64_t *p, f64_t v) {
  u64_t *bits = (u64_t *)p, old = __atomic_load_n(bits, __ATOMIC_SEQ_CST), next;
  f64_t value;
  do {
    value = tile_from_bits_f64(old);
    next = tile_bits_f64(value + v);
  } while (!__atomic_compare_exchange_n(bits, &old, next, 1, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST));
  return value;
}

TILE_FN f64_t tile_atomic_max_f64(f64_t *p, f64_t v) {
  u64_t *bits = (u64_t *)p, old = __atomic_load_n(bits, __ATOMIC_SEQ_CST), next;
  f64_t value;
  do {
    value = tile_from_bits_f64(old);
    next = tile_bits_f64(tile_max_f64(value, v));
  } while (!__atomic_compare_exchange_n(bits, &old, next, 1, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST));
  return value;
}

TILE_FN f64_t tile_atomic_min_f64(f64_t *p, f64_t v) {
  u64_t *bits = (u64_t *)p, old = __atomic_load_n(bits, __ATOMIC_SEQ_CST), next;
  f64_t value;
  do {
    value = tile_from_bits_f64(old);
    next = tile_bits_f64(tile_min_f64(value, v));
  } while (!__atomic_compare_exchange_n(bits, &old, next, 1, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST));
  return value;
}

TILE_FN f64_t tile_atomic_exchange_f64(f64_t *p, f64_t v) {
  u64_t *bits = (u64_t *)p, old = __atomic_load_n(bits, __ATOMIC_SEQ_CST), next;
  f64_t value;
  do {
    value = tile_from_bits_f64(old);
    next = tile_bits_f64(v);
  } while (!__atomic_compare_exchange_n(bits, &old, next, 1, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST));
  return value;
}

TILE_FN f32_t tile_atomic_add_f16(f16_t *p, f32_t v) {
  u16_t *bits = (u16_t *)p, old = __atomic_load_n(bits, __ATOMIC_SEQ_CST), next;
  f32_t value;
  do {
    value = tile_f16_to_f32(old);
    next = tile_f32_to_f16(value + v);
  } while (!__atomic_compare_exchange_n(bits, &old, next, 1, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST));
  return value;
}

TILE_FN f32_t tile_atomic_max_f16(f16_t *p, f32_t v) {
  u16_t *bits = (u16_t *)p, old = __atomic_load_n(bits, __ATOMIC_SEQ_CST), next;
  f32_t value;
  do {
    value = tile_f16_to_f32(old);
    next = tile_f32_to_f16(tile_max_f32(value, v));
  } while (!__atomic_compare_exchange_n(bits, &old, next, 1, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST));
  return value;
}

TILE_FN f32_t tile_atomic_min_f16(f16_t *p, f32_t v) {
  u16_t *bits = (u16_t *)p, old = __atomic_load_n(bits, __ATOMIC_SEQ_CST), next;
  f32_t value;
  do {
    value = tile_f16_to_f32(old);
    next = tile_f32_to_f16(tile_min_f32(value, v));
  } while (!__atomic_compare_exchange_n(bits, &old, next, 1, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST));
  return value;
}

TILE_FN f32_t tile_atomic_exchange_f16(f16_t *p, f32_t v) {
  u16_t *bits = (u16_t *)p, old = __atomic_load_n(bits, __ATOMIC_SEQ_CST), next;
  f32_t value;
  do {
    value = tile_f16_to_f32(old);
    next = tile_f32_to_f16(v);
  } while (!__atomic_compare_exchange_n(bits, &old, next, 1, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST));
  return value;
}

TILE_FN f32_t tile_atomic_add_bf16(bf16_t *p, f32_t v) {
  u16_t *bits = (u16_t *)p, old = __atomic_load_n(bits, __ATOMIC_SEQ_CST), next;
  f32_t value;
  do {
    value = tile_bf16_to_f32(old);
    next = tile_f32_to_bf16(value + v);
  } while (!__atomic_compare_exchange_n(bits, &old, next, 1, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST));
  return value;
}

TILE_FN f32_t tile_atomic_max_bf16(bf16_t *p, f32_t v) {
  u16_t *bits = (u16_t *)p, old = __atomic_load_n(bits, __ATOMIC_SEQ_CST), next;
  f32_t value;
  do {
    value = tile_bf16_to_f32(old);
    next = tile_f32_to_bf16(tile_max_f32(value, v));
  } while (!__atomic_compare_exchange_n(bits, &old, next, 1, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST));
  return value;
}

TILE_FN f32_t tile_atomic_min_bf16(bf16_t *p, f32_t v) {
  u16_t *bits = (u16_t *)p, old = __atomic_load_n(bits, __ATOMIC_SEQ_CST), next;
  f32_t value;
  do {
    value = tile_bf16_to_f32(old);
    next = tile_f32_to_bf16(tile_min_f32(value, v));
  } while (!__atomic_compare_exchange_n(bits, &old, next, 1, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST));
  return value;
}

TILE_FN f32_t tile_atomic_exchange_bf16(bf16_t *p, f32_t v) {
  u16_t *bits = (u16_t *)p, old = __atomic_load_n(bits, __ATOMIC_SEQ_CST), next;
  f32_t value;
  do {
    value = tile_bf16_to_f32(old);
    next = tile_f32_to_bf16(v);
  } while (!__atomic_compare_exchange_n(bits, &old, next, 1, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST));
  return value;
}
