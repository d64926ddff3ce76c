/* A launch: threads of the host take clusters of blocks in turn and run each to its end. */

enum { STACK_COLOURS = 37, COLOUR_BYTES = 448 };
/* Stacks start at different places of their pages: equal ones all fall into the same few lines of
 * the first-level cache (37 ns a switch at 1024 threads instead of 7). */

static void *map_memory(size_t bytes) {
  void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return memory == MAP_FAILED ? NULL : memory;
}

static void make_blocks(struct gang *gang) {
  struct emu_launch *launch = gang->launch;
  u32 size = launch->block[0] * launch->block[1] * launch->block[2];
  size_t room = shared_room(launch);
  gang->blocks = calloc(launch->cluster, sizeof *gang->blocks);
  for (u32 i = 0; i < launch->cluster; i++) {
    struct emu_block *block = &gang->blocks[i];
    *block = (struct emu_block){.gang = gang, .rank = i, .first = i * size, .threads = size};
    block->shared = aligned_alloc(1024, room);
    block->mask = aligned_alloc(1024, room);
    if (launch->check_races) {
      block->cells = malloc(room * sizeof *block->cells);
      block->positions = calloc(room / 4, sizeof *block->positions);
    }
  }
}

static struct gang *new_gang(struct emu_launch *launch) {
  struct gang *gang = calloc(1, sizeof *gang);
  u32 size = launch->block[0] * launch->block[1] * launch->block[2];
  gang->launch = launch;
  gang->threads = size * launch->cluster;
  gang->words = (gang->threads + 63) / 64;
  gang->fibers = calloc(gang->threads, sizeof *gang->fibers);
  gang->runnable = calloc(gang->words, sizeof *gang->runnable);
  gang->meetings = calloc(gang->threads + WARP, sizeof *gang->meetings);
  gang->squads = calloc(gang->threads / 128 + launch->cluster + 1, sizeof *gang->squads);
  gang->visits = calloc(launch->count_visits + 1, sizeof *gang->visits);
  gang->trails = calloc(TRAILS, sizeof *gang->trails);
  make_blocks(gang);
  for (u32 i = 0; i < gang->threads; i++) {
    struct fiber *f = &gang->fibers[i];
    f->stack = map_memory(launch->stack_bytes);
    f->t.block = &gang->blocks[i / size];
    f->t.local_bytes = launch->local_bytes;
    if (launch->local_bytes) {
      f->t.local = aligned_alloc(64, (launch->local_bytes + 63) / 64 * 64);
      f->t.local_mask = malloc(launch->local_bytes);
    }
  }
  return gang;
}

static void free_gang(struct gang *gang) {
  for (u32 i = 0; i < gang->threads; i++) {
    struct fiber *f = &gang->fibers[i];
    if (f->stack) munmap(f->stack, gang->launch->stack_bytes);
    free(f->t.local);
    free(f->t.local_mask);
    free(f->copies.items);
    free(f->flights);
    free_native(f);
    drop(f->view);
  }
  for (u32 i = 0; i < gang->launch->cluster; i++) {
    struct emu_block *block = &gang->blocks[i];
    free(block->shared);
    free(block->mask);
    free(block->cells);
    free(block->positions);
  }
  drop(gang->fence_view);
  drop(gang->engine_view);
  drop(gang->engine_from);
  free_trails(gang);
  free(gang->visits);
  free(gang->blocks);
  free(gang->fibers);
  free(gang->runnable);
  free(gang->meetings);
  free(gang->squads);
  free(gang->jobs);
  free(gang);
}

static void place_thread(struct emu_thread *t, const struct emu_launch *launch, u32 index,
                         const u32 *block) {
  const u32 *size = launch->block;
  t->shared = t->block->shared;
  t->visits = t->block->gang->visits;
  t->index = index;
  t->lane = index % WARP;
  t->warp = index / WARP;
  t->tid[0] = index % size[0];
  t->tid[1] = index / size[0] % size[1];
  t->tid[2] = index / size[0] / size[1];
  t->rank = t->block->rank;
  t->cluster = launch->cluster;
  for (u32 i = 0; i < 3; i++) {
    t->ctaid[i] = block[i];
    t->nctaid[i] = launch->grid[i];
    t->ntid[i] = size[i];
  }
}

static void reset_block(struct emu_block *block, u64 number) {
  const struct emu_launch *launch = block->gang->launch;
  size_t room = shared_room(launch);
  block->id[0] = (u32)(number % launch->grid[0]);
  block->id[1] = (u32)(number / launch->grid[0] % launch->grid[1]);
  block->id[2] = (u32)(number / launch->grid[0] / launch->grid[1]);
  block->alive = block->threads;
  for (u32 i = 0; i < NAMED; i++) drop(block->named[i].view);
  memset(block->named, 0, sizeof block->named);
  for (u32 i = 0; i < block->phase_count; i++) {
    drop(block->phases[i].view);
    drop(block->phases[i].complete);
  }
  memset(block->phases, 0, block->phase_count * sizeof *block->phases);
  block->phase_count = 0;
  /* All ones is NaN in every floating format: a value from nowhere shows in results too. */
  memset(block->shared, 0xff, room);
  memset(block->mask, 0xff, room);
  if (block->cells) memset(block->cells, 0, room * sizeof *block->cells);
}

static void run_gang(struct gang *gang, u64 number) {
  struct emu_launch *launch = gang->launch;
  gang->alive = gang->threads;
  gang->random = launch->seed * 2654435761u + (u32)number * 40503u + 12345u;
  gang->cluster_arrived = gang->cluster_generation = gang->job_count = gang->idle_yields = 0;
  gang->number = (u32)number;
  gang->dirty = gang->seen_until = 0;
  replace(&gang->cluster_view, NULL);
  replace(&gang->fence_view, NULL);
  replace(&gang->engine_view, NULL);
  replace(&gang->engine_from, NULL);
  memset(gang->meetings, 0, gang->threads * sizeof *gang->meetings);
  memset(gang->squads, 0, (gang->threads / 128 + launch->cluster) * sizeof *gang->squads);
  for (u32 i = 0; i < launch->cluster; i++)
    reset_block(&gang->blocks[i], number * launch->cluster + i);
  for (u32 i = 0; i < gang->threads; i++) {
    struct fiber *f = &gang->fibers[i];
    place_thread(&f->t, launch, i - f->t.block->first, f->t.block->id);
    if (launch->local_bytes) memset(f->t.local, 0xff, launch->local_bytes);
    if (launch->local_bytes) memset(f->t.local_mask, 0xff, launch->local_bytes);
    f->wait = f->wait_op = NULL;
    f->exited = 0;
    f->clock = 1;
    f->copies.count = f->copies.groups = f->bulk_groups = f->commits = 0;
    drop(f->view);
    f->view = NULL;
    free(f->flights);
    f->flights = NULL;
    char *top = f->stack + launch->stack_bytes - 64 - i % STACK_COLOURS * COLOUR_BYTES;
    f->sp = fresh_stack(top, run_fiber, f);
    wake(gang, i);
  }
  gang->current = launch->schedule == ROUND_ROBIN ? gang->threads - 1 : 0;
  go(gang, &gang->main_sp, (u32)pick(gang));
  end_trails(gang);
}

static void *run_worker(void *argument) {
  struct emu_launch *launch = argument;
  u64 clusters = (u64)launch->grid[0] * launch->grid[1] * launch->grid[2] / launch->cluster;
  struct gang *gang = new_gang(launch);
  while (!launch->stop) {
    u64 turn = __atomic_fetch_add(&launch->next, 1, __ATOMIC_RELAXED);
    if (turn >= clusters) break;
    run_gang(gang, launch->schedule == REVERSE ? clusters - 1 - turn : turn);
  }
  pthread_mutex_lock(&launch->lock);
  for (u32 i = 0; i < COUNTERS; i++) launch->counters[i] += gang->counters[i];
  for (u32 i = 0; i < launch->count_visits; i++) launch->visits[i] += gang->visits[i];
  pthread_mutex_unlock(&launch->lock);
  free_gang(gang);
  return NULL;
}

__attribute__((visibility("default"))) u32 emu_api_version(void) { return TILE_EMU_API; }

/* Run all blocks. Returns 1 where something went wrong, which `report` tells, else 0. */
__attribute__((visibility("default"))) u32 emu_launch(struct emu_launch *launch) {
  pthread_t threads[256];
  u32 made = 0, wanted = launch->workers > 256 ? 256 : launch->workers;
  pthread_mutex_init(&launch->lock, NULL);
  launch->next = launch->stop = 0;
  launch->report[0] = 0;
  watch_regions(launch);
  watch_faults(1);
  while (made + 1 < wanted && !pthread_create(&threads[made], NULL, run_worker, launch)) made++;
  run_worker(launch);
  for (u32 i = 0; i < made; i++) pthread_join(threads[i], NULL);
  watch_faults(-1);
  forget_regions(launch);
  pthread_mutex_destroy(&launch->lock);
  return launch->stop != 0;
}
