/* The thread pool that runs jobs of emitted kernels. One per process, created on first use. abi.h
 * is pasted in front of this file when it is built.
 *
 * A parallel region is opened by writing `region` and then a new epoch into `gate`; helpers join by
 * raising the gate's count, which fails once the region is closed. So a helper that wakes late
 * costs the caller nothing: its jobs were taken by others, and nobody waits for it. */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#ifdef __linux__
#include <sys/syscall.h>
#include <unistd.h>
#endif

enum { MAX_THREADS = 512, SPINS = 2000, HELPER_STACK = 4 << 20, FAILURE_BYTES = 1024, DRAWS = 16 };
enum { STATUS_PRINTED = 1, STATUS_FAILED = 2, STATUS_NO_MEMORY = 4, STATUS_BAD_RETURN = 8 };

#if defined(__x86_64__)
#define RELAX() __builtin_ia32_pause()
#elif defined(__aarch64__)
#define RELAX() __asm__ volatile("yield")
#else
#define RELAX() ((void)0)
#endif

/* Jobs may store past the caches: others see that once the worker that did so went through here. */
#if defined(__x86_64__)
#define ORDER_STORES() __builtin_ia32_sfence()
#else
#define ORDER_STORES() ((void)0)
#endif

/* ---- memory ---- */

struct arena {
  char *base;
  int64_t bytes;
};

static const int64_t HUGE_PAGE = 2 << 20;

static char *allocate(int64_t bytes) {
  int huge = bytes >= HUGE_PAGE / 2;
  size_t align = huge ? (size_t)HUGE_PAGE : 64;
  size_t size = ((size_t)bytes + align - 1) / align * align;
  void *memory = NULL;
  if (posix_memalign(&memory, align, size)) return NULL;
#ifdef MADV_HUGEPAGE
  if (huge) madvise(memory, size, MADV_HUGEPAGE);
#endif
  return memory;
}

static char *arena_at_least(struct arena *arena, int64_t bytes) {
  if (bytes < 64) bytes = 64;
  if (arena->bytes < bytes) {
    free(arena->base);
    arena->base = allocate(bytes);
    arena->bytes = arena->base ? bytes : 0;
  }
  return arena->base;
}

/* ---- one launch ---- */

struct report {
  int64_t printed_bytes;
  char failure[FAILURE_BYTES];
  char printed[TILE_PRINT_BYTES];
};

struct tile_call {
  _Atomic int32_t status;
  _Atomic int32_t stop;
  pthread_mutex_t lock;
  struct report *report;
};

/* What a thread that launches keeps between launches: freed when the thread ends. */
struct caller {
  struct arena scratch;
  struct arena workspace;
  struct report *report;
};

static pthread_key_t caller_key;
static _Thread_local struct caller *this_caller;
static _Thread_local int in_job;

static void caller_free(void *memory) {
  struct caller *caller = memory;
  free(caller->scratch.base);
  free(caller->workspace.base);
  free(caller->report);
  free(caller);
}

static struct caller *caller_get(void) {
  if (!this_caller) {
    this_caller = calloc(1, sizeof *this_caller);
    pthread_setspecific(caller_key, this_caller);
  }
  return this_caller;
}

static void stop_call(struct tile_call *call, int32_t why) {
  atomic_fetch_or(&call->status, why);
  if (why != STATUS_PRINTED) atomic_store(&call->stop, 1);
}

/* ---- messages ---- */

static int64_t format_value(char *out, int64_t room, char kind, uint64_t bits) {
  double real;
  memcpy(&real, &bits, 8);
  size_t n = (size_t)room;
  switch (kind) {
    case 'i': return snprintf(out, n, "%lld", (long long)bits);
    case 'u': return snprintf(out, n, "%llu", (unsigned long long)bits);
    case 'x': return snprintf(out, n, "0x%llx", (unsigned long long)bits);
    case 'b': return snprintf(out, n, "%s", bits ? "True" : "False");
    default: return snprintf(out, n, "%.9g", real);
  }
}

/* Writes text with its values into out[0, room), always terminated; returns the bytes written. */
static int64_t format_text(char *out, int64_t room, const char *text, const char *kinds,
                           const uint64_t *values) {
  int64_t used = 0;
  while (*text && used < room - 1) {
    if (text[0] == '{' && text[1] == '}' && *kinds) {
      int64_t n = format_value(out + used, room - used, *kinds++, *values++);
      used = used + n < room ? used + n : room - 1;
      text += 2;
    } else {
      out[used++] = *text++;
    }
  }
  out[used] = 0;
  return used;
}

/* With call->lock held. */
static struct report *report_get(struct tile_call *call) {
  if (!call->report) call->report = calloc(1, sizeof *call->report);
  return call->report;
}

static void rt_fail(const struct tile_rt *rt, const char *text, const char *kinds,
                    const uint64_t *values) {
  struct tile_call *call = rt->call;
  pthread_mutex_lock(&call->lock);
  struct report *report = report_get(call);
  if (report && !report->failure[0])
    format_text(report->failure, FAILURE_BYTES, text, kinds, values);
  pthread_mutex_unlock(&call->lock);
  stop_call(call, STATUS_FAILED);
}

static void rt_print(const struct tile_rt *rt, const char *text, const char *kinds,
                     const uint64_t *values) {
  static const char DROPPED[] = "... (more output was dropped)\n";
  struct tile_call *call = rt->call;
  pthread_mutex_lock(&call->lock);
  struct report *report = report_get(call);
  int64_t room = TILE_PRINT_BYTES - (int64_t)sizeof DROPPED;
  if (report && report->printed_bytes < room) {
    char *end = report->printed + report->printed_bytes;
    report->printed_bytes += format_text(end, room - report->printed_bytes, text, kinds, values);
    if (report->printed_bytes >= room - 1) {
      memcpy(report->printed + report->printed_bytes, DROPPED, sizeof DROPPED);
      report->printed_bytes = TILE_PRINT_BYTES;
    }
  }
  pthread_mutex_unlock(&call->lock);
  stop_call(call, STATUS_PRINTED);
}

/* ---- the pool ---- */

struct range {
  _Alignas(64) _Atomic int64_t next;
  int64_t end;
};

static struct {
  tile_job fn;
  void *ctx;
  struct tile_call *call;
  int64_t scratch_bytes;
  int32_t workers;
  struct range ranges[MAX_THREADS];
} region;

static const uint64_t GATE_CLOSED = 1ull << 31, GATE_COUNT = (1ull << 31) - 1;
static _Atomic uint64_t gate = 1ull << 31; /* epoch << 32 | closed << 31 | helpers inside */
static _Atomic int32_t sleepers;
static int32_t helpers;
static pthread_t helper_threads[MAX_THREADS];
static struct arena helper_arenas[MAX_THREADS];
static pthread_mutex_t region_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t sleep_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t work_ready = PTHREAD_COND_INITIALIZER;
static pthread_cond_t work_done = PTHREAD_COND_INITIALIZER;

static int stopped(void) {
  return atomic_load_explicit(&region.call->stop, memory_order_relaxed) != 0;
}

/* Takes a part of what is left at a time, so that the last ones are single jobs: drawing a number
 * waits until the stores before it are done. */
static void run_range(struct range *range, int32_t worker, char *scratch) {
  while (!stopped()) {
    int64_t left = range->end - atomic_load_explicit(&range->next, memory_order_relaxed);
    int64_t count = left / DRAWS > 1 ? left / DRAWS : 1;
    int64_t job = atomic_fetch_add_explicit(&range->next, count, memory_order_relaxed);
    if (job >= range->end) return;
    int64_t end = job + count < range->end ? job + count : range->end;
    for (; job < end && !stopped(); job++) region.fn(region.ctx, job, worker, scratch);
  }
}

static void run_worker(int32_t worker, struct arena *arena) {
  char *scratch = arena_at_least(arena, region.scratch_bytes);
  if (!scratch) {
    stop_call(region.call, STATUS_NO_MEMORY);
    return;
  }
  memset(scratch, 0, 64);
  in_job = 1;
  for (int32_t i = 0; i < region.workers; i++) {
    struct range *range = &region.ranges[(worker + i) % region.workers];
    if (atomic_load_explicit(&range->next, memory_order_relaxed) < range->end)
      run_range(range, worker, scratch);
  }
  ORDER_STORES();
  in_job = 0;
}

static uint32_t epoch_of(uint64_t state) { return (uint32_t)(state >> 32); }

static void wait_for_epoch_after(uint32_t seen) {
  for (int i = 0; i < SPINS; i++) {
    if (epoch_of(atomic_load(&gate)) != seen) return;
    RELAX();
  }
  pthread_mutex_lock(&sleep_lock);
  atomic_fetch_add(&sleepers, 1);
  while (epoch_of(atomic_load(&gate)) == seen) pthread_cond_wait(&work_ready, &sleep_lock);
  atomic_fetch_sub(&sleepers, 1);
  pthread_mutex_unlock(&sleep_lock);
}

/* Returns 1 when this helper is counted inside the region of the newest epoch, 0 when it is over.
 */
static int join_region(uint32_t *seen) {
  uint64_t state = atomic_load(&gate);
  do {
    *seen = epoch_of(state);
    if (state & GATE_CLOSED) return 0;
  } while (!atomic_compare_exchange_weak(&gate, &state, state + 1));
  return 1;
}

static void leave_region(void) {
  uint64_t before = atomic_fetch_sub(&gate, 1);
  if ((before & GATE_COUNT) == 1 && (before & GATE_CLOSED)) {
    pthread_mutex_lock(&sleep_lock);
    pthread_cond_signal(&work_done);
    pthread_mutex_unlock(&sleep_lock);
  }
}

static void *helper_main(void *argument) {
  int32_t worker = (int32_t)(intptr_t)argument;
  uint32_t seen = epoch_of(atomic_load(&gate)) - 1; /* the region that made us may still be open */
  for (;;) {
    wait_for_epoch_after(seen);
    if (!join_region(&seen)) continue;
    if (worker < region.workers) run_worker(worker, &helper_arenas[worker]);
    leave_region();
  }
  return NULL;
}

/* With region_lock held. Where the system refuses a thread, those that exist do the work. */
static void ensure_helpers(int32_t wanted) {
  if (helpers >= wanted) return;
  sigset_t all, before;
  pthread_attr_t attr;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before); /* signals belong to the interpreter's thread */
  pthread_attr_init(&attr);
  pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
  pthread_attr_setstacksize(&attr, HELPER_STACK);
  while (helpers < wanted) {
    void *worker = (void *)(intptr_t)(helpers + 1);
    if (pthread_create(&helper_threads[helpers], &attr, helper_main, worker)) break;
    helpers++;
  }
  pthread_attr_destroy(&attr);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
}

#ifdef __linux__
/* Where the kernel sees no cache that processors share, as in many virtual machines, it wakes a
 * thread on its waker's processor, where it waits for the next tick while
 * others idle. So helpers may run anywhere that the caller may, but not where it is. */
static void keep_helpers_off_this_processor(void) {
  static cpu_set_t last;
  static int32_t told;
  cpu_set_t allowed;
  int here = sched_getcpu();
  if (here < 0 || sched_getaffinity(0, sizeof allowed, &allowed)) return;
  if (CPU_COUNT(&allowed) < 2) return;
  CPU_CLR(here, &allowed);
  if (told == helpers && CPU_EQUAL(&last, &allowed)) return;
  for (int32_t i = 0; i < helpers; i++)
    pthread_setaffinity_np(helper_threads[i], sizeof allowed, &allowed);
  last = allowed;
  told = helpers;
}
#else
static void keep_helpers_off_this_processor(void) {}
#endif

static void open_region(void) {
  uint64_t epoch = (atomic_load(&gate) >> 32) + 1;
  keep_helpers_off_this_processor();
  atomic_store(&gate, epoch << 32);
  if (atomic_load(&sleepers) > 0) {
    pthread_mutex_lock(&sleep_lock);
    pthread_cond_broadcast(&work_ready);
    pthread_mutex_unlock(&sleep_lock);
  }
}

static void close_region(void) {
  atomic_fetch_or(&gate, GATE_CLOSED);
  for (int i = 0; i < SPINS; i++) {
    if (!(atomic_load(&gate) & GATE_COUNT)) return;
    RELAX();
  }
  pthread_mutex_lock(&sleep_lock);
  while (atomic_load(&gate) & GATE_COUNT) pthread_cond_wait(&work_done, &sleep_lock);
  pthread_mutex_unlock(&sleep_lock);
}

static void run_shared(struct tile_call *call, int32_t workers, int64_t njobs, tile_job fn,
                       void *ctx, int64_t scratch_bytes) {
  struct caller *caller = caller_get();
  pthread_mutex_lock(&region_lock);
  ensure_helpers(workers - 1);
  region.fn = fn;
  region.ctx = ctx;
  region.call = call;
  region.scratch_bytes = scratch_bytes;
  region.workers = workers;
  for (int32_t w = 0; w < workers; w++) {
    atomic_store_explicit(&region.ranges[w].next, njobs * w / workers, memory_order_relaxed);
    region.ranges[w].end = njobs * (w + 1) / workers;
  }
  open_region();
  run_worker(0, &caller->scratch);
  close_region();
  pthread_mutex_unlock(&region_lock);
}

static void run_alone(struct tile_call *call, int64_t njobs, tile_job fn, void *ctx,
                      int64_t scratch_bytes) {
  int nested = in_job; /* the caller's arena is then in use by the job around us */
  struct arena own = {0};
  struct arena *arena = nested ? &own : &caller_get()->scratch;
  char *scratch = arena_at_least(arena, scratch_bytes);
  if (!scratch) {
    stop_call(call, STATUS_NO_MEMORY);
    return;
  }
  memset(scratch, 0, 64);
  in_job = 1;
  for (int64_t job = 0; job < njobs && !atomic_load(&call->stop); job++)
    fn(ctx, job, 0, scratch);
  ORDER_STORES();
  in_job = nested;
  free(own.base);
}

static void rt_parallel_for(const struct tile_rt *rt, int64_t njobs, tile_job fn, void *ctx,
                            int64_t scratch_bytes) {
  int64_t workers = njobs < rt->threads ? njobs : rt->threads;
  if (workers > 1 && !in_job)
    run_shared(rt->call, (int32_t)workers, njobs, fn, ctx, scratch_bytes);
  else
    run_alone(rt->call, njobs, fn, ctx, scratch_bytes);
}

static char *rt_workspace(const struct tile_rt *rt, int64_t bytes) {
  char *memory = arena_at_least(&caller_get()->workspace, bytes);
  if (!memory) stop_call(rt->call, STATUS_NO_MEMORY);
  return memory;
}

/* ---- a forked child has one thread: start over ---- */

static void start_over(void) {
  static const pthread_mutex_t new_mutex = PTHREAD_MUTEX_INITIALIZER;
  static const pthread_cond_t new_cond = PTHREAD_COND_INITIALIZER;
  helpers = 0;
  in_job = 0;
  atomic_store(&sleepers, 0);
  atomic_store(&gate, GATE_CLOSED);
  region_lock = sleep_lock = new_mutex;
  work_ready = work_done = new_cond;
}

/* Linux lets a process use registers of tiles (AMX) once it has asked; threads inherit the answer.
 * Returns 0 where they may be used. */
static int ask_for_tiles(void) {
#if defined(__x86_64__) && defined(__linux__)
  enum { ASK_FOR_STATE = 0x1023, TILE_DATA = 18 };
  return (int)syscall(SYS_arch_prctl, ASK_FOR_STATE, TILE_DATA);
#else
  return -1;
#endif
}

__attribute__((constructor)) static void pool_loaded(void) {
  ask_for_tiles();
  pthread_key_create(&caller_key, caller_free);
  pthread_atfork(NULL, NULL, start_over);
}

/* ---- what the host calls ---- */

typedef int32_t (*tile_entry)(const uint64_t *args, const struct tile_rt *rt);

/* Runs one launch on up to `threads` threads; returns 0 or a sum of STATUS_ values. */
TILE_EXPORT int32_t tile_pool_launch(tile_entry entry, const uint64_t *args, int32_t threads) {
  struct tile_call call = {.lock = PTHREAD_MUTEX_INITIALIZER};
  struct tile_rt rt = {
      .version = TILE_ABI_VERSION,
      .threads = threads < 1 ? 1 : threads > MAX_THREADS ? MAX_THREADS : threads,
      .parallel_for = rt_parallel_for,
      .workspace = rt_workspace,
      .fail = rt_fail,
      .print = rt_print,
      .call = &call,
  };
  if (entry(args, &rt)) stop_call(&call, STATUS_BAD_RETURN);
  if (call.report) {
    struct caller *caller = caller_get();
    free(caller->report);
    caller->report = call.report;
  }
  return call.status;
}

/* Texts of this thread's last launch that printed or failed. */
TILE_EXPORT const char *tile_pool_printed(void) {
  struct report *report = caller_get()->report;
  return report ? report->printed : "";
}

TILE_EXPORT const char *tile_pool_failure(void) {
  struct report *report = caller_get()->report;
  return report ? report->failure : "";
}

/* Threads that exist besides the callers, for tests. */
TILE_EXPORT int32_t tile_pool_helpers(void) { return helpers; }
