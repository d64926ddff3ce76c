/* Inside the library: threads of execution, blocks, launches. */
#define _GNU_SOURCE 1
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <ucontext.h>

enum { WARP = EMU_WAVE, MAX_REGIONS = 256, NAMED = 16, MAX_PHASES = 256, REPORT_BYTES = 1 << 16 };
enum { ROUND_ROBIN, REVERSE, RANDOM };

/* ---- what a launch is, as the host fills it in ---- */

struct region {
  u64 base, bytes;
  char *mask; /* of a workspace: which bits were never written; else null */
  u32 writable;
  u32 name;
  struct word *words; /* who accessed it last, see globals.c */
};

typedef void (*emu_entry)(struct emu_thread *, char *parameters);

struct emu_launch {
  emu_entry entry;
  char *parameters;
  u32 grid[3], block[3];
  u32 cluster, shared_bytes, local_bytes, stack_bytes;
  u32 schedule, seed, check_races, workers, patience_ms, count_regions;
  struct region *regions;
  u64 *counters, *visits;
  u32 count_visits;
  char *report; /* empty where nothing went wrong */
  volatile u32 stop;
  u32 next;
  pthread_mutex_t lock;
  u32 time; /* how many fences there were */
  struct fences *fences;
};

enum {
  COUNT_GLOBAL_LOAD, COUNT_GLOBAL_STORE, COUNT_SHARED_LOAD, COUNT_SHARED_STORE, COUNT_ATOMICS,
  COUNT_BARRIERS, COUNT_WARP_OPS, COUNT_MATRIX, COUNT_ASYNC_BYTES, COUNT_SWITCHES,
  COUNT_CONFLICTS, COUNT_SECTORS, COUNT_SECTORS_NEEDED, COUNT_LOCAL_LOAD, COUNT_LOCAL_STORE,
  COUNT_WAITS, COUNTERS
};

/* ---- threads ---- */

struct async_copy {
  u64 to, from;
  u32 bytes, valid, at;
};

struct copy_queue {
  struct async_copy *items;
  u32 count, room, ends[64], groups;
};

struct fiber {
  struct emu_thread t;
  void *sp;
  char *stack;
  void *operand;
  const void *wait;
  const char *wait_op;
  u32 wait_at, clock;
  u8 exited;
  struct view *view;
  struct copy_queue copies;
  u32 bulk_groups;
  u32 commits; /* which meeting of the cluster it has arrived for */
  void *flights; /* what a target keeps of operations in flight */
  struct native *native; /* of a kernel that was compiled for this processor */
};

struct view {
  struct view *from; /* what was joined last, which need not be joined again */
  u32 users;
  u32 seen[];
};

/* One group of threads at one collective operation; of the first one of a warp, how many are open. */
struct meeting {
  emu_lanes members, arrived;
  u32 at, open;
  const char *op;
};

struct named_barrier {
  u32 arrived, expected, at;
  u32 votes_all, votes_any, votes_count, result, generation;
  struct view *view;
};

struct phase {
  u64 address;
  u32 live, count, pending, parity;
  i32 bytes;
  struct view *view, *complete;
};

struct cell {
  u32 writer, reader, other; /* thread and clock at its last accesses, see races.c */
};

struct positions {
  u32 writer, reader;
};

struct emu_block {
  struct gang *gang;
  u32 rank, first, threads, alive, id[3];
  char *shared, *mask;
  struct cell *cells;
  struct positions *positions; /* of the last accesses, one for each 4 bytes */
  struct named_barrier named[NAMED];
  struct phase phases[MAX_PHASES];
  u32 phase_count;
};

/* The blocks of one cluster, which run together on one thread of the host. */
struct gang {
  struct emu_launch *launch;
  struct fiber *fibers;
  u32 threads, words, current, alive;
  u64 *runnable;
  void *main_sp;
  u32 random;
  struct emu_block *blocks;
  struct meeting *meetings; /* WARP for each warp */
  struct meeting *squads;   /* one for each 128 threads */
  struct job *jobs;
  u32 job_count, job_room;
  u32 cluster_arrived, cluster_generation;
  struct view *cluster_view;
  u64 counters[COUNTERS];
  u64 *visits;
  struct trail **trails; /* see counters.c */
  u32 number, dirty, seen_until; /* see globals.c */
  struct view *fence_view;
  struct view *engine_view; /* up to where engines see what threads wrote, see races.c */
  struct view *engine_from;
  u32 idle_yields;
  u64 idle_since; /* ns; when threads began to do nothing but to look at memory */
};

/* Work of a copy engine, which is done as late as the program allows. */
struct job {
  struct emu_thread *t;
  struct view *view;
  u32 at, kind, rank, bytes, op, blocks, group, clock;
  u64 to, from, barrier, map;
  i32 start[5];
};

#ifdef __GLIBC__
/* As cheap as a global variable; the loader keeps room for a few. */
#define THREAD_LOCAL static __thread __attribute__((tls_model("initial-exec")))
#else
#define THREAD_LOCAL static __thread
#endif
THREAD_LOCAL struct emu_thread *running;

static inline struct fiber *fiber_of(struct emu_thread *t) { return (struct fiber *)t; }
static inline struct gang *gang_of(struct emu_thread *t) { return t->block->gang; }

/* What is there for a block's shared memory, and nothing else lies in. */
static inline u32 shared_room(const struct emu_launch *launch) {
  return (launch->shared_bytes + 1023) / 1024 * 1024 + 1024;
}

typedef void (*emu_action)(struct emu_thread **lanes, emu_lanes members, void **operands);

static void fail(struct emu_thread *t, u32 at, const char *kind, const char *format, ...)
    __attribute__((format(printf, 4, 5), noreturn));
static void park(struct emu_thread *t, u32 at, const char *op, const void *object);
static void wake(struct gang *gang, u32 index);
static void notify(struct gang *gang, const void *object);
static int engine_step(struct gang *gang);
static void meet(struct emu_thread *t, u32 at, emu_lanes members, const char *op, void *operand,
                 emu_action action);
static void meet_squad(struct emu_thread *t, u32 at, const char *op, void *operand,
                       emu_action action) __attribute__((unused));
static void sync_group(struct gang *gang, u32 first, u32 count, emu_lanes members);
static void publish(struct emu_thread *t, struct view **at);
static void acquire(struct emu_thread *t, struct view *from);
static void note_read(struct emu_thread *t, u32 at, struct emu_block *home, u64 offset, u32 bytes);
static void note_write(struct emu_thread *t, u32 at, struct emu_block *home, u64 offset, u32 bytes);
enum { GLOBAL_READ = 0, GLOBAL_WRITE = 1, GLOBAL_STRONG = 2 };
static void note_global(struct emu_thread *t, u32 at, struct region *r, u64 address, u32 bytes,
                        u32 kind);
static void count_access(struct emu_thread *t, u32 at, u32 kind, u64 address, u32 bytes);
static void *map_memory(size_t bytes);
static emu_lanes all_lanes(struct emu_thread *t);
static void note_pending_read(struct emu_thread *t, u32 at, struct emu_block *home, u64 offset,
                              u32 bytes) __attribute__((unused));
static char *shared_place(struct emu_thread *t, u32 at, u64 address, u32 bytes, u32 align,
                          struct emu_block **home);
static void left_barriers(struct emu_thread *t);
static void check_stores(struct fiber *f);
static void free_native(struct fiber *f);
static void watch_faults(int more);
