/* Matrix instructions of a warp and the copies of their fragments. Where each lane holds which
 * elements is from the PTX ISA, "Matrix fragments for mma" and "ldmatrix". */

static float half_values[65536];

__attribute__((constructor)) static void fill_half_values(void) {
  for (u32 i = 0; i < 65536; i++) half_values[i] = emu_f16_to_f32((u16)i);
}

static const u32 ELEMENT_BITS[] = {16, 16, 32, 32, 64, 8, 8, 8, 8, 32, 4, 4};

static inline float bits_to_f32(u32 bits) {
  float x;
  memcpy(&x, &bits, 4);
  return x;
}

/* One element of a word of 32 bits; f64 has two words. */
static inline double element(const u32 *words, u32 index, u32 type) {
  u32 bits = ELEMENT_BITS[type], per = 32 / (bits > 32 ? 32 : bits);
  u32 word = words[index / per] >> index % per * bits;
  switch (type) {
  case CUDA_F16: return half_values[word & 0xffff];
  case CUDA_BF16: return bits_to_f32(word << 16);
  case CUDA_TF32: return bits_to_f32(word & ~0x1fffu);
  case CUDA_F32: return bits_to_f32(word);
  case CUDA_E4M3: return emu_f8_to_f32(word & 255, 0);
  case CUDA_E5M2: return emu_f8_to_f32(word & 255, 1);
  case CUDA_S8: return (i8)word;
  case CUDA_U8: return (u8)word;
  case CUDA_S4: return (i32)(word << 28) >> 28;
  case CUDA_U4: return word & 15;
  case CUDA_S32: return (i32)word;
  default: {
    double x;
    memcpy(&x, words + 2 * index, 8);
    return x;
  }
  }
}

static inline int element_mask(const u32 *masks, u32 index, u32 type) {
  u32 bits = ELEMENT_BITS[type];
  if (bits == 64) return (masks[2 * index] | masks[2 * index + 1]) != 0;
  u32 per = 32 / bits, ones = bits == 32 ? ~0u : (1u << bits) - 1;
  return (masks[index / per] >> index % per * bits & ones) != 0;
}

struct product {
  u32 m, n, k, a_type, b_type, d_type, *d, *d_mask;
  const u32 *a, *a_mask, *b, *b_mask;
};

/* Elements that a lane holds one after another before it skips to the next column of lanes. */
static inline u32 run_of(u32 type) {
  return ELEMENT_BITS[type] >= 32 ? 1 : 32 / ELEMENT_BITS[type];
}

/* The row and the first depth of word `word` of lane `lane` of A; of B, row is the column. The
 * elements of a word follow each other along the depth. */
static inline void place_in_a(u32 m, u32 run, u32 lane, u32 word, u32 *row, u32 *depth) {
  *row = lane / 4 + (m == 16 ? 8 * (word & 1) : 0);
  *depth = (lane % 4 + (m == 16 ? word >> 1 : word) * 4) * run;
}

/* The elements of a word; of f64, of two. */
static inline void unpack(const u32 *words, u32 word, u32 type, double *out) {
  if (type == CUDA_F16) {
    out[0] = half_values[words[word] & 0xffff];
    out[1] = half_values[words[word] >> 16];
  } else if (type == CUDA_BF16) {
    out[0] = bits_to_f32(words[word] << 16);
    out[1] = bits_to_f32(words[word] & 0xffff0000u);
  } else {
    u32 run = run_of(type);
    for (u32 i = 0; i < run; i++) out[i] = element(words, word * run + i, type);
  }
}

static inline u32 word_mask(const u32 *masks, u32 word, u32 type) {
  return type == CUDA_F64 ? masks[2 * word] | masks[2 * word + 1] : masks[word];
}

enum { MOST_DEPTH = 64 };

struct tiles {
  double a[16][MOST_DEPTH], b[8][MOST_DEPTH], d[16][8];
  u8 a_unknown[16], b_unknown[8], d_unknown[16][8];
};

static void gather(struct tiles *tiles, void **operands) {
  const struct product *one = operands[0];
  u32 run = run_of(one->a_type);
  u32 a_words = one->m * one->k / WARP / run, b_words = one->k * 8 / WARP / run;
  memset(tiles->a_unknown, 0, sizeof tiles->a_unknown);
  memset(tiles->b_unknown, 0, sizeof tiles->b_unknown);
  for (u32 lane = 0; lane < WARP; lane++) {
    const struct product *p = operands[lane];
    u32 row, depth;
    for (u32 i = 0; i < a_words; i++) {
      place_in_a(one->m, run, lane, i, &row, &depth);
      unpack(p->a, i, one->a_type, &tiles->a[row][depth]);
      tiles->a_unknown[row] |= word_mask(p->a_mask, i, one->a_type) != 0;
    }
    for (u32 i = 0; i < b_words; i++) {
      place_in_a(8, run, lane, i, &row, &depth);
      unpack(p->b, i, one->b_type, &tiles->b[row][depth]);
      tiles->b_unknown[row] |= word_mask(p->b_mask, i, one->b_type) != 0;
    }
    for (u32 i = 0; i < one->m * 8 / WARP; i++) {
      u32 r = lane / 4 + 8 * (i >> 1), c = lane % 4 * 2 + (i & 1);
      tiles->d[r][c] = element(p->d, i, one->d_type);
      tiles->d_unknown[r][c] = (u8)element_mask(p->d_mask, i, one->d_type);
    }
  }
}

/* Half of a word, and half of its mask. */
static inline void put_half(u32 *word, u32 *mask, u32 shift, double x, u32 unknown) {
  u32 kept = 0xffffu << (16 - shift);
  *word = (*word & kept) | (u32)emu_f32_to_f16(x, EMU_NEAREST) << shift;
  *mask = (*mask & kept) | (unknown & 0xffff) << shift;
}

static void scatter(const struct tiles *tiles, void **operands) {
  const struct product *one = operands[0];
  for (u32 lane = 0; lane < WARP; lane++) {
    struct product *p = operands[lane];
    for (u32 i = 0; i < one->m * 8 / WARP; i++) {
      u32 r = lane / 4 + 8 * (i >> 1), c = lane % 4 * 2 + (i & 1);
      u32 unknown = tiles->a_unknown[r] | tiles->b_unknown[c] | tiles->d_unknown[r][c] ? ~0u : 0;
      double x = tiles->d[r][c];
      if (one->d_type == CUDA_F64) {
        memcpy(p->d + 2 * i, &x, 8);
        p->d_mask[2 * i] = p->d_mask[2 * i + 1] = unknown;
      } else if (one->d_type == CUDA_F16) {
        put_half(p->d + i / 2, p->d_mask + i / 2, 16 * (i & 1), x, unknown);
      } else if (one->d_type == CUDA_S32) {
        p->d[i] = (u32)(i64)x;
        p->d_mask[i] = unknown;
      } else {
        float narrow = (float)x;
        memcpy(&p->d[i], &narrow, 4);
        p->d_mask[i] = unknown;
      }
    }
  }
}

/* Products are exact in f64, and so is the sum up to its last bits; hardware rounds it once or a
 * few times more. */
static void multiply(struct emu_thread **lanes, u32 members, void **operands) {
  const struct product *one = operands[0];
  struct tiles tiles;
  (void)members;
  gather(&tiles, operands);
  double turned[MOST_DEPTH][8];
  for (u32 k = 0; k < one->k; k++)
    for (u32 c = 0; c < 8; c++) turned[k][c] = tiles.b[c][k];
  for (u32 r = 0; r < one->m; r++)
    for (u32 k = 0; k < one->k; k++) {
      double a = tiles.a[r][k];
      for (u32 c = 0; c < 8; c++) tiles.d[r][c] += a * turned[k][c];
    }
  scatter(&tiles, operands);
  gang_of(lanes[0])->counters[COUNT_MATRIX] += one->m * one->n * one->k;
}

void cuda_mma(struct emu_thread *t, u32 at, u32 m, u32 n, u32 k, u32 a_type, u32 b_type,
              u32 d_type, u32 *d, u32 *d_mask, const u32 *a, const u32 *a_mask, const u32 *b,
              const u32 *b_mask) {
  struct product own = {m, n, k, a_type, b_type, d_type, d, d_mask, a, a_mask, b, b_mask};
  meet(t, at, all_lanes(t), "mma", &own, multiply);
}

/* ---- rows of 8x8 tiles ---- */

struct fragments {
  u32 count, trans, at, *d, *d_mask;
  const u32 *s, *s_mask;
  u64 address;
};

/* Row `r` of tile `j`: the lane that names it, and its 16 bytes. */
static char *tile_row(struct emu_thread **lanes, void **operands, u32 j, u32 r, char **mask,
                      int write) {
  u32 lane = j * 8 + r;
  struct fragments *f = operands[lane];
  struct emu_block *home;
  char *place = shared_place(lanes[lane], f->at, f->address, 16, 16, &home);
  u64 offset = (u64)(place - home->shared);
  if (write) {
    note_write(lanes[lane], f->at, home, offset, 16);
  } else {
    note_read(lanes[lane], f->at, home, offset, 16);
  }
  *mask = home->mask + offset;
  return place;
}

static inline u32 pair(u16 tile[8][8], u32 row, u32 column, u32 trans) {
  return trans ? tile[column][row] | (u32)tile[column + 1][row] << 16
               : tile[row][column] | (u32)tile[row][column + 1] << 16;
}

/* Rows of a tile that fall into the same 16 bytes of the 128 that all banks give at once cost a
 * turn more each. */
static void count_conflicts(struct gang *gang, void **operands, u32 tile) {
  u32 turns[8] = {0}, most = 0;
  for (u32 r = 0; r < 8; r++) {
    struct fragments *f = operands[tile * 8 + r];
    u32 n = ++turns[f->address / 16 % 8];
    most = n > most ? n : most;
  }
  gang->counters[COUNT_CONFLICTS] += most - 1;
}

static void load_tiles(struct emu_thread **lanes, u32 members, void **operands) {
  const struct fragments *one = operands[0];
  struct gang *gang = gang_of(lanes[0]);
  for (u32 j = 0; j < one->count; j++) {
    u16 tile[8][8], masks[8][8];
    count_conflicts(gang, operands, j);
    for (u32 r = 0; r < 8; r++) {
      char *mask, *row = tile_row(lanes, operands, j, r, &mask, 0);
      memcpy(tile[r], row, 16);
      memcpy(masks[r], mask, 16);
    }
    for (u32 lane = 0; lane < WARP; lane++) {
      struct fragments *f = operands[lane];
      u32 a = lane / 4, b = lane % 4 * 2;
      f->d[j] = pair(tile, a, b, one->trans);
      f->d_mask[j] = pair(masks, a, b, one->trans);
    }
  }
  /* One lane may say for all that these reads are over: they are one instruction. */
  sync_group(gang, (u32)(fiber_of(lanes[0]) - gang->fibers), WARP, members);
  gang->counters[COUNT_SHARED_LOAD] += one->count * 128;
}

void cuda_ldmatrix(struct emu_thread *t, u32 at, u32 count, u32 trans, u64 address, u32 *d,
                   u32 *d_mask) {
  struct fragments own = {.count = count, .trans = trans, .at = at, .d = d, .d_mask = d_mask,
                          .address = address};
  meet(t, at, all_lanes(t), "ldmatrix", &own, load_tiles);
}

static void store_tiles(struct emu_thread **lanes, u32 members, void **operands) {
  const struct fragments *one = operands[0];
  (void)members;
  for (u32 j = 0; j < one->count; j++) {
    u16 tile[8][8], masks[8][8];
    for (u32 lane = 0; lane < WARP; lane++) {
      const struct fragments *f = operands[lane];
      for (u32 i = 0; i < 2; i++) {
        u32 a = lane / 4, b = lane % 4 * 2 + i, r = one->trans ? b : a, c = one->trans ? a : b;
        tile[r][c] = (u16)(f->s[j] >> 16 * i);
        masks[r][c] = (u16)(f->s_mask[j] >> 16 * i);
      }
    }
    count_conflicts(gang_of(lanes[0]), operands, j);
    for (u32 r = 0; r < 8; r++) {
      char *mask, *row = tile_row(lanes, operands, j, r, &mask, 1);
      memcpy(row, tile[r], 16);
      memcpy(mask, masks[r], 16);
    }
  }
  gang_of(lanes[0])->counters[COUNT_SHARED_STORE] += one->count * 128;
}

void cuda_stmatrix(struct emu_thread *t, u32 at, u32 count, u32 trans, u64 address, const u32 *s,
                   const u32 *s_mask) {
  struct fragments own = {.count = count, .trans = trans, .at = at, .s = s, .s_mask = s_mask,
                          .address = address};
  meet(t, at, all_lanes(t), "stmatrix", &own, store_tiles);
}
