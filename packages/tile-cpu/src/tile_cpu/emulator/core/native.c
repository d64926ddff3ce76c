/* Kernels that were compiled for this processor. The compiler was asked to follow every bit that
 * was never written (clang, kernel memory sanitizer): before each store and after each load it asks
 * where the mask of those bytes lies. With that, addresses and races are checked too. */

enum { STATE_BYTES = 8192, LONGEST = 256, WIDEST = 16 };

struct native {
  char *shadow; /* the masks of the thread's stack */
  u64 image, image_bytes;
  u32 stored_bytes, stored_at, stored_name;
  /* The mask of what was stored last to a tensor; as aligned as what is stored. */
  char stored[LONGEST] __attribute__((aligned(64)));
  char state[STATE_BYTES]; /* masks of arguments and results of calls */
};

static const char all_known[LONGEST] __attribute__((aligned(64)));

static void free_native(struct fiber *f) {
  if (!f->native) return;
  munmap(f->native->shadow, gang_of(&f->t)->launch->stack_bytes);
  free(f->native);
}

void emu_native_enter(struct emu_thread *t, const void *image, u64 image_bytes) {
  struct fiber *f = fiber_of(t);
  if (!f->native) {
    f->native = aligned_alloc(64, sizeof *f->native);
    f->native->shadow = map_memory(gang_of(t)->launch->stack_bytes);
  }
  f->native->image = (u64)(uintptr_t)image;
  f->native->image_bytes = image_bytes;
  f->native->stored_bytes = 0;
  memset(f->native->state, 0, STATE_BYTES);
}

emu_pointer emu_native_self(void) { return running; }

emu_pointer emu_native_state(void) { return fiber_of(running)->native->state; }

/* What a thread stored to a tensor is judged when it does something else: its mask arrives only
 * after the question for the place. */
static void judge_store(struct emu_thread *t) {
  struct native *n = fiber_of(t)->native;
  u32 bytes = n->stored_bytes;
  n->stored_bytes = 0;
  if (bytes && any_bit(n->stored, bytes))
    fail(t, n->stored_at, "uninitialized", "a value that was never written is stored to &%u",
         n->stored_name);
}

void emu_native_leave(void) { judge_store(running); }

/* The mask of bytes of the thread's own stack, else null. */
static char *stack_mask(struct emu_thread *t, const void *address) {
  struct fiber *f = fiber_of(t);
  u64 offset = (u64)(uintptr_t)address - (u64)(uintptr_t)f->stack;
  return offset < gang_of(t)->launch->stack_bytes ? f->native->shadow + offset : NULL;
}

/* Check an access outside of the stack. Returns its mask; null where all bits are known. */
static char *checked_mask(struct emu_thread *t, u32 at, u64 address, u32 bytes, u32 align,
                          int write, u32 *name) {
  struct gang *gang = gang_of(t);
  struct native *n = fiber_of(t)->native;
  u64 offset = address - (u64)(uintptr_t)t->shared;
  if (offset < shared_room(gang->launch)) {
    struct emu_block *home;
    shared_place(t, at, offset, bytes, align, &home);
    gang->counters[write ? COUNT_SHARED_STORE : COUNT_SHARED_LOAD] += bytes;
    if (bytes <= WIDEST) count_access(t, at, 1, offset, bytes);
    if (write) {
      note_write(t, at, home, offset, bytes);
    } else {
      note_read(t, at, home, offset, bytes);
    }
    return home->mask + offset;
  }
  if (!write && address - n->image < n->image_bytes) return NULL;
  struct region *r = global_region(t, at, address, bytes, align, write);
  gang->counters[write ? COUNT_GLOBAL_STORE : COUNT_GLOBAL_LOAD] += bytes;
  if (bytes <= WIDEST) count_access(t, at, 0, address - r->base, bytes);
  note_global(t, at, r, address, bytes, write ? GLOBAL_WRITE : GLOBAL_READ);
  *name = r->name;
  return r->mask ? r->mask + (address - r->base) : NULL;
}

static u32 natural_alignment(u64 bytes) {
  return bytes && bytes <= 16 && !(bytes & (bytes - 1)) ? (u32)bytes : 1;
}

emu_pointer emu_native_access(u32 at, const void *place, u64 bytes, u32 write) {
  struct emu_thread *t = running;
  struct native *n = fiber_of(t)->native;
  char *mask = stack_mask(t, place);
  u32 name = 0;
  if (mask) return mask;
  judge_store(t);
  mask = checked_mask(t, at, (u64)(uintptr_t)place, (u32)bytes, natural_alignment(bytes),
                      (int)write, &name);
  if (mask) return mask;
  if (!write) return (void *)all_known;
  n->stored_bytes = (u32)bytes;
  n->stored_at = at;
  n->stored_name = name;
  return n->stored;
}

/* The memory of a variable begins or ends. */
void emu_native_mark(const void *address, u64 bytes, u32 unknown) {
  char *mask = stack_mask(running, address);
  if (mask) memset(mask, unknown ? 0xff : 0, bytes);
}

static char *mask_of(struct emu_thread *t, u32 at, const void *place, u64 bytes, int write,
                     u32 *name) {
  char *mask = stack_mask(t, place);
  return mask ? mask : checked_mask(t, at, (u64)(uintptr_t)place, (u32)bytes, 1, write, name);
}

void emu_native_move(u32 at, void *to, const void *from, u64 bytes) {
  struct emu_thread *t = running;
  u32 name = 0;
  if (!bytes) return;
  judge_store(t);
  const char *have = mask_of(t, at, from, bytes, 0, &name);
  char *mask = mask_of(t, at, to, bytes, 1, &name);
  if (!mask && have && any_bit(have, (u32)bytes))
    fail(t, at, "uninitialized", "a value that was never written is stored to &%u", name);
  if (mask && have) {
    memmove(mask, have, bytes);
  } else if (mask) {
    memset(mask, 0, bytes);
  }
  memmove(to, from, bytes);
}

void emu_native_fill(u32 at, void *to, u32 value, u64 bytes) {
  struct emu_thread *t = running;
  u32 name = 0;
  if (!bytes) return;
  judge_store(t);
  char *mask = mask_of(t, at, to, bytes, 1, &name);
  if (mask) memset(mask, 0, bytes);
  memset(to, (int)value, bytes);
}

void emu_native_unknown(u32 at) {
  fail(running, at, "uninitialized",
       "a value that was never written decides a branch, is an address or an operand");
}

/* ---- lanes ---- */

struct exchange {
  u32 word, mask, lane, at, result, result_mask;
};

static void exchange_words(struct emu_thread **lanes, emu_lanes members, void **operands) {
  for (u32 i = 0; i < WARP; i++) {
    if (!(members >> i & 1)) continue;
    struct exchange *own = operands[i];
    if (own->lane >= WARP || !(members >> own->lane & 1))
      fail(lanes[i], own->at, "divergence", "an exchange reads lane %u, which takes no part",
           own->lane);
    own->result = ((struct exchange *)operands[own->lane])->word;
    own->result_mask = ((struct exchange *)operands[own->lane])->mask;
  }
}

/* A word of 32 bits on the stack becomes that of another lane. */
void emu_native_exchange(u32 at, const char *name, void *word, u32 lane) {
  struct emu_thread *t = running;
  struct exchange own = {.lane = lane, .at = at};
  char *mask = stack_mask(t, word);
  memcpy(&own.word, word, 4);
  memcpy(&own.mask, mask, 4);
  meet(t, at, all_lanes(t), name, &own, exchange_words);
  memcpy(word, &own.result, 4);
  memcpy(mask, &own.result_mask, 4);
}

/* All lanes of the group that executes together have come. */
void emu_native_sync_lanes(u32 at) { emu_warp_sync(running, at, all_lanes(running)); }

/* ---- faults ---- */

/* The compiled code loads first and asks then, so an address far off faults before it is judged,
 * and so does a vector that is not aligned: a general protection fault, without an address. */
#if defined(__x86_64__) && defined(__linux__)
static struct sigaction before_launches;
static pthread_mutex_t fault_lock = PTHREAD_MUTEX_INITIALIZER;
static u32 watching;

static void on_fault(int number, siginfo_t *info, void *context) {
  struct native *n = running ? fiber_of(running)->native : NULL;
  u64 pc = (u64)((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
  (void)number;
  if (!n || pc - n->image >= n->image_bytes) {
    sigaction(SIGSEGV, &before_launches, NULL); /* not ours: it happens again */
    return;
  }
  u32 at = (u32)(pc - n->image) + 1;
  if (info->si_code == SI_KERNEL)
    fail(running, at, "alignment", "an address that is no multiple of 16, or none");
  u32 name = 0;
  checked_mask(running, at, (u64)(uintptr_t)info->si_addr, 1, 1, 0, &name);
  fail(running, at, "bounds", "an access at address 0x%llx", (u64)(uintptr_t)info->si_addr);
}

static void watch_faults(int more) {
  struct sigaction own = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_NODEFER};
  pthread_mutex_lock(&fault_lock);
  if (more > 0 && !watching++) sigaction(SIGSEGV, &own, &before_launches);
  if (more < 0 && !--watching) sigaction(SIGSEGV, &before_launches, NULL);
  pthread_mutex_unlock(&fault_lock);
}
#else
static void watch_faults(int more) { (void)more; }
#endif
