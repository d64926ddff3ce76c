/* Copies that run beside the threads. They are done as late as the program allows: a thread's own
 * copies at its wait, those of the bulk engine when no thread can go on without them. */

static void push_copy(struct copy_queue *q, struct async_copy copy) {
  if (q->count == q->room) {
    q->room = q->room ? 2 * q->room : 16;
    q->items = realloc(q->items, q->room * sizeof *q->items);
  }
  q->items[q->count++] = copy;
}

static void push_group(struct emu_thread *t, struct copy_queue *q) {
  if (q->groups == sizeof q->ends / sizeof *q->ends)
    fail(t, 0, "barrier", "more than %u groups of copies are never waited for", q->groups);
  q->ends[q->groups++] = q->count;
}

/* Take the oldest groups out until `pending` are left; returns how many copies those were. */
static u32 pop_groups(struct copy_queue *q, u32 pending, struct async_copy **items) {
  u32 done = q->groups > pending ? q->groups - pending : 0;
  u32 copies = done ? q->ends[done - 1] : 0;
  *items = malloc((copies + 1) * sizeof **items);
  if (copies) memcpy(*items, q->items, copies * sizeof **items);
  if (q->count > copies)
    memmove(q->items, q->items + copies, (q->count - copies) * sizeof *q->items);
  q->count -= copies;
  for (u32 i = done; i < q->groups; i++) q->ends[i - done] = q->ends[i] - copies;
  q->groups -= done;
  return copies;
}

/* ---- a thread's own copies ---- */

void emu_copy(struct emu_thread *t, u32 at, u64 to, u64 from, u32 bytes, u32 valid) {
  struct emu_block *home;
  shared_place(t, at, to, bytes, bytes, &home);
  if (valid > bytes) fail(t, at, "bounds", "%u of %u bytes are copied", valid, bytes);
  if (valid) {
    check_alignment(t, at, from, bytes);
    struct region *r = global_region(t, at, from, valid, 1, 0);
    count_access(t, at, 0, from - r->base, valid);
  }
  gang_of(t)->counters[COUNT_ASYNC_BYTES] += bytes;
  struct async_copy copy = {.to = to, .from = from, .bytes = bytes, .valid = valid, .at = at};
  push_copy(&fiber_of(t)->copies, copy);
}

void emu_copy_commit(struct emu_thread *t) { push_group(t, &fiber_of(t)->copies); }

static void do_copy(struct emu_thread *t, const struct async_copy *c) {
  char value[16] = {0}, mask[16] = {0};
  if (c->valid) {
    struct region *r = global_region(t, c->at, c->from, c->valid, 1, 0);
    note_global(t, c->at, r, c->from, c->valid, GLOBAL_READ);
    memcpy(value, (char *)(uintptr_t)c->from, c->valid);
    if (r->mask) memcpy(mask, r->mask + (c->from - r->base), c->valid);
  }
  emu_store(t, c->at, EMU_SHARED, c->to, c->bytes, value, mask);
  struct emu_block *home;
  char *place = shared_place(t, c->at, c->to, c->bytes, c->bytes, &home);
  note_engine_write(home, (u64)(place - home->shared), c->bytes);
}

void emu_copy_wait(struct emu_thread *t, u32 at, u32 pending) {
  struct async_copy *items;
  (void)at;
  u32 count = pop_groups(&fiber_of(t)->copies, pending, &items);
  for (u32 i = 0; i < count; i++) do_copy(t, &items[i]);
  free(items);
}

/* ---- the bulk engine ---- */

enum { BULK_LOAD, BOX_LOAD, BULK_STORE, BOX_STORE };

/* A tensor for copies of boxes, as the host describes it to this emulator. */
struct box_map {
  u64 base, extents[5], strides[5]; /* innermost first; bytes between neighbours */
  u32 box[5], element, row_bytes, rank;
  u32 adds; /* whether elements are numbers (f32) that a store may add */
};

static void push_job(struct emu_thread *t, struct job job) {
  struct gang *gang = gang_of(t);
  if (gang->job_count == gang->job_room) {
    gang->job_room = gang->job_room ? 2 * gang->job_room : 64;
    gang->jobs = realloc(gang->jobs, gang->job_room * sizeof *gang->jobs);
  }
  job.t = t;
  job.view = share(fiber_of(t)->view);
  job.clock = fiber_of(t)->clock;
  gang->jobs[gang->job_count++] = job;
  gang->counters[COUNT_ASYNC_BYTES] += job.bytes;
}

/* Exchanged rows: bits 4 to 6 of the address take the exclusive or of bits 7 to 9, as many of them
 * as the row has (PTX ISA, swizzling modes). */
static u64 exchanged(u64 address, u32 row_bytes) {
  u64 bits = row_bytes / 16 - 1;
  return address ^ (address >> 7 & bits) << 4;
}

/* Where a box may begin: measured on a device, which stops with an illegal instruction elsewhere. */
static void check_start(struct emu_thread *t, u32 at, const struct box_map *m, const i32 *start,
                        int stores) {
  if ((i64)start[0] * m->element % 16)
    fail(t, at, "alignment", "a box that begins at element %d of a row, no multiple of 16 bytes",
         start[0]);
  for (u32 i = 0; stores && i < m->rank; i++)
    if (start[i] < 0)
      fail(t, at, "bounds", "a box stored from place %d of axis %u on, before the tensor", start[i],
           m->rank - 1 - i);
}

static void check_box(struct emu_thread *t, u32 at, const struct box_map *m, u32 rank, u64 shared) {
  if (m->rank != rank)
    fail(t, at, "barrier", "a box of %u axes of a tensor that has %u", rank, m->rank);
  if (shared % 128)
    fail(t, at, "alignment", "a box at shared address %llu, no multiple of 128", shared);
}

static u32 box_bytes(const struct box_map *m) {
  u32 bytes = m->element;
  for (u32 i = 0; i < m->rank; i++) bytes *= m->box[i];
  return bytes;
}

void emu_box_load(struct emu_thread *t, u32 at, u64 to, u64 map, u32 rank, const i32 *start,
                  u64 barrier, u32 blocks) {
  const struct box_map *m = (const struct box_map *)(uintptr_t)map;
  struct job job = {.at = at, .kind = BOX_LOAD, .rank = rank, .to = to, .map = map,
                    .barrier = barrier, .blocks = blocks};
  struct emu_block *home;
  check_box(t, at, m, rank, to & 0xffffff);
  check_start(t, at, m, start, 0);
  job.bytes = box_bytes(m);
  shared_place(t, at, to, job.bytes, 16, &home);
  find_phase(t, at, barrier, &home);
  memcpy(job.start, start, rank * sizeof *start);
  push_job(t, job);
}

void emu_bulk_load(struct emu_thread *t, u32 at, u64 to, u64 from, u32 bytes, u64 barrier) {
  struct job job = {.at = at, .kind = BULK_LOAD, .bytes = bytes, .to = to, .from = from,
                    .barrier = barrier};
  struct emu_block *home;
  if (bytes % 16 || from % 16) fail(t, at, "alignment", "%u bytes from 0x%llx", bytes, from);
  shared_place(t, at, to, bytes, 16, &home);
  global_region(t, at, from, bytes, 16, 0);
  find_phase(t, at, barrier, &home);
  push_job(t, job);
}

void emu_bulk_store(struct emu_thread *t, u32 at, u64 to, u64 from, u32 bytes) {
  struct job job = {.at = at, .kind = BULK_STORE, .bytes = bytes, .to = to, .from = from,
                    .group = fiber_of(t)->bulk_groups};
  struct emu_block *home;
  if (bytes % 16 || to % 16) fail(t, at, "alignment", "%u bytes to 0x%llx", bytes, to);
  shared_place(t, at, from, bytes, 16, &home);
  global_region(t, at, to, bytes, 16, 1);
  push_job(t, job);
}

void emu_box_store(struct emu_thread *t, u32 at, u64 map, u64 from, u32 rank, const i32 *start,
                   u32 op) {
  const struct box_map *m = (const struct box_map *)(uintptr_t)map;
  struct job job = {.at = at, .kind = BOX_STORE, .rank = rank, .from = from, .map = map, .op = op,
                    .group = fiber_of(t)->bulk_groups};
  struct emu_block *home;
  check_box(t, at, m, rank, from & 0xffffff);
  check_start(t, at, m, start, 1);
  if (op && !m->adds) fail(t, at, "box", "numbers are added to a tensor whose map has bits only");
  job.bytes = box_bytes(m);
  shared_place(t, at, from, job.bytes, 16, &home);
  memcpy(job.start, start, rank * sizeof *start);
  push_job(t, job);
}

void emu_bulk_commit(struct emu_thread *t) { fiber_of(t)->bulk_groups++; }

/* Where element number `n` of a box lies in the tensor; 0 outside of it. */
static u64 element_address(const struct box_map *m, const i32 *start, u64 n) {
  u64 address = m->base;
  for (u32 axis = 0; axis < m->rank; axis++) {
    i64 at = start[axis] + (i64)(n % m->box[axis]);
    n /= m->box[axis];
    if (at < 0 || (u64)at >= m->extents[axis]) return 0;
    address += (u64)at * m->strides[axis];
  }
  return address;
}

static void load_box(const struct job *job, u64 to) {
  const struct box_map *m = (const struct box_map *)(uintptr_t)job->map;
  struct emu_block *home;
  char *place = shared_place(job->t, job->at, to, job->bytes, 16, &home);
  u64 offset = (u64)(place - home->shared);
  note_write(job->t, job->at, home, offset, job->bytes);
  note_engine_write(home, offset, job->bytes);
  memset(home->mask + offset, 0, job->bytes);
  for (u64 n = 0; n < job->bytes / m->element; n++) {
    u64 from = element_address(m, job->start, n), at = offset + n * m->element;
    at = (exchanged(at & ~15ull, m->row_bytes)) | (at & 15);
    if (from) {
      struct region *r = global_region(job->t, job->at, from, m->element, 1, 0);
      note_global(job->t, job->at, r, from, m->element, GLOBAL_READ);
      copy_bytes(home->shared + at, (char *)(uintptr_t)from, m->element);
    } else {
      memset(home->shared + at, 0, m->element);
    }
  }
}

static void load_bulk(const struct job *job) {
  struct emu_block *home;
  char *place = shared_place(job->t, job->at, job->to, job->bytes, 16, &home);
  u64 offset = (u64)(place - home->shared);
  struct region *r = global_region(job->t, job->at, job->from, job->bytes, 16, 0);
  note_global(job->t, job->at, r, job->from, job->bytes, GLOBAL_READ);
  note_write(job->t, job->at, home, offset, job->bytes);
  note_engine_write(home, offset, job->bytes);
  memset(home->mask + offset, 0, job->bytes);
  memcpy(place, (char *)(uintptr_t)job->from, job->bytes);
}

static void complete_bytes(const struct job *job, u64 barrier) {
  struct gang *gang = gang_of(job->t);
  struct emu_block *home;
  struct phase *p = find_phase(job->t, job->at, barrier, &home);
  publish(job->t, &p->view);
  p->bytes -= (i32)job->bytes;
  end_phase(gang, p);
}

/* To one block, or to the same place of every block that `blocks` names. */
static void run_load(const struct job *job) {
  if (job->kind == BULK_LOAD) {
    load_bulk(job);
    complete_bytes(job, job->barrier);
    return;
  }
  if (!job->blocks) {
    load_box(job, job->to);
    complete_bytes(job, job->barrier);
    return;
  }
  for (u32 rank = 0; rank < 16; rank++) {
    if (!(job->blocks >> rank & 1)) continue;
    load_box(job, emu_peer(job->t, job->at, job->to, rank));
    complete_bytes(job, emu_peer(job->t, job->at, job->barrier, rank));
  }
}

/* One number of a box added to the one in memory. */
static void add_global(const struct job *job, u64 to, const char *value, const char *mask) {
  u64 bits = 0;
  if (any_bit(mask, 4))
    fail(job->t, job->at, "uninitialized", "a value that was never written is added to memory");
  copy_bytes(&bits, value, 4);
  emu_atomic(job->t, job->at, EMU_GLOBAL | EMU_BLIND, EMU_ADD, EMU_F32, to, bits, 0);
}

static void store_box(const struct job *job) {
  const struct box_map *m = (const struct box_map *)(uintptr_t)job->map;
  struct emu_block *home;
  char *place = shared_place(job->t, job->at, job->from, job->bytes, 16, &home);
  u64 offset = (u64)(place - home->shared);
  note_read(job->t, job->at, home, offset, job->bytes);
  note_engine_read(job->t, job->at, home, offset, job->bytes);
  for (u64 n = 0; n < job->bytes / m->element; n++) {
    u64 to = element_address(m, job->start, n), at = offset + n * m->element;
    at = (exchanged(at & ~15ull, m->row_bytes)) | (at & 15);
    if (!to) continue;
    if (job->op)
      add_global(job, to, home->shared + at, home->mask + at);
    else
      store_global(job->t, job->at, to, m->element, home->shared + at, home->mask + at, 0);
  }
}

static void run_store(const struct job *job) {
  struct emu_block *home;
  if (job->kind == BOX_STORE) {
    store_box(job);
    return;
  }
  char *place = shared_place(job->t, job->at, job->from, job->bytes, 16, &home);
  u64 offset = (u64)(place - home->shared);
  note_read(job->t, job->at, home, offset, job->bytes);
  note_engine_read(job->t, job->at, home, offset, job->bytes);
  for (u32 i = 0; i < job->bytes; i += 16)
    store_global(job->t, job->at, job->to + i, 16, place + i, home->mask + offset + i, 0);
}

/* Work as the thread saw the world when it asked for it. */
static void run_job(struct gang *gang, u32 index) {
  struct job job = gang->jobs[index];
  memmove(gang->jobs + index, gang->jobs + index + 1,
          (gang->job_count - index - 1) * sizeof *gang->jobs);
  gang->job_count--;
  struct fiber *f = fiber_of(job.t);
  struct view *now = f->view;
  u32 clock = f->clock;
  f->view = job.view;
  if (job.kind == BULK_LOAD || job.kind == BOX_LOAD) {
    run_load(&job);
  } else {
    run_store(&job);
  }
  drop(f->view);
  f->view = now;
  if (f->clock < clock) f->clock = clock;
}

/* The memory of a block is given to another one when its threads have ended. */
static void check_stores(struct fiber *f) {
  struct gang *gang = gang_of(&f->t);
  for (u32 i = 0; i < gang->job_count; i++) {
    struct job *job = &gang->jobs[i];
    if (job->t == &f->t && (job->kind == BULK_STORE || job->kind == BOX_STORE))
      fail(&f->t, job->at, "barrier", "a bulk store may still read shared memory when its thread "
           "ends: it is not waited for");
  }
}

static int engine_step(struct gang *gang) {
  if (!gang->job_count) return 0;
  u32 index = gang->launch->schedule == RANDOM ? random_bits(gang) % gang->job_count : 0;
  run_job(gang, index);
  return 1;
}

void emu_bulk_wait(struct emu_thread *t, u32 at, u32 pending, u32 read) {
  struct gang *gang = gang_of(t);
  u32 committed = fiber_of(t)->bulk_groups;
  (void)at;
  (void)read;
  for (u32 i = 0; i < gang->job_count;) {
    struct job *job = &gang->jobs[i];
    int is_store = job->kind == BULK_STORE || job->kind == BOX_STORE;
    if (job->t == t && is_store && job->group + pending < committed) {
      run_job(gang, i);
    } else {
      i++;
    }
  }
}
