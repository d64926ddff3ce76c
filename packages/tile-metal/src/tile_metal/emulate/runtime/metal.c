/* Matrices of 8 by 8 of a simdgroup. The language says that lanes hold two elements of each, and
 * not which; those below are what MLX relies on (its steel/gemm/mma.h, get_coord) on all chips. */

enum { SIDE = 8, HELD = 2 };

struct square {
  u32 a_type, d_type;
  char *d, *d_mask;
  const char *a, *b, *c, *a_mask, *b_mask, *c_mask;
};

static u32 metal_bytes(u32 type) { return type == METAL_F32 ? 4 : 2; }

static float metal_halves[65536];

__attribute__((constructor)) static void fill_metal_halves(void) {
  for (u32 i = 0; i < 65536; i++) metal_halves[i] = emu_f16_to_f32((u16)i);
}

static inline double metal_element(const char *p, u32 index, u32 type) {
  u32 word = 0;
  float x;
  memcpy(&word, p + index * metal_bytes(type), metal_bytes(type));
  if (type == METAL_F16) return metal_halves[(u16)word];
  if (type == METAL_BF16) word <<= 16;
  memcpy(&x, &word, 4);
  return x;
}

static void put_metal(char *p, u32 index, u32 type, double x) {
  if (type == METAL_F32) {
    float wide = (float)x;
    memcpy(p + 4 * index, &wide, 4);
    return;
  }
  u16 narrow = type == METAL_F16 ? emu_f32_to_f16(x, EMU_NEAREST) : emu_f32_to_bf16(x, EMU_NEAREST);
  memcpy(p + 2 * index, &narrow, 2);
}

/* Row and first column of the two neighbours that a lane holds. */
static void place_of_lane(u32 lane, u32 *row, u32 *column) {
  u32 quad = lane / 4;
  *row = (quad & 4) + lane / 2 % 4;
  *column = (quad & 2) * 2 + lane % 2 * 2;
}

struct squares {
  double a[SIDE][SIDE], b[SIDE][SIDE];
  u8 a_unknown[SIDE], b_unknown[SIDE];
};

static void gather_squares(struct squares *s, void **operands) {
  memset(s, 0, sizeof *s);
  for (u32 lane = 0; lane < WARP; lane++) {
    const struct square *own = operands[lane];
    u32 row, column, bytes = metal_bytes(own->a_type);
    place_of_lane(lane, &row, &column);
    for (u32 i = 0; i < HELD; i++) {
      s->a[row][column + i] = metal_element(own->a, i, own->a_type);
      s->b[row][column + i] = metal_element(own->b, i, own->a_type);
      s->a_unknown[row] |= any_bit(own->a_mask + i * bytes, bytes);
      s->b_unknown[column + i] |= any_bit(own->b_mask + i * bytes, bytes);
    }
  }
}

/* Products are exact in f64, and so is the sum up to its last bits; hardware rounds more often. */
static void multiply_squares(struct emu_thread **lanes, emu_lanes members, void **operands) {
  struct squares s;
  (void)members;
  gather_squares(&s, operands);
  for (u32 lane = 0; lane < WARP; lane++) {
    struct square *own = operands[lane];
    u32 row, column, bytes = metal_bytes(own->d_type);
    place_of_lane(lane, &row, &column);
    for (u32 i = 0; i < HELD; i++) {
      u32 unknown = s.a_unknown[row] | s.b_unknown[column + i];
      unknown |= (u32)any_bit(own->c_mask + i * bytes, bytes);
      double sum = metal_element(own->c, i, own->d_type);
      for (u32 k = 0; k < SIDE; k++) sum += s.a[row][k] * s.b[k][column + i];
      put_metal(own->d, i, own->d_type, sum);
      memset(own->d_mask + i * bytes, unknown ? 0xff : 0, bytes);
    }
  }
  gang_of(lanes[0])->counters[COUNT_MATRIX] += SIDE * SIDE * SIDE;
}

void metal_multiply(struct emu_thread *t, u32 at, u32 a_type, u32 d_type, void *d, const void *a,
                    const void *b, const void *c) {
  struct square own = {.a_type = a_type, .d_type = d_type, .d = d, .a = a, .b = b, .c = c};
  own.d_mask = stack_mask(t, d);
  own.a_mask = stack_mask(t, a);
  own.b_mask = stack_mask(t, b);
  own.c_mask = stack_mask(t, c);
  if (all_lanes(t) != ~(emu_lanes)0)
    fail(t, at, "divergence", "a matrix product in a simdgroup of less than %d lanes", WARP);
  meet(t, at, all_lanes(t), "simdgroup_multiply_accumulate", &own, multiply_squares);
}
