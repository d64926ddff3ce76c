/* What generated kernels see of the emulator. Every value of a kernel has a mask beside it: a one
 * bit in the mask says that this bit of the value was never written. */
#define TILE_EMU_API 1

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef signed char i8;
typedef short i16;
typedef int i32;
typedef long long i64;

/* Threads that run together, and a set of them as bits; a target may say another number. */
#ifndef EMU_WAVE
#define EMU_WAVE 32
#endif
#if EMU_WAVE > 32
typedef u64 emu_lanes;
#else
typedef u32 emu_lanes;
#endif

/* Banks of 4 bytes of a block's memory. */
#ifndef EMU_BANKS
#define EMU_BANKS 32
#endif

typedef void *emu_pointer;
struct emu_block;

/* What a thread knows of itself; the emulator keeps more behind it. */
struct emu_thread {
  struct emu_block *block;
  char *shared; /* the block's shared memory: where its window lies in the generic space */
  char *local, *local_mask;
  u32 local_bytes;
  u32 index, lane, warp;
  u32 tid[3], ntid[3], ctaid[3], nctaid[3];
  u32 rank, cluster;
  u32 elected;
  u64 *visits; /* how often each straight piece of the kernel was begun */
};

enum { EMU_GENERIC, EMU_GLOBAL, EMU_SHARED, EMU_LOCAL, EMU_SHARED_CLUSTER };
/* Added to a space. Strong: others may access the same memory at the same time. An atomic operation
 * is that always, and looks at memory for what others have made known unless it is blind; one that
 * publishes is a fence in front as well. */
enum { EMU_STRONG = 16, EMU_BLIND = 32, EMU_PUBLISH = 64 };
/* Added to the space of an atomic operation on a word of which a part is meant, and of the load in
 * front of it: the rest may lie outside of the tensor, or was never written, and stays as it is. */
enum { EMU_PART = 128 };
enum { EMU_SHIFT_UP, EMU_SHIFT_DOWN, EMU_SHIFT_XOR, EMU_SHIFT_INDEX };
enum { EMU_ALL, EMU_ANY, EMU_UNIFORM, EMU_BALLOT };
enum {
  EMU_ADD, EMU_MIN, EMU_MAX, EMU_AND, EMU_OR, EMU_XOR, EMU_EXCHANGE, EMU_COMPARE, EMU_INC, EMU_DEC
};
enum {
  EMU_U32, EMU_S32, EMU_U64, EMU_S64, EMU_F32, EMU_F64, EMU_F16, EMU_BF16, EMU_F16X2, EMU_BF16X2,
  EMU_U16
};

/* In the library these are functions; in a kernel, pointers that are set when it is loaded. */
#ifdef EMU_LIBRARY
#define EMU_FN(result, name, ...) __attribute__((visibility("default"))) result name(__VA_ARGS__);
#else
#define EMU_FN(result, name, ...) \
  __attribute__((visibility("default"))) result (*name)(__VA_ARGS__);
#endif

/* `at` is always the position in the program that reports name. */
EMU_FN(void, emu_load, struct emu_thread *, u32 at, u32 space, u64 address, u32 bytes, void *value,
       void *mask)
EMU_FN(void, emu_store, struct emu_thread *, u32 at, u32 space, u64 address, u32 bytes,
       const void *value, const void *mask)
EMU_FN(u64, emu_atomic, struct emu_thread *, u32 at, u32 space, u32 op, u32 type, u64 address,
       u64 value, u64 other)
EMU_FN(void, emu_fence, struct emu_thread *, u32 device)
EMU_FN(void, emu_fence_engines, struct emu_thread *)
EMU_FN(void, emu_use, struct emu_thread *, u32 at, u32 what)
EMU_FN(void, emu_trap, struct emu_thread *, u32 at)
EMU_FN(void, emu_yield, struct emu_thread *, u32 at)
EMU_FN(void, emu_barrier, struct emu_thread *, u32 at, u32 id, u32 count, u32 arrive)
EMU_FN(u32, emu_barrier_reduce, struct emu_thread *, u32 at, u32 id, u32 count, u32 op, u32 value)
EMU_FN(void, emu_warp_sync, struct emu_thread *, u32 at, emu_lanes members)
EMU_FN(u32, emu_shuffle, struct emu_thread *, u32 at, u32 mode, u32 value, u32 *mask, u32 b, u32 c,
       u32 members, u32 *inside)
EMU_FN(emu_lanes, emu_vote, struct emu_thread *, u32 at, u32 mode, u32 value, emu_lanes members)
EMU_FN(u32, emu_match, struct emu_thread *, u32 at, u64 value, u32 members)
EMU_FN(u32, emu_reduce, struct emu_thread *, u32 at, u32 op, u32 type, u32 value, u32 members)
EMU_FN(u32, emu_elect, struct emu_thread *, u32 at, u32 members)
EMU_FN(void, emu_copy, struct emu_thread *, u32 at, u64 to, u64 from, u32 bytes, u32 valid)
EMU_FN(void, emu_copy_commit, struct emu_thread *)
EMU_FN(void, emu_copy_wait, struct emu_thread *, u32 at, u32 pending)
EMU_FN(void, emu_phase_init, struct emu_thread *, u32 at, u64 address, u32 count)
EMU_FN(void, emu_phase_drop, struct emu_thread *, u32 at, u64 address)
EMU_FN(u64, emu_phase_arrive, struct emu_thread *, u32 at, u64 address, u32 count, i32 bytes)
EMU_FN(void, emu_phase_expect, struct emu_thread *, u32 at, u64 address, i32 bytes)
EMU_FN(void, emu_phase_complete, struct emu_thread *, u32 at, u64 address, i32 bytes)
EMU_FN(u32, emu_phase_wait, struct emu_thread *, u32 at, u64 address, u32 parity, u32 block)
EMU_FN(void, emu_bulk_load, struct emu_thread *, u32 at, u64 to, u64 from, u32 bytes, u64 barrier)
EMU_FN(void, emu_bulk_store, struct emu_thread *, u32 at, u64 to, u64 from, u32 bytes)
EMU_FN(void, emu_box_load, struct emu_thread *, u32 at, u64 to, u64 map, u32 rank, const i32 *start,
       u64 barrier, u32 blocks)
EMU_FN(void, emu_box_store, struct emu_thread *, u32 at, u64 map, u64 from, u32 rank,
       const i32 *start, u32 op)
EMU_FN(void, emu_bulk_commit, struct emu_thread *)
EMU_FN(void, emu_bulk_wait, struct emu_thread *, u32 at, u32 pending, u32 read)
EMU_FN(u64, emu_peer, struct emu_thread *, u32 at, u64 address, u32 rank)
EMU_FN(u64, emu_window, struct emu_thread *, u32 at, u64 generic)
EMU_FN(void, emu_cluster_arrive, struct emu_thread *, u32 at)
EMU_FN(void, emu_cluster_wait, struct emu_thread *, u32 at)
EMU_FN(float, emu_f16_to_f32, u16)
EMU_FN(u16, emu_f32_to_f16, double, u32 mode)
EMU_FN(u16, emu_f32_to_bf16, double, u32 mode)
EMU_FN(u32, emu_f32_to_f8, double, u32 kind)
EMU_FN(float, emu_f8_to_f32, u32, u32 kind)
EMU_FN(u64, emu_to_integer, double, u32 mode, u32 bits, u32 is_signed)
EMU_FN(double, emu_round, double, u32 mode)
EMU_FN(float, emu_to_f32, double, u32 mode)
EMU_FN(double, emu_math, u32 function, double)

/* Of kernels that were compiled for this processor: their accesses, see native.c. */
EMU_FN(void, emu_native_enter, struct emu_thread *, const void *image, u64 image_bytes)
EMU_FN(void, emu_native_leave, void)
EMU_FN(emu_pointer, emu_native_self, void)
EMU_FN(emu_pointer, emu_native_state, void)
EMU_FN(emu_pointer, emu_native_access, u32 at, const void *address, u64 bytes, u32 write)
EMU_FN(void, emu_native_mark, const void *address, u64 bytes, u32 unknown)
EMU_FN(void, emu_native_move, u32 at, void *to, const void *from, u64 bytes)
EMU_FN(void, emu_native_fill, u32 at, void *to, u32 value, u64 bytes)
EMU_FN(void, emu_native_unknown, u32 at)
EMU_FN(void, emu_native_exchange, u32 at, const char *name, void *word, u32 lane)
EMU_FN(void, emu_native_sync_lanes, u32 at)

enum { EMU_NEAREST, EMU_ZERO, EMU_DOWN, EMU_UP };
enum { EMU_EXP2, EMU_LOG2, EMU_SIN, EMU_COS, EMU_TANH, EMU_SQRT, EMU_RSQRT, EMU_RCP };
enum { EMU_BRANCH, EMU_ADDRESS, EMU_OPERAND };
