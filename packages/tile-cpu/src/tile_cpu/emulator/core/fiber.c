/* Threads of execution in user space: each has a stack, and gives way at collectives only. */

#if defined(__x86_64__) && !defined(EMU_PORTABLE)
void emu_switch(void **save, void *load);
void emu_start(void);
/* Callee-saved registers of the System V ABI; r12 and r13 carry argument and function at first. */
__asm__(
    ".text\n.globl emu_switch\n.hidden emu_switch\n.type emu_switch,@function\nemu_switch:\n"
    "pushq %rbp\npushq %rbx\npushq %r12\npushq %r13\npushq %r14\npushq %r15\n"
    "movq %rsp,(%rdi)\nmovq %rsi,%rsp\n"
    "popq %r15\npopq %r14\npopq %r13\npopq %r12\npopq %rbx\npopq %rbp\nret\n"
    ".globl emu_start\n.hidden emu_start\n.type emu_start,@function\nemu_start:\n"
    "movq %r12,%rdi\nandq $-16,%rsp\ncallq *%r13\nud2\n");

static void *fresh_stack(char *top, void (*run)(void *), void *argument) {
  void **sp = (void **)top;
  *--sp = (void *)emu_start;
  *--sp = 0;
  *--sp = 0;
  *--sp = argument;
  *--sp = (void *)run;
  *--sp = 0;
  *--sp = 0;
  return sp;
}
#elif defined(__aarch64__) && !defined(EMU_PORTABLE)
void emu_switch(void **save, void *load);
void emu_start(void);
/* Callee-saved registers of AAPCS64; x19 and x20 carry argument and function at first. */
__asm__(
    ".text\n.globl emu_switch\n.hidden emu_switch\nemu_switch:\n"
    "sub sp,sp,#160\n"
    "stp x19,x20,[sp,#0]\nstp x21,x22,[sp,#16]\nstp x23,x24,[sp,#32]\nstp x25,x26,[sp,#48]\n"
    "stp x27,x28,[sp,#64]\nstp x29,x30,[sp,#80]\nstp d8,d9,[sp,#96]\nstp d10,d11,[sp,#112]\n"
    "stp d12,d13,[sp,#128]\nstp d14,d15,[sp,#144]\n"
    "mov x9,sp\nstr x9,[x0]\nmov sp,x1\n"
    "ldp x19,x20,[sp,#0]\nldp x21,x22,[sp,#16]\nldp x23,x24,[sp,#32]\nldp x25,x26,[sp,#48]\n"
    "ldp x27,x28,[sp,#64]\nldp x29,x30,[sp,#80]\nldp d8,d9,[sp,#96]\nldp d10,d11,[sp,#112]\n"
    "ldp d12,d13,[sp,#128]\nldp d14,d15,[sp,#144]\nadd sp,sp,#160\nret\n"
    ".globl emu_start\n.hidden emu_start\nemu_start:\nmov x0,x19\nblr x20\nbrk #0\n");

static void *fresh_stack(char *top, void (*run)(void *), void *argument) {
  void **sp = (void **)(top - 160);
  memset(sp, 0, 160);
  sp[0] = argument;
  sp[1] = (void *)run;
  sp[11] = (void *)emu_start;
  return sp;
}
#else
#include <ucontext.h>
/* Any other processor: the C library's contexts, about thirty times slower. */
static void emu_switch(void **save, void *load) {
  ucontext_t here;
  *save = &here;
  swapcontext(&here, load);
}

static void run_context(u32 run_low, u32 run_high, u32 low, u32 high) {
  void (*run)(void *) = (void (*)(void *))(uintptr_t)((u64)run_high << 32 | run_low);
  run((void *)(uintptr_t)((u64)high << 32 | low));
}

static void *fresh_stack(char *top, void (*run)(void *), void *argument) {
  ucontext_t *context = (ucontext_t *)((uintptr_t)(top - sizeof(ucontext_t)) & ~(uintptr_t)63);
  u64 function = (uintptr_t)run, value = (uintptr_t)argument;
  getcontext(context);
  context->uc_stack.ss_sp = (char *)context - (1 << 16);
  context->uc_stack.ss_size = 1 << 16;
  makecontext(context, (void (*)(void))run_context, 4, (u32)function, (u32)(function >> 32),
              (u32)value, (u32)(value >> 32));
  return context;
}
#endif

/* ---- who runs next ---- */

static u32 random_bits(struct gang *gang) {
  u32 x = gang->random;
  x ^= x << 13;
  x ^= x >> 17;
  x ^= x << 5;
  return gang->random = x;
}

static int first_from(const struct gang *gang, u32 start) {
  u32 word = start / 64;
  u64 bits = gang->runnable[word] & ~0ull << start % 64;
  for (u32 i = 0; i <= gang->words; i++) {
    if (bits) return (int)(word * 64 + (u32)__builtin_ctzll(bits));
    word = (word + 1) % gang->words;
    bits = gang->runnable[word];
  }
  return -1;
}

static int last_before(const struct gang *gang, u32 start) {
  u32 word = start / 64;
  u64 bits = start % 64 ? gang->runnable[word] & ~(~0ull << start % 64) : 0;
  for (u32 i = 0; i <= gang->words; i++) {
    if (bits) return (int)(word * 64 + 63 - (u32)__builtin_clzll(bits));
    word = (word + gang->words - 1) % gang->words;
    bits = gang->runnable[word];
  }
  return -1;
}

static int pick_runnable(struct gang *gang) {
  switch (gang->launch->schedule) {
  case REVERSE:
    return last_before(gang, gang->current);
  case RANDOM:
    return first_from(gang, random_bits(gang) % gang->threads);
  default:
    return first_from(gang, (gang->current + 1) % gang->threads);
  }
}

/* Copy engines work only when no thread can: so a wait that is missing is always noticed. */
static int pick(struct gang *gang) {
  int next = pick_runnable(gang);
  while (next < 0 && engine_step(gang)) next = pick_runnable(gang);
  return next;
}

static void wake(struct gang *gang, u32 index) {
  gang->runnable[index / 64] |= 1ull << index % 64;
}

static void notify(struct gang *gang, const void *object) {
  for (u32 i = 0; i < gang->threads; i++) {
    if (gang->fibers[i].wait == object) {
      gang->fibers[i].wait = NULL;
      wake(gang, i);
    }
  }
}

static void go(struct gang *gang, void **save, u32 to) {
  gang->current = to;
  running = &gang->fibers[to].t;
  gang->counters[COUNT_SWITCHES]++;
  emu_switch(save, gang->fibers[to].sp);
}

/* ---- reports ---- */

static int describe_waits(struct gang *gang, char *out, int room) {
  int used = 0;
  for (u32 w = 0; w * WARP < gang->threads && used < room - 256; w++) {
    for (u32 i = w * WARP; i < gang->threads && i < (w + 1) * WARP; i++) {
      struct fiber *f = &gang->fibers[i];
      struct fiber *before = f - 1;
      if (i % WARP && f->exited == before->exited && f->wait_op == before->wait_op &&
          f->wait_at == before->wait_at)
        continue;
      used += snprintf(out + used, (size_t)(room - used), "\n#%u:%u warp %u from lane %u %s",
                       f->wait_at, f->t.rank, f->t.warp, f->t.lane,
                       f->exited ? "has ended" : f->wait_op ? f->wait_op : "runs");
    }
  }
  return used;
}

/* Stop this launch: the first report is kept, and the threads of the block are left where they
 * are. A report is lines "kind", "position block thread", text. */
static void fail(struct emu_thread *t, u32 at, const char *kind, const char *format, ...) {
  struct gang *gang = gang_of(t);
  struct emu_launch *launch = gang->launch;
  pthread_mutex_lock(&launch->lock);
  if (!launch->stop) {
    char *out = launch->report;
    int used = snprintf(out, REPORT_BYTES, "%s\n%u %u %u %u %u\n", kind, at, t->ctaid[0],
                        t->ctaid[1], t->ctaid[2], t->index);
    va_list values;
    va_start(values, format);
    used += vsnprintf(out + used, (size_t)(REPORT_BYTES - used), format, values);
    va_end(values);
    if (!strcmp(kind, "deadlock")) describe_waits(gang, out + used, REPORT_BYTES - used);
    launch->stop = 1;
  }
  pthread_mutex_unlock(&launch->lock);
  void *abandoned;
  emu_switch(&abandoned, gang->main_sp);
  __builtin_unreachable();
}

static int waits_at_meeting(const struct gang *gang, const struct fiber *f) {
  const struct meeting *m = f->wait;
  return !f->exited && m >= gang->meetings && m < gang->meetings + gang->threads + WARP;
}

static int waits_for_phase(const struct fiber *f) {
  const struct emu_block *block = f->t.block;
  const struct phase *p = f->wait;
  return p >= block->phases && p < block->phases + MAX_PHASES;
}

/* Nobody can go on. The reason is a divergence where lanes of one warp wait for each other at
 * different operations or for one that has ended; else somebody does not arrive. */
static void stuck(struct emu_thread *t, u32 at) {
  struct gang *gang = gang_of(t);
  for (u32 i = 0; i < gang->threads; i++) {
    struct fiber *f = &gang->fibers[i], *first = f - f->t.lane;
    if (!waits_at_meeting(gang, f)) continue;
    emu_lanes members = ((const struct meeting *)f->wait)->members;
    for (u32 lane = 0; lane < WARP; lane++) {
      struct fiber *other = first + lane;
      if (!(members >> lane & 1) || other->wait == f->wait || waits_for_phase(other)) continue;
      fail(&f->t, f->wait_at, "divergence", "%s that lane %u of warp %u does not come to\n#%u:%u "
           "it %s", f->wait_op, lane, f->t.warp, other->wait_at, other->t.rank,
           other->exited ? "has ended" : other->wait_op);
    }
  }
  for (u32 i = 0; i < gang->threads; i++) {
    struct fiber *f = &gang->fibers[i];
    if (!f->exited) t = &f->t, at = f->wait_at, i = gang->threads;
  }
  fail(t, at, "deadlock", "no thread can go on");
}

/* ---- giving way ---- */

enum { IDLE_CHECK = 1 << 12 };

static void park(struct emu_thread *t, u32 at, const char *op, const void *object) {
  struct gang *gang = gang_of(t);
  struct fiber *f = fiber_of(t);
  u32 me = (u32)(f - gang->fibers);
  f->wait = object;
  f->wait_op = op;
  f->wait_at = at;
  gang->idle_yields = 0;
  gang->runnable[me / 64] &= ~(1ull << me % 64);
  int next = pick(gang);
  if (next < 0) stuck(t, at);
  if ((u32)next != me) go(gang, &f->sp, (u32)next);
  f->wait_op = NULL;
}

static u64 now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (u64)now.tv_sec * 1000000000u + (u64)now.tv_nsec;
}

/* Threads that only look at memory may wait for another block; but not for ever. */
static void check_progress(struct emu_thread *t, u32 at) {
  struct gang *gang = gang_of(t);
  if (gang->idle_yields % IDLE_CHECK) return;
  u64 now = now_ns();
  if (gang->idle_yields == IDLE_CHECK) gang->idle_since = now;
  if (now - gang->idle_since > gang->launch->patience_ms * 1000000ull)
    fail(t, at, "deadlock", "threads look at memory that nobody changes");
}

/* For loops that look at memory until another thread has changed it. */
void emu_yield(struct emu_thread *t, u32 at) {
  struct gang *gang = gang_of(t);
  struct fiber *f = fiber_of(t);
  u32 me = (u32)(f - gang->fibers);
  if (gang->launch->stop) fail(t, 0, "stopped", "another block has failed");
  if (++gang->idle_yields % (gang->threads + 1) == 0) engine_step(gang);
  f->wait_op = "looks at memory";
  f->wait_at = at;
  check_progress(t, at);
  int next = pick(gang);
  if (next >= 0 && (u32)next != me) go(gang, &f->sp, (u32)next);
  f->wait_op = NULL;
}

static void leave(struct fiber *f) {
  struct gang *gang = f->t.block->gang;
  u32 me = (u32)(f - gang->fibers);
  void *abandoned;
  check_stores(f);
  f->exited = 1;
  gang->alive--;
  gang->idle_yields = 0;
  f->t.block->alive--;
  left_barriers(&f->t);
  gang->runnable[me / 64] &= ~(1ull << me % 64);
  int next = gang->alive ? pick(gang) : -1;
  if (!gang->alive) {
    while (engine_step(gang)) {
    }
    emu_switch(&abandoned, gang->main_sp);
  }
  if (next < 0) stuck(&f->t, f->wait_at);
  go(gang, &abandoned, (u32)next);
}

static void run_fiber(void *argument) {
  struct fiber *f = argument;
  f->t.block->gang->launch->entry(&f->t, f->t.block->gang->launch->parameters);
  leave(f);
}
