/* Operations that several threads take part in. Each thread leaves its operands on its own stack;
 * the last one to arrive computes for all, in place. */

static emu_lanes all_lanes(struct emu_thread *t) {
  struct emu_block *block = t->block;
  u32 left = block->threads - t->warp * WARP;
  return left >= WARP ? ~(emu_lanes)0 : ((emu_lanes)1 << left) - 1;
}

static void check_members(struct emu_thread *t, u32 at, emu_lanes members, const char *op) {
  if (!(members >> t->lane & 1))
    fail(t, at, "divergence", "lane %u takes part in %s without being named", t->lane, op);
  if (members & ~all_lanes(t))
    fail(t, at, "divergence", "%s names lanes that the warp does not have", op);
}

static void run_action(struct gang *gang, u32 first, u32 count, emu_lanes members,
                       emu_action action) {
  struct emu_thread *lanes[128];
  void *operands[128];
  for (u32 i = 0; i < count; i++) {
    lanes[i] = &gang->fibers[first + i].t;
    operands[i] = gang->fibers[first + i].operand;
  }
  if (action) action(lanes, members, operands);
}

static void release(struct gang *gang, u32 first, u32 count, const void *object) {
  for (u32 i = first; i < first + count; i++) {
    if (gang->fibers[i].wait == object) {
      gang->fibers[i].wait = NULL;
      wake(gang, i);
    }
  }
}

static void disagree(struct emu_thread *t, u32 at, const struct meeting *m, const char *op) {
  fail(t, at, "divergence", "threads of one warp meet at different places: %s and %s\n#%u:%u "
       "the other place", op, m->op, m->at, t->rank);
}

/* The open meeting of these threads, or a new one. */
static struct meeting *find_meeting(struct emu_thread *t, u32 at, struct meeting *all,
                                    emu_lanes members, const char *op) {
  struct meeting *own = NULL, *empty = all->arrived ? NULL : all;
  u32 searched = !all->open ? 0 : all->open == 1 && all->arrived ? 1 : WARP;
  for (u32 i = 0; i < searched; i++) {
    if (!all[i].arrived) {
      if (!empty) empty = &all[i];
    } else if (all[i].members & members) {
      if (all[i].members != members || all[i].op != op) disagree(t, at, &all[i], op);
      own = &all[i];
    }
  }
  if (own) return own;
  if (!empty) empty = &all[1]; /* the only open one is the first */
  u32 open = all->open + 1;
  *empty = (struct meeting){.members = members, .op = op, .at = at};
  all->open = open;
  return empty;
}

/* The threads of a warp that `members` names meet; disjoint sets of them may meet at once. Aligned
 * operations (`at` not 0) have to be the same instruction for all. */
static void meet(struct emu_thread *t, u32 at, emu_lanes members, const char *op, void *operand,
                 emu_action action) {
  struct gang *gang = gang_of(t);
  struct fiber *f = fiber_of(t);
  u32 me = (u32)(f - gang->fibers), first = me - t->lane;
  u32 left = t->block->threads - t->warp * WARP, lanes = left < WARP ? left : WARP;
  struct meeting *all = gang->meetings + first, *own = find_meeting(t, at, all, members, op);
  check_members(t, at, members, op);
  gang->counters[COUNT_WARP_OPS]++;
  f->operand = operand;
  own->arrived |= (emu_lanes)1 << t->lane;
  if (own->arrived != members) {
    park(t, at, op, own);
    return;
  }
  run_action(gang, first, lanes, members, action);
  own->arrived = 0;
  all->open--;
  release(gang, first, lanes, own);
}

/* 128 threads, all of them at the same instruction. */
static void meet_squad(struct emu_thread *t, u32 at, const char *op, void *operand,
                       emu_action action) {
  struct gang *gang = gang_of(t);
  struct fiber *f = fiber_of(t);
  u32 squad = t->index / 128, first = t->block->first + squad * 128;
  struct meeting *m = &gang->squads[t->block->first / 128 + squad];
  if ((squad + 1) * 128 > t->block->threads)
    fail(t, at, "divergence", "%s needs 128 threads", op);
  if (!m->arrived) *m = (struct meeting){.op = op, .at = at};
  if (m->op != op || m->at != at) disagree(t, at, m, op);
  f->operand = operand;
  if (++m->arrived < 128) {
    park(t, at, op, m);
    return;
  }
  run_action(gang, first, 128, ~0u, action);
  m->arrived = 0;
  release(gang, first, 128, m);
}

/* ---- of a warp ---- */

static void sync_lanes(struct emu_thread **lanes, emu_lanes members, void **operands) {
  (void)operands;
  struct gang *gang = gang_of(lanes[0]);
  sync_group(gang, (u32)(fiber_of(lanes[0]) - gang->fibers), WARP, members);
}

void emu_warp_sync(struct emu_thread *t, u32 at, emu_lanes members) {
  meet(t, at, members, "a warp barrier", NULL, sync_lanes);
}

struct shuffle {
  u32 mode, value, mask, b, c, result, result_mask, inside;
};

/* PTX ISA, shfl.sync: the pseudocode for source lane and predicate. */
static void shuffle_lanes(struct emu_thread **lanes, emu_lanes members, void **operands) {
  for (u32 lane = 0; lane < WARP; lane++) {
    if (!(members >> lane & 1)) continue;
    struct shuffle *own = operands[lane];
    u32 b = own->b & 31, segment = own->c >> 8 & 31, clamp = own->c & 31;
    u32 highest = (lane & segment) | (clamp & ~segment), lowest = lane & segment;
    i32 from = (i32)lane;
    switch (own->mode) {
    case EMU_SHIFT_UP:
      from -= (i32)b;
      own->inside = from >= (i32)highest;
      break;
    case EMU_SHIFT_DOWN:
      from += (i32)b;
      own->inside = from <= (i32)highest;
      break;
    case EMU_SHIFT_XOR:
      from ^= (i32)b;
      own->inside = from <= (i32)highest;
      break;
    default:
      from = (i32)(lowest | (b & ~segment));
      own->inside = from <= (i32)highest;
    }
    if (!own->inside) from = (i32)lane;
    if (!(members >> from & 1))
      fail(lanes[lane], fiber_of(lanes[lane])->wait_at, "divergence",
           "a shuffle reads lane %d, which takes no part", from);
    own->result = ((struct shuffle *)operands[from])->value;
    own->result_mask = ((struct shuffle *)operands[from])->mask;
  }
}

u32 emu_shuffle(struct emu_thread *t, u32 at, u32 mode, u32 value, u32 *mask, u32 b, u32 c,
                u32 members, u32 *inside) {
  struct shuffle own = {.mode = mode, .value = value, .mask = *mask, .b = b, .c = c};
  fiber_of(t)->wait_at = at;
  meet(t, at, members, "a shuffle", &own, shuffle_lanes);
  *mask = own.result_mask;
  *inside = own.inside;
  return own.result;
}

struct ballot {
  u32 mode, op, type;
  emu_lanes result;
  u64 value;
};

static void vote_lanes(struct emu_thread **lanes, emu_lanes members, void **operands) {
  (void)lanes;
  emu_lanes set = 0;
  for (u32 i = 0; i < WARP; i++)
    if (members >> i & 1 && ((struct ballot *)operands[i])->value) set |= (emu_lanes)1 << i;
  emu_lanes results[] = {set == members, set != 0, set == members || !set, set};
  for (u32 i = 0; i < WARP; i++)
    if (members >> i & 1) {
      struct ballot *own = operands[i];
      own->result = results[own->mode];
    }
}

emu_lanes emu_vote(struct emu_thread *t, u32 at, u32 mode, u32 value, emu_lanes members) {
  struct ballot own = {.mode = mode, .value = value};
  meet(t, at, members, "a vote", &own, vote_lanes);
  return own.result;
}

static void match_lanes(struct emu_thread **lanes, emu_lanes members, void **operands) {
  (void)lanes;
  for (u32 i = 0; i < WARP; i++) {
    if (!(members >> i & 1)) continue;
    struct ballot *own = operands[i];
    for (u32 j = 0; j < WARP; j++)
      if (members >> j & 1 && ((struct ballot *)operands[j])->value == own->value)
        own->result |= (emu_lanes)1 << j;
  }
}

u32 emu_match(struct emu_thread *t, u32 at, u64 value, u32 members) {
  struct ballot own = {.value = value};
  meet(t, at, members, "a match", &own, match_lanes);
  return (u32)own.result;
}

static void reduce_lanes(struct emu_thread **lanes, emu_lanes members, void **operands) {
  (void)lanes;
  u32 first = (u32)__builtin_ctzll(members);
  struct ballot *one = operands[first];
  u64 total = one->value;
  for (u32 i = first + 1; i < WARP; i++)
    if (members >> i & 1)
      total = combine_integers(one->op, one->type, total, ((struct ballot *)operands[i])->value, 0);
  for (u32 i = 0; i < WARP; i++)
    if (members >> i & 1) ((struct ballot *)operands[i])->result = (u32)total;
}

u32 emu_reduce(struct emu_thread *t, u32 at, u32 op, u32 type, u32 value, u32 members) {
  struct ballot own = {.op = op, .type = type, .value = value};
  meet(t, at, members, "a reduction", &own, reduce_lanes);
  return (u32)own.result;
}

u32 emu_elect(struct emu_thread *t, u32 at, u32 members) {
  meet(t, at, members, "an election", NULL, NULL);
  t->elected = (u32)__builtin_ctz(members);
  return t->lane == t->elected;
}
