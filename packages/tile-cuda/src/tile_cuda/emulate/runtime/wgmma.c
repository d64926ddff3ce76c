/* Matrix instructions of a warpgroup. Operands in shared memory are found through descriptors (PTX
 * ISA, "Matrix descriptor" and "Strides"). The product is computed when it is issued; what it read
 * is looked at again when it is waited for, since it may have been read as late as that. */

enum { MOST_N = 256, MOST_BYTES = 32 };

struct group_product {
  u32 at, n, k, a_type, b_type, d_type, *d, *d_mask, keep, a_turn, b_turn;
  const u32 *a, *a_mask;
  u64 a_place, b_place;
  i32 a_scale, b_scale;
};

/* What was read and may still be needed: the values of one operand. */
struct flight {
  u64 place, digest;
  u32 rows, at, turn, type, k, group;
};

struct flights {
  u32 count, room, committed;
  struct flight items[];
};

/* Where element (row, depth) of an operand lies. `turn`: rows are contiguous instead of depth. */
static u32 operand_offset(u64 descriptor, u32 row, u32 depth, u32 size, u32 turn) {
  u32 start = (u32)(descriptor & 0x3fff) << 4, lead = (u32)(descriptor >> 16 & 0x3fff) << 4;
  u32 stride = (u32)(descriptor >> 32 & 0x3fff) << 4, mode = (u32)(descriptor >> 62);
  u32 row_bytes = mode ? 256u >> mode : 16;
  u32 along = (turn ? row : depth) * size, across = turn ? depth : row;
  u32 column = along / row_bytes, inside = along % row_bytes;
  u32 address = start + across % 8 * row_bytes + inside;
  if (!mode) {
    address += turn ? column * stride + across / 8 * lead : column * lead + across / 8 * stride;
  } else {
    address += column * lead + across / 8 * stride;
  }
  return (u32)exchanged(address & ~15u, row_bytes) | (address & 15);
}

static u64 mix(u64 digest, u64 word) {
  digest = (digest ^ word) * 0x9e3779b97f4a7c15ull;
  return digest ^ digest >> 29;
}

/* The rows of an operand: values as f32, which rows are unknown; returns a digest of the bits. It
 * is read 16 bytes at a time, along the rows or along the depth. Without `values` this is the last
 * time that it is read. */
static u64 read_operand(struct emu_thread *t, u32 at, u64 descriptor, u32 rows, u32 k, u32 type,
                        u32 turn, float *values, u8 *unknown) {
  u32 size = ELEMENT_BITS[type] / 8, per = 16 / size;
  u32 along = turn ? rows : k, across = turn ? k : rows;
  u64 digest = rows;
  if (unknown) memset(unknown, 0, rows);
  for (u32 x = 0; x < across; x++) {
    for (u32 y = 0; y < along; y += per) {
      struct emu_block *home;
      u32 offset = operand_offset(descriptor, turn ? y : x, turn ? x : y, size, turn), words[4];
      memcpy(words, shared_place(t, at, offset, 16, 16, &home), 16);
      (values ? note_pending_read : note_read)(t, at, home, offset, 16);
      note_engine_read(t, at, home, offset, 16);
      digest = mix(mix(digest, words[0] | (u64)words[1] << 32), words[2] | (u64)words[3] << 32);
      if (!values) continue;
      for (u32 i = 0; i < per; i++) {
        u32 row = turn ? y + i : x, depth = turn ? x : y + i;
        values[row * k + depth] = (float)element(words, i, type);
      }
      if (!any_bit(home->mask + offset, 16)) continue;
      for (u32 i = 0; i < per; i++)
        unknown[turn ? y + i : x] |= (u8)any_bit(home->mask + offset + i * size, size);
    }
  }
  return digest;
}

static void remember(struct emu_thread *t, const struct group_product *p, u64 place, u64 digest,
                     u32 rows, u32 turn, u32 type) {
  struct fiber *f = fiber_of(t);
  struct flights *all = f->flights;
  if (!all || all->count == all->room) {
    u32 room = all ? 2 * all->room : 16;
    all = realloc(all, sizeof *all + room * sizeof *all->items);
    if (!f->flights) all->count = all->committed = 0;
    all->room = room;
    f->flights = all;
  }
  all->items[all->count++] = (struct flight){.place = place, .digest = digest, .rows = rows,
                                             .at = p->at, .turn = turn, .type = type, .k = p->k,
                                             .group = all->committed};
}

static void a_from_registers(void **operands, const struct group_product *one, float *a,
                             u8 *unknown) {
  u32 run = run_of(one->a_type);
  memset(unknown, 0, 64);
  for (u32 thread = 0; thread < 128; thread++) {
    const struct group_product *p = operands[thread];
    for (u32 i = 0; i < one->k / 2 / run; i++) {
      u32 row, depth;
      place_in_a(16, run, thread % WARP, i, &row, &depth);
      row += thread / WARP * 16;
      for (u32 j = 0; j < run; j++)
        a[row * one->k + depth + j] = (float)element(p->a, i * run + j, one->a_type);
      unknown[row] |= word_mask(p->a_mask, i, one->a_type) != 0;
    }
  }
}

static void accumulate(const struct group_product *one, const float *a, const float *b, float *d) {
  u32 k = one->k, n = one->n;
  float turned[MOST_BYTES * MOST_N];
  float scale = (float)(one->a_scale * one->b_scale);
  for (u32 c = 0; c < n; c++)
    for (u32 i = 0; i < k; i++) turned[i * n + c] = b[c * k + i] * scale;
  for (u32 r = 0; r < 64; r++)
    for (u32 i = 0; i < k; i++) {
      float x = a[r * k + i];
      for (u32 c = 0; c < n; c++) d[r * n + c] += x * turned[i * n + c];
    }
}

static void accumulate_integers(const struct group_product *one, const float *a, const float *b,
                                u32 *d) {
  u32 k = one->k, n = one->n;
  i32 turned[MOST_BYTES * MOST_N];
  for (u32 c = 0; c < n; c++)
    for (u32 i = 0; i < k; i++) turned[i * n + c] = (i32)b[c * k + i];
  for (u32 r = 0; r < 64; r++)
    for (u32 i = 0; i < k; i++) {
      i32 x = (i32)a[r * k + i];
      for (u32 c = 0; c < n; c++) d[r * n + c] += (u32)(x * turned[i * n + c]);
    }
}

/* Element i of a thread: row and column of the 64 x n result. */
static inline u32 result_at(u32 thread, u32 i, u32 n) {
  u32 row = thread / WARP * 16 + thread % WARP / 4 + 8 * (i >> 1 & 1);
  return row * n + i / 4 * 8 + thread % 4 * 2 + (i & 1);
}

struct group_tiles {
  float a[64 * MOST_BYTES], b[MOST_N * MOST_BYTES];
  union {
    float d[64 * MOST_N];
    u32 whole[64 * MOST_N]; /* of integers, whose sums are longer than a float's fraction */
  };
  u8 a_unknown[64], b_unknown[MOST_N], d_unknown[64 * MOST_N];
};

static void spread(const struct group_product *one, const struct group_tiles *g, void **operands) {
  u32 n = one->n;
  for (u32 thread = 0; thread < 128; thread++) {
    const struct group_product *p = operands[thread];
    for (u32 i = 0; i < n / 2; i++) {
      u32 at = result_at(thread, i, n);
      u32 unknown = g->a_unknown[at / n] | g->b_unknown[at % n] | g->d_unknown[at] ? ~0u : 0;
      if (one->d_type == CUDA_F16) {
        put_half(p->d + i / 2, p->d_mask + i / 2, 16 * (i & 1), g->d[at], unknown);
      } else {
        p->d[i] = g->whole[at]; /* the bits of either kind */
        p->d_mask[i] = unknown;
      }
    }
  }
}

static void multiply_group(struct emu_thread **lanes, u32 members, void **operands) {
  const struct group_product *one = operands[0];
  struct group_tiles *g = malloc(sizeof *g);
  u32 n = one->n;
  (void)members;
  for (u32 i = 0; i < 128; i++) {
    const struct group_product *p = operands[i];
    if (p->a_place != one->a_place || p->b_place != one->b_place || p->keep != one->keep)
      fail(lanes[i], one->at, "divergence", "threads of a warpgroup have different operands");
  }
  for (u32 thread = 0; thread < 128; thread++) {
    const struct group_product *p = operands[thread];
    for (u32 i = 0; i < n / 2; i++) {
      u32 at = result_at(thread, i, n);
      if (one->d_type == CUDA_S32) {
        g->whole[at] = one->keep ? p->d[i] : 0;
      } else {
        g->d[at] = one->keep ? (float)element(p->d, i, one->d_type) : 0;
      }
      g->d_unknown[at] = one->keep ? (u8)element_mask(p->d_mask, i, one->d_type) : 0;
    }
  }
  if (one->a) {
    a_from_registers(operands, one, g->a, g->a_unknown);
  } else {
    u64 digest = read_operand(lanes[0], one->at, one->a_place, 64, one->k, one->a_type,
                              one->a_turn, g->a, g->a_unknown);
    remember(lanes[0], one, one->a_place, digest, 64, one->a_turn, one->a_type);
  }
  u64 digest = read_operand(lanes[0], one->at, one->b_place, n, one->k, one->b_type, one->b_turn,
                            g->b, g->b_unknown);
  remember(lanes[0], one, one->b_place, digest, n, one->b_turn, one->b_type);
  if (one->d_type == CUDA_S32) {
    accumulate_integers(one, g->a, g->b, g->whole);
  } else {
    accumulate(one, g->a, g->b, g->d);
  }
  spread(one, g, operands);
  gang_of(lanes[0])->counters[COUNT_MATRIX] += 64 * n * one->k;
  free(g);
}

void cuda_wgmma(struct emu_thread *t, u32 at, u32 n, u32 k, u32 a_type, u32 b_type, u32 d_type,
                u32 *d, u32 *d_mask, u64 a_place, const u32 *a, const u32 *a_mask, u64 b_place,
                u32 keep, i32 a_scale, i32 b_scale, u32 a_turn, u32 b_turn) {
  struct group_product own = {
      .at = at, .n = n, .k = k, .a_type = a_type, .b_type = b_type, .d_type = d_type, .d = d,
      .d_mask = d_mask, .keep = keep, .a_turn = a_turn, .b_turn = b_turn, .a = a,
      .a_mask = a_mask, .a_place = a_place, .b_place = b_place, .a_scale = a_scale,
      .b_scale = b_scale};
  meet_squad(t, at, "wgmma", &own, multiply_group);
}

void cuda_wgmma_fence(struct emu_thread *t, u32 at) {
  meet(t, at, all_lanes(t), "wgmma.fence", NULL, NULL);
}

void cuda_wgmma_commit(struct emu_thread *t, u32 at) {
  struct flights *all = fiber_of(t)->flights;
  meet(t, at, all_lanes(t), "wgmma.commit_group", NULL, NULL);
  if (all) all->committed++;
}

void cuda_wgmma_wait(struct emu_thread *t, u32 at, u32 pending) {
  struct flights *all = fiber_of(t)->flights;
  meet(t, at, all_lanes(t), "wgmma.wait_group", NULL, NULL);
  if (!all) return;
  u32 kept = 0;
  for (u32 i = 0; i < all->count; i++) {
    struct flight *f = &all->items[i];
    if (f->group + pending >= all->committed) {
      all->items[kept++] = *f;
      continue;
    }
    if (read_operand(t, f->at, f->place, f->rows, f->k, f->type, f->turn, NULL, NULL) != f->digest)
      fail(t, f->at, "race", "an operand in shared memory changes before the wait for this "
           "matrix instruction\n#%u:%u the wait", at, t->rank);
  }
  all->count = kept;
}

void cuda_wgmma_end(struct emu_thread *t) {
  struct flights *all = fiber_of(t)->flights;
  if (all && all->count)
    fail(t, all->items[0].at, "barrier", "a matrix instruction is under way when its warpgroup "
         "ends: it is not waited for");
}
