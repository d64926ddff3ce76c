/* Instructions of a wave. Which lane holds which element is from AMD's instruction set manuals:
 * "CDNA3", matrix arithmetic (MFMA), and "RDNA3" and "RDNA4", WMMA matrix storage. */

enum { MOST_SIDE = 32, MOST_DEEP = 128, MOST_WORDS = 32 };
static const u32 HIP_BITS[] = {16, 16, 32, 64, 32, 8, 8, 4, 4, 8, 8, 8, 8, 6, 6, 4};

/* ---- formats ---- */

/* A code with `digits` bits of fraction behind `exponents` bits of exponent. */
static double decode_small(u32 code, u32 exponents, u32 digits, i32 bias) {
  u32 fraction = code & ((1u << digits) - 1), exponent = code >> digits & ((1u << exponents) - 1);
  double sign = code >> (digits + exponents) & 1 ? -1 : 1;
  if (!exponent) return sign * ldexp(fraction, 1 - bias - (i32)digits);
  return sign * ldexp(fraction | 1u << digits, (i32)exponent - bias - (i32)digits);
}

static double decode_8(u32 code, u32 type) {
  switch (type) {
  case HIP_E4M3: return emu_f8_to_f32(code, 0);
  case HIP_E5M2: return emu_f8_to_f32(code, 1);
  case HIP_E4M3FNUZ: return code == 0x80 ? NAN : decode_small(code, 4, 3, 8);
  default: return code == 0x80 ? NAN : decode_small(code, 5, 2, 16);
  }
}

/* Without negative zero, which is NaN; exponents are one less than those of the other formats. */
static u32 encode_fnuz(double x, u32 type) {
  u32 digits = type == HIP_E4M3FNUZ ? 4 : 3;
  double r = to_digits(x, (int)digits, type == HIP_E4M3FNUZ ? -7 : -15, EMU_NEAREST);
  if (isnan(x) || fabs(r) > (type == HIP_E4M3FNUZ ? 240 : 57344)) return 0x80;
  u32 code = encode(2 * r, 8 - (int)digits, (int)digits);
  return code == 0x80 ? 0 : code;
}

static u32 encode_8(double x, u32 type) {
  if (type == HIP_E4M3FNUZ || type == HIP_E5M2FNUZ) return encode_fnuz(x, type);
  if (type == HIP_E5M2 && isinf(x)) return x > 0 ? 0x7c : 0xfc;
  return emu_f32_to_f8(x, type == HIP_E5M2);
}

void hip_encode(struct emu_thread *t, u32 type, void *code, const void *value) {
  float x;
  memcpy(&x, value, 4);
  *(u8 *)code = (u8)encode_8(x, type);
  *stack_mask(t, code) = any_bit(stack_mask(t, value), 4) ? -1 : 0;
}

void hip_decode(struct emu_thread *t, u32 type, void *value, const void *code) {
  float x = (float)decode_8(*(const u8 *)code, type);
  memcpy(value, &x, 4);
  memset(stack_mask(t, value), *stack_mask(t, code) ? 0xff : 0, 4);
}

/* ---- matrix instructions ---- */

struct wave_product {
  u32 m, n, k, form, a_type, b_type, d_type, at;
  char *d, *d_mask;
  const char *a, *b, *a_mask, *b_mask;
};

static float half_values[65536];

__attribute__((constructor)) static void fill_half_values(void) {
  for (u32 i = 0; i < 65536; i++) half_values[i] = emu_f16_to_f32((u16)i);
}

static inline double wave_element(const char *p, u32 index, u32 type) {
  u32 bits = HIP_BITS[type], at = index * bits;
  u64 word = 0;
  memcpy(&word, p + at / 8, bits >= 8 ? bits / 8 : at % 8 + bits > 8 ? 2 : 1);
  word >>= at % 8;
  switch (type) {
  case HIP_F16: return half_values[(u16)word];
  case HIP_BF16: word <<= 16; /* fall through */
  case HIP_F32: {
    float x;
    memcpy(&x, &word, 4);
    return x;
  }
  case HIP_F64: {
    double x;
    memcpy(&x, &word, 8);
    return x;
  }
  case HIP_S32: return (i32)word;
  case HIP_S8: return (i8)word;
  case HIP_U8: return (u8)word;
  case HIP_S4: return (i32)((u32)word << 28) >> 28;
  case HIP_U4: return word & 15;
  case HIP_E2M3: return decode_small(word & 63, 2, 3, 1);
  case HIP_E3M2: return decode_small(word & 63, 3, 2, 3);
  case HIP_E2M1: return decode_small(word & 15, 2, 1, 1);
  default: return decode_8((u8)word, type);
  }
}

/* The first elements of a lane; the frequent types without a choice for each. */
static void wave_elements(const char *p, u32 count, u32 type, double *out) {
  const u16 *halves = (const u16 *)p;
  const float *floats = (const float *)p;
  if (type == HIP_F16) {
    for (u32 i = 0; i < count; i++) out[i] = half_values[halves[i]];
  } else if (type == HIP_F32) {
    for (u32 i = 0; i < count; i++) out[i] = floats[i];
  } else {
    for (u32 i = 0; i < count; i++) out[i] = wave_element(p, i, type);
  }
}

static void put_element(char *p, u32 index, u32 type, double x) {
  float narrow = (float)x;
  u16 half;
  u32 word;
  switch (type) {
  case HIP_F64: memcpy(p + 8 * index, &x, 8); break;
  case HIP_F32: memcpy(p + 4 * index, &narrow, 4); break;
  case HIP_S32:
    word = (u32)(i64)x;
    memcpy(p + 4 * index, &word, 4);
    break;
  default:
    half = type == HIP_F16 ? emu_f32_to_f16(x, EMU_NEAREST) : emu_f32_to_bf16(x, EMU_NEAREST);
    memcpy(p + 2 * index, &half, 2);
  }
}

/* The row of result `v` of a lane; its column is the lane's number within the columns. */
static u32 row_of(const struct wave_product *p, u32 lane, u32 v) {
  u32 group = lane / p->n;
  switch (p->form) {
  case HIP_MFMA_F64: return 4 * v + group;
  case HIP_WMMA_DOUBLE: return 2 * v + group;
  case HIP_WMMA: return 8 * group + v;
  default: return p->m == 32 ? 8 * (v / 4) + 4 * group + v % 4 : 4 * group + v;
  }
}

/* Neighbours along the depth that a lane holds of its row of A, or column of B. */
static u32 held_depth(const struct wave_product *p) {
  return p->form == HIP_WMMA_DOUBLE ? p->k : p->m * p->k / WARP;
}

struct wave_tiles {
  double a[MOST_SIDE][MOST_DEEP], b[MOST_DEEP][MOST_SIDE];
  u8 a_unknown[MOST_SIDE], b_unknown[MOST_SIDE];
};

static void gather_lane(struct wave_tiles *tiles, const struct wave_product *p, u32 lane) {
  u32 side = lane % p->m, held = held_depth(p), first = lane / p->m * held;
  double column[MOST_DEEP];
  if (p->form == HIP_WMMA_DOUBLE) first = 0;
  wave_elements(p->a, held, p->a_type, &tiles->a[side][first]);
  wave_elements(p->b, held, p->b_type, column);
  for (u32 i = 0; i < held; i++) tiles->b[first + i][side] = column[i];
  tiles->a_unknown[side] |= any_bit(p->a_mask, (held * HIP_BITS[p->a_type] + 7) / 8);
  tiles->b_unknown[side] |= any_bit(p->b_mask, (held * HIP_BITS[p->b_type] + 7) / 8);
}

/* Where both halves of a wave hold the same operands, the machine takes either. */
static void check_halves(struct emu_thread **lanes, void **operands) {
  for (u32 i = 0; i < WARP / 2; i++) {
    const struct wave_product *low = operands[i], *high = operands[i + WARP / 2];
    u32 a = low->k * HIP_BITS[low->a_type] / 8, b = low->k * HIP_BITS[low->b_type] / 8;
    if (memcmp(low->a, high->a, a) || memcmp(low->b, high->b, b))
      fail(lanes[i], low->at, "divergence", "lanes %u and %u hold different operands of one row", i,
           i + WARP / 2);
  }
}

typedef double sums_t[MOST_SIDE][MOST_SIDE];

static inline void add_products(const struct wave_tiles *tiles, u32 side, u32 depth, sums_t sums) {
  for (u32 r = 0; r < side; r++)
    for (u32 k = 0; k < depth; k++) {
      double a = tiles->a[r][k];
      for (u32 c = 0; c < side; c++) sums[r][c] += a * tiles->b[k][c];
    }
}

static void scatter_lane(const struct wave_tiles *tiles, sums_t sums, struct wave_product *p,
                         u32 lane) {
  u32 bytes = HIP_BITS[p->d_type] / 8, values = p->m * p->n / WARP, c = lane % p->n;
  double before[MOST_WORDS];
  wave_elements(p->d, values, p->d_type, before);
  for (u32 v = 0; v < values; v++) {
    u32 r = row_of(p, lane, v);
    put_element(p->d, v, p->d_type, before[v] + sums[r][c]);
    if (tiles->a_unknown[r] | tiles->b_unknown[c] | any_bit(p->d_mask + v * bytes, bytes))
      memset(p->d_mask + v * bytes, 0xff, bytes);
  }
}

/* Products are exact in f64, and so is the sum up to its last bits; hardware rounds more often. */
static void multiply_wave(struct emu_thread **lanes, emu_lanes members, void **operands) {
  const struct wave_product *one = operands[0];
  struct wave_tiles tiles;
  (void)members;
  memset(tiles.a_unknown, 0, sizeof tiles.a_unknown);
  memset(tiles.b_unknown, 0, sizeof tiles.b_unknown);
  if (one->form == HIP_WMMA_DOUBLE) check_halves(lanes, operands);
  for (u32 lane = 0; lane < WARP; lane++) gather_lane(&tiles, operands[lane], lane);
  sums_t sums = {{0}};
  if (one->m == 32) {
    add_products(&tiles, 32, one->k, sums);
  } else {
    add_products(&tiles, 16, one->k, sums);
  }
  for (u32 lane = 0; lane < WARP; lane++) scatter_lane(&tiles, sums, operands[lane], lane);
  gang_of(lanes[0])->counters[COUNT_MATRIX] += one->m * one->n * one->k;
}

void hip_multiply(struct emu_thread *t, u32 at, const char *name, u32 m, u32 n, u32 k, u32 form,
                  u32 a_type, u32 b_type, u32 d_type, void *d, const void *a, const void *b) {
  struct wave_product own = {.m = m, .n = n, .k = k, .form = form, .a_type = a_type,
                             .b_type = b_type, .d_type = d_type, .at = at, .d = d, .a = a, .b = b};
  own.d_mask = stack_mask(t, d);
  own.a_mask = stack_mask(t, a);
  own.b_mask = stack_mask(t, b);
  if (all_lanes(t) != ~(emu_lanes)0)
    fail(t, at, "divergence", "%s in a wave of less than %d lanes", name, WARP);
  meet(t, at, all_lanes(t), name, &own, multiply_wave);
}
