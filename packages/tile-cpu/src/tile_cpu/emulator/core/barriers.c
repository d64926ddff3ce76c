/* Barriers of a block, by number; of a cluster; and those in shared memory that count phases. */

static void release_named(struct emu_block *block, struct named_barrier *barrier) {
  struct gang *gang = block->gang;
  for (u32 i = block->first; i < block->first + block->threads; i++)
    if (gang->fibers[i].wait == barrier && gang->launch->check_races)
      replace(&gang->fibers[i].view, barrier->view);
  u32 results[] = {barrier->votes_all == barrier->arrived, barrier->votes_any != 0,
                   barrier->votes_count};
  barrier->result = results[0] | results[1] << 1 | results[2] << 2;
  barrier->arrived = barrier->votes_all = barrier->votes_any = barrier->votes_count = 0;
  drop(barrier->view);
  barrier->view = NULL;
  release(gang, block->first, block->threads, barrier);
}

/* The warps of which some lanes wait here and others have ended can never be whole again. */
static void check_whole_warps(struct emu_thread *t, u32 at, const struct named_barrier *barrier) {
  struct emu_block *block = t->block;
  struct fiber *fibers = block->gang->fibers + block->first;
  for (u32 i = 0; i < block->threads; i++) {
    struct fiber *f = &fibers[i], *head = &fibers[i - i % WARP];
    int here = f->wait == barrier || &f->t == t, head_here = head->wait == barrier || &head->t == t;
    if (here != head_here)
      fail(t, at, "divergence", "a barrier that only some threads of warp %u reach\n#%u:%u thread "
           "%u %s", i / WARP, f->wait_at, f->t.rank, i, f->exited ? "has ended" : "is elsewhere");
  }
}

static u32 arrive(struct emu_thread *t, u32 at, u32 id, u32 count, u32 only, u32 value) {
  struct emu_block *block = t->block;
  if (id >= NAMED) fail(t, at, "barrier", "barrier %u of %u", id, NAMED);
  struct named_barrier *barrier = &block->named[id];
  u32 expected = count ? count : block->alive;
  if (count % WARP) fail(t, at, "barrier", "%u threads, which are no whole warps", count);
  if (barrier->arrived && barrier->expected != count)
    fail(t, at, "barrier",
         "barrier %u for %u threads, and for %u elsewhere\n#%u:%u the other place",
         id, count, barrier->expected, barrier->at, t->rank);
  block->gang->counters[COUNT_BARRIERS]++;
  barrier->expected = count;
  barrier->at = at;
  publish(t, &barrier->view);
  barrier->arrived++;
  barrier->votes_all += value != 0;
  barrier->votes_any |= value != 0;
  barrier->votes_count += value != 0;
  if (barrier->arrived > expected) fail(t, at, "barrier", "more threads than barrier %u has", id);
  if (barrier->arrived == expected) {
    if (!count) check_whole_warps(t, at, barrier);
    acquire(t, barrier->view);
    release_named(block, barrier);
  } else if (!only) {
    park(t, at, "waits at a barrier", barrier);
  }
  return barrier->result;
}

void emu_barrier(struct emu_thread *t, u32 at, u32 id, u32 count, u32 only) {
  if (!only) gang_of(t)->counters[COUNT_WAITS]++;
  arrive(t, at, id, count, only, 0);
}

u32 emu_barrier_reduce(struct emu_thread *t, u32 at, u32 id, u32 count, u32 op, u32 value) {
  gang_of(t)->counters[COUNT_WAITS]++;
  u32 result = arrive(t, at, id, count, 0, value);
  return op == 0 ? result & 1 : op == 1 ? result >> 1 & 1 : result >> 2;
}

/* A thread has ended: the barriers of the whole block wait for one less. */
static void left_barriers(struct emu_thread *t) {
  struct emu_block *block = t->block;
  struct named_barrier *barrier = &block->named[0];
  if (barrier->arrived && !barrier->expected && barrier->arrived == block->alive) {
    check_whole_warps(t, barrier->at, barrier);
    release_named(block, barrier);
  }
}

/* ---- of a cluster ---- */

void emu_cluster_arrive(struct emu_thread *t, u32 at) {
  struct gang *gang = gang_of(t);
  (void)at;
  gang->counters[COUNT_BARRIERS]++;
  publish(t, &gang->cluster_view);
  fiber_of(t)->commits = gang->cluster_generation + 1;
  if (++gang->cluster_arrived == gang->alive) {
    gang->cluster_arrived = 0;
    gang->cluster_generation++;
    notify(gang, &gang->cluster_generation);
  }
}

void emu_cluster_wait(struct emu_thread *t, u32 at) {
  struct gang *gang = gang_of(t);
  if (!fiber_of(t)->commits) fail(t, at, "barrier", "a wait at the cluster without an arrival");
  while (gang->cluster_generation < fiber_of(t)->commits)
    park(t, at, "waits for the cluster", &gang->cluster_generation);
  gang->counters[COUNT_WAITS]++;
  acquire(t, gang->cluster_view);
}

/* ---- counting phases ---- */

static struct phase *find_phase(struct emu_thread *t, u32 at, u64 address,
                                struct emu_block **home) {
  char *place = shared_place(t, at, address, 8, 8, home);
  u64 offset = (u64)(place - (*home)->shared);
  for (u32 i = 0; i < (*home)->phase_count; i++) {
    struct phase *p = &(*home)->phases[i];
    if (p->live && p->address == offset) return p;
  }
  fail(t, at, "barrier", "there is no initialised barrier at shared address %llu", address);
}

void emu_phase_init(struct emu_thread *t, u32 at, u64 address, u32 count) {
  struct emu_block *home;
  char *place = shared_place(t, at, address, 8, 8, &home);
  u64 offset = (u64)(place - home->shared);
  if (!count || count >= 1u << 20) fail(t, at, "barrier", "a barrier of %u arrivals", count);
  struct phase *own = NULL;
  for (u32 i = 0; i < home->phase_count; i++)
    if (!own && (!home->phases[i].live || home->phases[i].address == offset))
      own = &home->phases[i];
  if (!own) {
    if (home->phase_count == MAX_PHASES)
      fail(t, at, "barrier", "more than %d barriers", MAX_PHASES);
    own = &home->phases[home->phase_count++];
  }
  if (own->live && (own->pending != own->count || own->bytes))
    fail(t, at, "barrier", "a barrier is initialised while it is used");
  *own = (struct phase){.address = offset, .live = 1, .count = count, .pending = count};
  note_write(t, at, home, offset, 8);
  memset(place, 0, 8);
  memset(home->mask + offset, 0, 8);
}

void emu_phase_drop(struct emu_thread *t, u32 at, u64 address) {
  struct emu_block *home;
  struct phase *p = find_phase(t, at, address, &home);
  p->live = 0;
}

static void end_phase(struct gang *gang, struct phase *p) {
  if (p->pending || p->bytes) return;
  p->parity ^= 1;
  p->pending = p->count;
  replace(&p->complete, p->view);
  notify(gang, p);
}

void emu_phase_expect(struct emu_thread *t, u32 at, u64 address, i32 bytes) {
  struct emu_block *home;
  struct phase *p = find_phase(t, at, address, &home);
  p->bytes += bytes;
}

/* Bytes that a thread itself has sent are there. */
void emu_phase_complete(struct emu_thread *t, u32 at, u64 address, i32 bytes) {
  struct emu_block *home;
  struct phase *p = find_phase(t, at, address, &home);
  publish(t, &p->view);
  p->bytes -= bytes;
  end_phase(gang_of(t), p);
}

u64 emu_phase_arrive(struct emu_thread *t, u32 at, u64 address, u32 count, i32 bytes) {
  struct emu_block *home;
  struct phase *p = find_phase(t, at, address, &home);
  u64 token = p->parity;
  p->bytes += bytes;
  if (count > p->pending)
    fail(t, at, "barrier", "more arrivals than the %u of the barrier at %llu", p->count, address);
  gang_of(t)->counters[COUNT_BARRIERS]++;
  publish(t, &p->view);
  p->pending -= count;
  end_phase(gang_of(t), p);
  return token;
}

u32 emu_phase_wait(struct emu_thread *t, u32 at, u64 address, u32 parity, u32 block) {
  struct emu_block *home;
  struct phase *p = find_phase(t, at, address, &home);
  if (parity > 1) fail(t, at, "barrier", "a parity of %u", parity);
  if (p->parity == parity && !block) emu_yield(t, at);
  if (p->parity == parity && !block) return 0;
  while (p->parity == parity) park(t, at, "waits for a phase", p);
  gang_of(t)->counters[COUNT_WAITS]++;
  acquire(t, p->complete);
  return 1;
}
