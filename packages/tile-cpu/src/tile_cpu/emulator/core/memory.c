/* Loads and stores: where an address points, whether it may be used so, which bits are there. */

/* Addresses in a block's own window start at 0; those of a peer of the cluster carry its rank. */
enum { RANK_SHIFT = 24 };

static void out_of_bounds(struct emu_thread *t, u32 at, const char *space, u64 address, u32 bytes,
                          u64 room) {
  fail(t, at, "bounds", "%u bytes at %s address %llu, of %llu bytes", bytes, space, address, room);
}

static void check_alignment(struct emu_thread *t, u32 at, u64 address, u32 align) {
  if (address & (align - 1))
    fail(t, at, "alignment", "an access of %u bytes at address 0x%llx", align, address);
}

/* A shared address, of this block or of a peer, to where it lies; `home` is whose memory it is. */
static char *shared_place(struct emu_thread *t, u32 at, u64 address, u32 bytes, u32 align,
                          struct emu_block **home) {
  struct gang *gang = gang_of(t);
  struct emu_block *block = t->block;
  u64 rank = address >> RANK_SHIFT, offset = address & ((1u << RANK_SHIFT) - 1);
  u64 room = gang->launch->shared_bytes;
  if (rank) {
    if (rank > gang->launch->cluster)
      fail(t, at, "bounds", "a shared address of block %llu of a cluster of %u", rank - 1,
           gang->launch->cluster);
    block = &gang->blocks[rank - 1];
  }
  if (offset + bytes > room) out_of_bounds(t, at, "shared", offset, bytes, room);
  check_alignment(t, at, offset, align);
  *home = block;
  return block->shared + offset;
}

static u64 shared_address(struct emu_thread *t, u64 generic) {
  struct gang *gang = gang_of(t);
  u64 own = generic - (u64)(uintptr_t)t->shared;
  if (own <= gang->launch->shared_bytes) return own;
  for (u32 i = 0; i < gang->launch->cluster; i++) {
    u64 offset = generic - (u64)(uintptr_t)gang->blocks[i].shared;
    if (offset <= gang->launch->shared_bytes) return offset | (u64)(i + 1) << RANK_SHIFT;
  }
  return ~0ull;
}

u64 emu_window(struct emu_thread *t, u32 at, u64 generic) {
  u64 found = shared_address(t, generic);
  if (found == ~0ull) fail(t, at, "bounds", "address 0x%llx is not in shared memory", generic);
  return found;
}

u64 emu_peer(struct emu_thread *t, u32 at, u64 address, u32 rank) {
  if (rank >= gang_of(t)->launch->cluster)
    fail(t, at, "bounds", "block %u of a cluster of %u", rank, gang_of(t)->launch->cluster);
  return (address & ((1u << RANK_SHIFT) - 1)) | (u64)(rank + 1) << RANK_SHIFT;
}

static struct region *global_region(struct emu_thread *t, u32 at, u64 address, u32 bytes,
                                    u32 align, int write) {
  struct emu_launch *launch = gang_of(t)->launch;
  u64 nearest = ~0ull;
  struct region *close = NULL;
  for (u32 i = 0; i < launch->count_regions; i++) {
    struct region *r = &launch->regions[i];
    if (address - r->base < r->bytes && address - r->base + bytes <= r->bytes) {
      check_alignment(t, at, address, align);
      if (write && !r->writable)
        fail(t, at, "bounds", "%u bytes are stored to &%u, which is only read", bytes, r->name);
      return r;
    }
    u64 distance = address < r->base ? r->base - address : address - r->base - r->bytes;
    if (distance < nearest) nearest = distance, close = r;
  }
  if (!close) fail(t, at, "bounds", "%u bytes at global address 0x%llx", bytes, address);
  fail(t, at, "bounds", "%u bytes at global address 0x%llx: byte %lld of &%u, which has %llu",
       bytes, address, (long long)(address - close->base), close->name, close->bytes);
}

/* The tensor that a word overlaps: memory is given out in larger pieces than words. */
static struct region *part_region(struct emu_thread *t, u32 at, u64 address, u32 bytes) {
  struct emu_launch *launch = gang_of(t)->launch;
  check_alignment(t, at, address, bytes);
  for (u32 i = 0; i < launch->count_regions; i++) {
    struct region *r = &launch->regions[i];
    if (r->writable && address + bytes > r->base && address < r->base + r->bytes) return r;
  }
  return global_region(t, at, address, bytes, bytes, 1);
}

static u32 space_of(struct emu_thread *t, u32 space, u64 *address) {
  if (space != EMU_GENERIC) return space;
  u64 shared = shared_address(t, *address);
  if (shared != ~0ull) {
    *address = shared;
    return EMU_SHARED;
  }
  if (*address - (u64)(uintptr_t)t->local < t->local_bytes) return EMU_LOCAL;
  return EMU_GLOBAL;
}

static u64 local_offset(struct emu_thread *t, u32 at, u64 address, u32 bytes) {
  u64 offset = address - (u64)(uintptr_t)t->local;
  if (offset + bytes > t->local_bytes) out_of_bounds(t, at, "local", offset, bytes, t->local_bytes);
  check_alignment(t, at, address, bytes);
  return offset;
}

static inline void copy_bytes(void *to, const void *from, u32 bytes) {
  switch (bytes) {
  case 1: memcpy(to, from, 1); break;
  case 2: memcpy(to, from, 2); break;
  case 4: memcpy(to, from, 4); break;
  case 8: memcpy(to, from, 8); break;
  case 16: memcpy(to, from, 16); break;
  default: memcpy(to, from, bytes);
  }
}

static inline int any_bit(const void *mask, u32 bytes) {
  const char *bits = mask;
  u64 found = 0, word = 0;
  for (u32 i = 0; i < bytes; i += 8) {
    copy_bytes(&word, bits + i, bytes - i < 8 ? bytes - i : 8);
    found |= word;
  }
  return found != 0;
}

/* A word of which a part will be replaced: other threads may work on the rest at the same time. */
static void load_part(struct emu_thread *t, u32 at, u64 address, u32 bytes, void *value,
                      void *mask) {
  struct region *r = part_region(t, at, address, bytes);
  u64 end = address + bytes, last = r->base + r->bytes;
  u64 first = address < r->base ? r->base : address;
  u32 inside = (u32)((end < last ? end : last) - first);
  gang_of(t)->counters[COUNT_GLOBAL_LOAD] += inside;
  count_access(t, at, 0, first - r->base, inside);
  copy_bytes(value, (char *)(uintptr_t)address, bytes);
  look_around(t);
  note_global(t, at, r, first, inside, GLOBAL_STRONG);
  memset(mask, 0, bytes);
}

void emu_load(struct emu_thread *t, u32 at, u32 space, u64 address, u32 bytes, void *value,
              void *mask) {
  struct gang *gang = gang_of(t);
  u32 strong = space & EMU_STRONG, part = space & EMU_PART;
  space = space_of(t, space & 15, &address);
  if (part && space == EMU_GLOBAL) {
    load_part(t, at, address, bytes, value, mask);
  } else if (space == EMU_GLOBAL) {
    struct region *r = global_region(t, at, address, bytes, bytes, 0);
    gang->counters[COUNT_GLOBAL_LOAD] += bytes;
    count_access(t, at, 0, address - r->base, bytes);
    copy_bytes(value, (char *)(uintptr_t)address, bytes);
    if (strong) look_around(t);
    note_global(t, at, r, address, bytes, strong ? GLOBAL_STRONG : GLOBAL_READ);
    if (r->mask) {
      copy_bytes(mask, r->mask + (address - r->base), bytes);
    } else {
      memset(mask, 0, bytes);
    }
  } else if (space == EMU_LOCAL) {
    u64 offset = local_offset(t, at, address, bytes);
    gang->counters[COUNT_LOCAL_LOAD] += bytes;
    copy_bytes(value, t->local + offset, bytes);
    copy_bytes(mask, t->local_mask + offset, bytes);
  } else {
    struct emu_block *home;
    char *place = shared_place(t, at, address, bytes, bytes, &home);
    u64 offset = (u64)(place - home->shared);
    gang->counters[COUNT_SHARED_LOAD] += bytes;
    count_access(t, at, 1, offset, bytes);
    if (!part) note_read(t, at, home, offset, bytes);
    copy_bytes(value, place, bytes);
    copy_bytes(mask, home->mask + offset, bytes);
    if (part) memset(mask, 0, bytes);
  }
}

static struct region *store_global(struct emu_thread *t, u32 at, u64 address, u32 bytes,
                                   const void *value, const void *mask, u32 strong) {
  struct region *r = global_region(t, at, address, bytes, bytes, 1);
  note_global(t, at, r, address, bytes, strong ? GLOBAL_WRITE | GLOBAL_STRONG : GLOBAL_WRITE);
  gang_of(t)->counters[COUNT_GLOBAL_STORE] += bytes;
  if (r->mask) {
    copy_bytes(r->mask + (address - r->base), mask, bytes);
  } else if (any_bit(mask, bytes)) {
    fail(t, at, "uninitialized", "a value that was never written is stored to &%u", r->name);
  }
  copy_bytes((char *)(uintptr_t)address, value, bytes);
  return r;
}

void emu_store(struct emu_thread *t, u32 at, u32 space, u64 address, u32 bytes, const void *value,
               const void *mask) {
  u32 strong = space & EMU_STRONG;
  if (space & EMU_PUBLISH) emu_fence(t, 1);
  space = space_of(t, space & 15, &address);
  if (space == EMU_GLOBAL) {
    struct region *r = store_global(t, at, address, bytes, value, mask, strong);
    count_access(t, at, 0, address - r->base, bytes);
  } else if (space == EMU_LOCAL) {
    u64 offset = local_offset(t, at, address, bytes);
    gang_of(t)->counters[COUNT_LOCAL_STORE] += bytes;
    copy_bytes(t->local + offset, value, bytes);
    copy_bytes(t->local_mask + offset, mask, bytes);
  } else {
    struct emu_block *home;
    char *place = shared_place(t, at, address, bytes, bytes, &home);
    u64 offset = (u64)(place - home->shared);
    gang_of(t)->counters[COUNT_SHARED_STORE] += bytes;
    count_access(t, at, 1, offset, bytes);
    note_write(t, at, home, offset, bytes);
    copy_bytes(place, value, bytes);
    copy_bytes(home->mask + offset, mask, bytes);
  }
}

void emu_use(struct emu_thread *t, u32 at, u32 what) {
  static const char *const places[] = {"decides a branch", "is an address", "is an operand"};
  fail(t, at, "uninitialized", "a value that was never written %s", places[what]);
}

void emu_trap(struct emu_thread *t, u32 at) { fail(t, at, "trap", "the kernel stops itself"); }
