/* Races in shared memory by vector clocks. A thread's clock advances when it publishes at a
 * barrier; a view says up to which clock it has seen every other thread. Two accesses of which one
 * writes race unless the later one's view contains the earlier one (Flanagan and Freund, FastTrack,
 * PLDI 2009, with at most two readers remembered for each byte). Views are shared until they
 * change, since after a barrier all threads have the same one. */

enum { CLOCK_BITS = 20, CLOCK_MASK = (1 << CLOCK_BITS) - 1 };
#define BY_ENGINE (1u << 31) /* in the position of a write: no thread's own store did it */

static struct view *new_view(const struct gang *gang, const struct view *like) {
  size_t bytes = sizeof(struct view) + sizeof(u32) * gang->threads;
  struct view *made = calloc(1, bytes);
  if (like) memcpy(made, like, bytes);
  made->from = NULL;
  made->users = 1;
  return made;
}

static struct view *share(struct view *view) {
  if (view) view->users++;
  return view;
}

static void drop(struct view *view) {
  if (!view || --view->users) return;
  drop(view->from);
  free(view);
}

static void replace(struct view **place, struct view *view) {
  struct view *before = *place;
  *place = share(view);
  drop(before);
}

/* The place's own copy, which may be changed. */
static struct view *owned(const struct gang *gang, struct view **place) {
  if (!*place || (*place)->users > 1) {
    struct view *made = new_view(gang, *place);
    drop(*place);
    *place = made;
  }
  return *place;
}

static void join(const struct gang *gang, struct view **place, struct view *more) {
  if (!more || *place == more || (*place && (*place)->from == more)) return;
  struct view *own = owned(gang, place);
  /* What is shared does not change; no more than one is held behind another. */
  replace(&more->from, NULL);
  replace(&own->from, more);
  for (u32 i = 0; i < gang->threads; i++)
    own->seen[i] = own->seen[i] > more->seen[i] ? own->seen[i] : more->seen[i];
}

static void publish(struct emu_thread *t, struct view **at) {
  struct gang *gang = gang_of(t);
  struct fiber *f = fiber_of(t);
  if (!gang->launch->check_races) return;
  join(gang, at, f->view);
  owned(gang, at)->seen[f - gang->fibers] = f->clock;
  f->clock++;
}

static void acquire(struct emu_thread *t, struct view *from) {
  struct gang *gang = gang_of(t);
  if (gang->launch->check_races) join(gang, &fiber_of(t)->view, from);
}

/* All of these threads have met: from now on they have the same view. */
static void sync_group(struct gang *gang, u32 first, u32 count, emu_lanes members) {
  if (!gang->launch->check_races) return;
  struct view *all = NULL;
  for (u32 i = 0; i < count; i++)
    if (count > WARP || members >> i & 1) publish(&gang->fibers[first + i].t, &all);
  for (u32 i = 0; i < count; i++)
    if (count > WARP || members >> i & 1) replace(&gang->fibers[first + i].view, all);
  drop(all);
}

static inline int is_before(const struct fiber *f, u32 me, u32 stamp) {
  u32 who = stamp >> CLOCK_BITS;
  return !stamp || who == me || (f->view && f->view->seen[who] >= (stamp & CLOCK_MASK));
}

static void report_race(struct emu_thread *t, u32 at, struct emu_block *home, u64 offset, u32 stamp,
                        const char *what, const char *other, u32 other_at) {
  struct fiber *who = &gang_of(t)->fibers[stamp >> CLOCK_BITS];
  fail(t, at, "race", "%s shared byte %llu of block %u, which thread %u %s without a barrier "
       "between them\n#%u:%u the other access", what, offset, home->rank, who->t.index, other,
       other_at & ~BY_ENGINE, who->t.rank);
}

static void read_at_clock(struct emu_thread *t, u32 at, struct emu_block *home, u64 offset,
                          u32 bytes, u32 clock) {
  struct gang *gang = gang_of(t);
  struct fiber *f = fiber_of(t);
  if (!gang->launch->check_races) return;
  u32 me = (u32)(f - gang->fibers), stamp = me << CLOCK_BITS | (clock & CLOCK_MASK);
  for (u64 i = offset; i < offset + bytes; i++) {
    struct cell *cell = &home->cells[i];
    if (!is_before(f, me, cell->writer))
      report_race(t, at, home, i, cell->writer, "reads", "writes", home->positions[i / 4].writer);
    if (is_before(f, me, cell->reader)) {
      cell->reader = stamp;
      if (is_before(f, me, cell->other)) cell->other = 0; /* its own pending read, for one */
    } else {
      cell->other = stamp;
    }
    home->positions[i / 4].reader = at;
  }
}

static void note_read(struct emu_thread *t, u32 at, struct emu_block *home, u64 offset, u32 bytes) {
  read_at_clock(t, at, home, offset, bytes, fiber_of(t)->clock);
}

/* A read that may happen at any time from now on, until the thread notes it again: a clock that no
 * other thread can have seen. */
static void note_pending_read(struct emu_thread *t, u32 at, struct emu_block *home, u64 offset,
                              u32 bytes) {
  read_at_clock(t, at, home, offset, bytes, CLOCK_MASK);
}

static void note_write(struct emu_thread *t, u32 at, struct emu_block *home, u64 offset,
                       u32 bytes) {
  struct gang *gang = gang_of(t);
  struct fiber *f = fiber_of(t);
  if (!gang->launch->check_races) return;
  u32 me = (u32)(f - gang->fibers), stamp = me << CLOCK_BITS | (f->clock & CLOCK_MASK);
  for (u64 i = offset; i < offset + bytes; i++) {
    struct cell *cell = &home->cells[i];
    if (!is_before(f, me, cell->writer))
      report_race(t, at, home, i, cell->writer, "writes", "writes", home->positions[i / 4].writer);
    u32 reader = is_before(f, me, cell->reader) ? cell->other : cell->reader;
    if (!is_before(f, me, reader))
      report_race(t, at, home, i, reader, "writes", "reads", home->positions[i / 4].reader);
    *cell = (struct cell){.writer = stamp};
    home->positions[i / 4].writer = at;
  }
}

/* ---- engines: bulk copies, and matrix units that read shared memory by themselves ---- */

/* What this thread wrote or has seen written is seen by engines from now on. */
void emu_fence_engines(struct emu_thread *t) {
  struct gang *gang = gang_of(t);
  struct fiber *f = fiber_of(t);
  if (!gang->launch->check_races) return;
  if (f->view && f->view != gang->engine_from) {
    join(gang, &gang->engine_view, f->view);
    replace(&gang->engine_from, f->view);
  }
  owned(gang, &gang->engine_view)->seen[f - gang->fibers] = f->clock;
  f->clock++;
}

static void note_engine_write(struct emu_block *home, u64 offset, u32 bytes) {
  if (!home->cells) return;
  for (u64 i = offset / 4; i * 4 < offset + bytes; i++) home->positions[i].writer |= BY_ENGINE;
}

static void note_engine_read(struct emu_thread *t, u32 at, struct emu_block *home, u64 offset,
                             u32 bytes) {
  struct gang *gang = gang_of(t);
  const struct view *seen = gang->engine_view;
  if (!home->cells) return;
  for (u64 i = offset; i < offset + bytes; i++) {
    u32 stamp = home->cells[i].writer, who = stamp >> CLOCK_BITS;
    u32 other = home->positions[i / 4].writer;
    if (!stamp || other & BY_ENGINE) continue;
    if (seen && seen->seen[who] >= (stamp & CLOCK_MASK)) continue;
    fail(t, at, "fence", "an engine reads shared byte %llu of block %u, which thread %u wrote "
         "without a fence for engines behind it\n#%u:%u the write", i, home->rank,
         gang->fibers[who].t.index, other, home->rank);
  }
}
