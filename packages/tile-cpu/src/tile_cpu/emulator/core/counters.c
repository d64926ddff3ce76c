/* What the accesses of a warp cost. Threads run one after the other, so the lanes of a warp come to
 * an instruction at different times: the n-th access of a lane at a position belongs together with
 * the n-th of the other lanes. */

enum { SECTOR = 32, BANKS = EMU_BANKS, BANK_BYTES = 4, MOST_ROUNDS = 1 << 12 };

/* One instruction of a warp: which lanes have come to it, and with which addresses. */
struct round {
  emu_lanes lanes;
  u64 address[WARP];
};

/* All that a warp does at a position; `rounds` is a ring of those that lanes still miss. */
struct trail {
  u64 key;
  struct trail *next;
  u32 bytes, first, count, room, turns[WARP];
  struct round *rounds;
};

enum { TRAILS = 1024 };

static struct trail *trail_of(struct emu_thread *t, u32 at, u32 kind) {
  struct gang *gang = gang_of(t);
  u32 me = (u32)(fiber_of(t) - gang->fibers);
  u64 key = ((u64)(me - t->lane) << 32 | at) << 1 | kind;
  struct trail **place = &gang->trails[(key * 0x9e3779b97f4a7c15ull) >> 54];
  for (struct trail *found = *place; found; found = found->next)
    if (found->key == key) return found;
  struct trail *made = calloc(1, sizeof *made);
  made->key = key;
  made->room = 4;
  made->rounds = calloc(made->room, sizeof *made->rounds);
  made->next = *place;
  return *place = made;
}

/* Adds a value to a set of few, most of which come in ascending order. */
static u32 add_once(u64 *set, u32 count, u64 value) {
  for (u32 i = count; i > 0; i--)
    if (set[i - 1] == value) return count;
  set[count] = value;
  return count + 1;
}

/* 32-byte sectors that are touched, and how few could hold as many bytes. */
static void count_sectors(struct gang *gang, const struct round *round, u32 bytes) {
  u64 sectors[WARP * 2], places[WARP];
  u32 touched = 0, distinct = 0;
  for (u32 i = 0; i < WARP; i++) {
    if (!(round->lanes >> i & 1)) continue;
    u64 first = round->address[i] / SECTOR, last = (round->address[i] + bytes - 1) / SECTOR;
    touched = add_once(sectors, touched, first);
    if (last != first) touched = add_once(sectors, touched, last);
    distinct = add_once(places, distinct, round->address[i]);
  }
  gang->counters[COUNT_SECTORS] += touched;
  gang->counters[COUNT_SECTORS_NEEDED] += (distinct * bytes + SECTOR - 1) / SECTOR;
}

/* Turns beyond those that the bytes need: as many lanes as fill all banks go together, and
 * different words of one bank take turns. */
static void count_turns(struct gang *gang, const struct round *round, u32 bytes) {
  u32 words = bytes > BANK_BYTES ? bytes / BANK_BYTES : 1, together = BANKS / words;
  if (together > WARP) together = WARP;
  for (u32 start = 0; start < WARP; start += together) {
    u64 places[BANKS];
    u8 turns[BANKS] = {0};
    u32 distinct = 0, most = 1;
    for (u32 i = start; i < start + together; i++) {
      for (u32 w = 0; round->lanes >> i & 1 && w < words; w++) {
        u64 word = round->address[i] / BANK_BYTES + w;
        u32 before = distinct;
        distinct = add_once(places, distinct, word);
        if (distinct == before) continue;
        u32 n = ++turns[word % BANKS];
        most = n > most ? n : most;
      }
    }
    gang->counters[COUNT_CONFLICTS] += most - 1;
  }
}

static void count_round(struct gang *gang, const struct trail *trail, const struct round *round) {
  (trail->key & 1 ? count_turns : count_sectors)(gang, round, trail->bytes);
}

static void count_oldest(struct gang *gang, struct trail *trail) {
  struct round *oldest = &trail->rounds[trail->first % trail->room];
  if (oldest->lanes) count_round(gang, trail, oldest);
  oldest->lanes = 0;
  trail->first++;
  trail->count--;
}

static void grow(struct trail *trail) {
  struct round *more = calloc(2 * trail->room, sizeof *more);
  for (u32 i = trail->first; i < trail->first + trail->count; i++)
    more[i % (2 * trail->room)] = trail->rounds[i % trail->room];
  free(trail->rounds);
  trail->rounds = more;
  trail->room *= 2;
}

/* An access of one lane to shared memory (`kind` 1) or to global memory (0), whose tensors count as
 * if each began at a sector: where they lie in the host's memory says nothing. */
static void count_access(struct emu_thread *t, u32 at, u32 kind, u64 address, u32 bytes) {
  struct gang *gang = gang_of(t);
  struct trail *trail = trail_of(t, at, kind);
  u32 n = trail->turns[t->lane]++;
  trail->bytes = bytes;
  if (n < trail->first) { /* the others are far ahead */
    struct round alone = {.lanes = (emu_lanes)1 << t->lane};
    alone.address[t->lane] = address;
    count_round(gang, trail, &alone);
    return;
  }
  while (n - trail->first >= trail->count) {
    if (trail->count == MOST_ROUNDS) count_oldest(gang, trail);
    if (trail->count == trail->room) grow(trail);
    trail->count++;
  }
  struct round *round = &trail->rounds[n % trail->room];
  round->lanes |= (emu_lanes)1 << t->lane;
  round->address[t->lane] = address;
  while (trail->count && trail->rounds[trail->first % trail->room].lanes == all_lanes(t))
    count_oldest(gang, trail);
}

/* The blocks have ended: what some lanes never came to is counted as it is. */
static void end_trails(struct gang *gang) {
  for (u32 i = 0; i < TRAILS; i++)
    for (struct trail *trail = gang->trails[i]; trail; trail = trail->next) {
      while (trail->count) count_oldest(gang, trail);
      trail->first = 0;
      memset(trail->turns, 0, sizeof trail->turns);
    }
}

static void free_trails(struct gang *gang) {
  for (u32 i = 0; i < TRAILS; i++)
    for (struct trail *trail = gang->trails[i], *next; trail; trail = next) {
      next = trail->next;
      free(trail->rounds);
      free(trail);
    }
  free(gang->trails);
}
