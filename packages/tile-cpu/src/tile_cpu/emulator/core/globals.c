/* Races in global memory. Of every word the last two writers and two readers are remembered: which
 * cluster of blocks, which of its threads at which clock, and when. Inside a cluster the views of
 * races.c decide. Between clusters there is one clock for all: an access is seen by whoever looked
 * at memory that others change (an atomic operation, a load that is `strong`) after the cluster of
 * that access had issued a fence behind it. So an order through other words may hide a race, but what is
 * reported is one. */

enum { TRACE_STRONG = 16, TRACE_SHIFT = 5, STRIPES = 256, STRIPE_WORDS = 8 };

struct trace {
  u32 gang, stamp, time, what; /* what: the position, whether it is strong, which bytes */
};

struct word {
  struct trace writers[2], readers[2];
};

/* When the blocks of a cluster issued fences. */
struct fences {
  u32 count, room, *times;
};

static u8 stripes[STRIPES];

static void lock_stripe(u64 index) {
  while (__atomic_test_and_set(&stripes[index / STRIPE_WORDS % STRIPES], __ATOMIC_ACQUIRE)) {
  }
}

static void unlock_stripe(u64 index) {
  __atomic_clear(&stripes[index / STRIPE_WORDS % STRIPES], __ATOMIC_RELEASE);
}

static u64 words_of(const struct region *r) { return (r->bytes + (r->base & 3) + 3) / 4; }

static void watch_regions(struct emu_launch *launch) {
  u64 clusters = (u64)launch->grid[0] * launch->grid[1] * launch->grid[2] / launch->cluster;
  launch->time = 1;
  launch->fences = NULL;
  for (u32 i = 0; i < launch->count_regions; i++) launch->regions[i].words = NULL;
  if (!launch->check_races) return;
  launch->fences = calloc(clusters + 1, sizeof *launch->fences);
  for (u32 i = 0; i < launch->count_regions; i++) {
    struct region *r = &launch->regions[i];
    if (r->writable) r->words = map_memory(words_of(r) * sizeof(struct word));
  }
}

static void forget_regions(struct emu_launch *launch) {
  u64 clusters = (u64)launch->grid[0] * launch->grid[1] * launch->grid[2] / launch->cluster;
  for (u32 i = 0; i < launch->count_regions; i++) {
    struct region *r = &launch->regions[i];
    if (r->words) munmap(r->words, words_of(r) * sizeof(struct word));
  }
  for (u64 i = 0; launch->fences && i <= clusters; i++) free(launch->fences[i].times);
  free(launch->fences);
}

/* What this thread has seen is seen by those who look later; `device`: also in other blocks. */
void emu_fence(struct emu_thread *t, u32 device) {
  struct gang *gang = gang_of(t);
  struct emu_launch *launch = gang->launch;
  if (!launch->check_races) return;
  publish(t, &gang->fence_view);
  if (!device || !gang->dirty) return;
  pthread_mutex_lock(&launch->lock);
  struct fences *own = &launch->fences[gang->number];
  if (own->count == own->room) {
    own->room = own->room ? 2 * own->room : 8;
    own->times = realloc(own->times, own->room * sizeof *own->times);
  }
  own->times[own->count++] = ++launch->time;
  gang->dirty = 0;
  pthread_mutex_unlock(&launch->lock);
}

/* This thread has looked at memory that others change: afterwards, for what it found there may be
 * newer than a look at the clock before. */
static void look_around(struct emu_thread *t) {
  struct gang *gang = gang_of(t);
  if (!gang->launch->check_races) return;
  __atomic_thread_fence(__ATOMIC_ACQUIRE);
  gang->seen_until = __atomic_load_n(&gang->launch->time, __ATOMIC_ACQUIRE);
  acquire(t, gang->fence_view);
}

static int has_seen(const struct gang *gang, const struct trace *a) {
  struct emu_launch *launch = gang->launch;
  u32 first = ~0u;
  if (gang->seen_until <= a->time) return 0;
  pthread_mutex_lock(&launch->lock);
  const struct fences *of = &launch->fences[a->gang - 1];
  for (u32 i = of->count; i > 0 && of->times[i - 1] > a->time; i--) first = of->times[i - 1];
  pthread_mutex_unlock(&launch->lock);
  return first <= gang->seen_until;
}

static int is_ordered(const struct fiber *f, u32 me, const struct trace *a) {
  const struct gang *gang = f->t.block->gang;
  return a->gang == gang->number + 1 ? is_before(f, me, a->stamp) : has_seen(gang, a);
}

/* The first of two traces that has no order to this access; null where there is none. */
static const struct trace *conflict(const struct fiber *f, u32 me, const struct trace *two,
                                    u32 what) {
  for (u32 i = 0; i < 2; i++) {
    const struct trace *a = &two[i];
    if (!a->gang || !(a->what & what & 15) || (a->what & what & TRACE_STRONG)) continue;
    if (!is_ordered(f, me, a)) return a;
  }
  return NULL;
}

/* The newest access takes the place of those that it follows in its cluster or, where all are
 * strong, in memory; else of the older one. */
static void put_trace(const struct fiber *f, u32 me, struct trace *two, struct trace made) {
  for (u32 i = 0; i < 2; i++) {
    struct trace *a = &two[i];
    int covered = !(a->what & 15 & ~made.what);
    int follows = a->gang == made.gang && is_before(f, me, a->stamp);
    if (covered && (follows || (a->what & made.what & TRACE_STRONG))) a->gang = 0;
  }
  if (two[1].gang) two[0] = two[1];
  two[1] = made;
}

static void report_global(struct emu_thread *t, u32 at, const struct region *r, u64 offset,
                          int write, const struct trace *a, int other_writes) {
  const struct gang *gang = gang_of(t);
  u32 size = gang->blocks->threads, index = a->stamp >> CLOCK_BITS;
  u64 block = (u64)(a->gang - 1) * gang->launch->cluster + index / size;
  fail(t, at, "race", "%s byte %llu of &%u, which thread %u of block %llu %s without an order "
       "between them\n#%u:%u the other access", write ? "writes" : "reads", offset, r->name,
       index % size, block, other_writes ? "writes" : "reads", a->what >> TRACE_SHIFT, 0);
}

/* An access; `kind` is GLOBAL_READ or GLOBAL_WRITE, and GLOBAL_STRONG where others may do the same
 * at the same time. */
static void note_global(struct emu_thread *t, u32 at, struct region *r, u64 address, u32 bytes,
                        u32 kind) {
  if (!r->words) return;
  struct gang *gang = gang_of(t);
  struct fiber *f = fiber_of(t);
  u32 me = (u32)(f - gang->fibers), strong = kind & GLOBAL_STRONG ? TRACE_STRONG : 0;
  int write = kind & GLOBAL_WRITE;
  struct trace made = {.gang = gang->number + 1,
                       .stamp = me << CLOCK_BITS | (f->clock & CLOCK_MASK),
                       .time = __atomic_load_n(&gang->launch->time, __ATOMIC_RELAXED)};
  u64 start = address - (r->base & ~3ull), end = start + bytes;
  if (write) gang->dirty = 1;
  for (u64 i = start / 4; i * 4 < end; i++) {
    struct word *word = &r->words[i];
    u32 first = i * 4 < start ? (u32)(start - i * 4) : 0;
    u32 last = end - i * 4 < 4 ? (u32)(end - i * 4) : 4;
    made.what = at << TRACE_SHIFT | strong | ((1u << last) - (1u << first));
    lock_stripe(i);
    const struct trace *writer = conflict(f, me, word->writers, made.what);
    const struct trace *other = writer || !write ? writer
                                                 : conflict(f, me, word->readers, made.what);
    if (other) {
      struct trace found = *other;
      unlock_stripe(i);
      report_global(t, at, r, i * 4 + first - (r->base & 3), write, &found, writer != NULL);
    }
    put_trace(f, me, write ? word->writers : word->readers, made);
    unlock_stripe(i);
  }
}
