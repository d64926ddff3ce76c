/* Blocks of waves on the host: a thread of the operating system for each thread of a block, which
 * meet wherever a wave's lanes exchange values. What the instructions do with whose registers is
 * written here from AMD's manuals and not from the descriptions that the compiler uses. */
typedef unsigned long pthread_t;
extern "C" int pthread_create(pthread_t *, const void *, void *(*)(void *), void *);
extern "C" int pthread_join(pthread_t, void **);
extern "C" int pthread_barrier_init(void *, const void *, unsigned);
extern "C" int pthread_barrier_wait(void *);

struct alignas(64) Barrier {
  char room[64];
};

struct Lane {
  const void *a, *b;
};

static Barrier block_barrier, wave_barriers[32];
static Lane lanes[1024];
static int block_threads, block_number, block_count;
static thread_local int this_thread;

static void wave_meet() { pthread_barrier_wait(&wave_barriers[this_thread / TILE_WAVE]); }

/* Leaves this lane's operands for the others, lets f read those of any lane, and waits until all have
 * read. */
template <class A, class B, class F>
static auto exchange(const A &a, const B &b, F f) {
  lanes[this_thread] = {&a, &b};
  wave_meet();
  Lane *wave = lanes + this_thread / TILE_WAVE * TILE_WAVE;
  auto r = f(this_thread % TILE_WAVE, wave);
  wave_meet();
  return r;
}

static int from_lane(int word, int lane) {
  return exchange(word, word, [=](int, Lane *wave) { return *(const int *)wave[lane].a; });
}

static int dpp(int word, int control) {
  int l = this_thread % TILE_WAVE;
  int source = control < 0x100    ? (l & ~3) | (control >> 2 * (l & 3) & 3)
               : control == 0x140 ? l ^ 15
                                  : l ^ 7; /* row_mirror, row_half_mirror */
  return from_lane(word, source);
}

static int swizzle(int word, int pattern) {
  int l = this_thread % TILE_WAVE;
  int source = ((l & 31 & pattern) | (pattern >> 5 & 31)) ^ (pattern >> 10 & 31);
  return from_lane(word, (l & ~31) | source);
}

/* Elements of an operand as numbers to multiply. */
struct Half {
  static double at(const void *p, int i) { return (double)((const _Float16 *)p)[i]; }
};

struct Brain {
  static double at(const void *p, int i) {
    unsigned bits = (unsigned)((const unsigned short *)p)[i] << 16;
    return (double)__builtin_bit_cast(float, bits);
  }
};

struct Single {
  static double at(const void *p, int i) { return ((const float *)p)[i]; }
};

struct Double {
  static double at(const void *p, int i) { return ((const double *)p)[i]; }
};

struct Byte {
  static double at(const void *p, int i) { return ((const signed char *)p)[i]; }
};

struct Natural {
  static double at(const void *p, int i) { return ((const unsigned char *)p)[i]; }
};

/* What hosts without an instruction for it call to round to bf16: the code is the low half of the
 * register that a float is returned in. */
extern "C" float round_to_brain(float x) __asm__("__truncsfbf2");
extern "C" float round_to_brain(float x) {
  unsigned u = __builtin_bit_cast(unsigned, x);
  u = x != x ? 0x7fc0 : (u + 0x7fff + ((u >> 16) & 1)) >> 16;
  return __builtin_bit_cast(float, u);
}

/* D = A B + C of SIDE rows and columns and depth K. Lane and register of A[i][k] and of B[k][j] are
 * those of row i or column j: lanes hold PER neighbours along k each, and where that leaves lanes
 * over, they hold copies. `row` says which row of D register v of lane l is; its column is l. */
template <class Element, int SIDE, int K, int PER, class A, class C, class Row>
static C multiply(const A &a, const A &b, C c, Row row) {
  return exchange(a, b, [=](int l, Lane *wave) {
    C d = c;
    for (int v = 0; v < (int)(sizeof(C) / sizeof(c[0])); v++) {
      double sum = (double)c[v];
      for (int k = 0; k < K; k++) {
        int group = SIDE * (k / PER);
        sum += Element::at(wave[row(l, v) + group].a, k % PER) *
               Element::at(wave[l % SIDE + group].b, k % PER);
      }
      d[v] = sum;
    }
    return d;
  });
}

static int row_of_32(int l, int v) { return 8 * (v / 4) + 4 * (l / 32) + v % 4; }
static int row_of_16(int l, int v) { return 4 * (l / 16) + v; }
static int row_of_doubles(int l, int v) { return 4 * v + l / 16; }
static int row_of_eleven(int l, int v) { return 2 * v + l / 16; }
static int row_of_twelve(int l, int v) { return 8 * (l / 16) + v; }

#define M32(ELEMENT, K, PER) multiply<ELEMENT, 32, K, PER>(a, b, c, row_of_32)
#define M16(ELEMENT, K, PER) multiply<ELEMENT, 16, K, PER>(a, b, c, row_of_16)
#define INSTRUCTION(NAME, HOW)                                   \
  template <class A, class C>                                    \
  static C NAME(const A &a, const A &b, C c, int = 0, int = 0, int = 0) { \
    return HOW;                                                  \
  }
INSTRUCTION(mfma_f32_32x32x8f16, M32(Half, 8, 4))
INSTRUCTION(mfma_f32_16x16x16f16, M16(Half, 16, 4))
INSTRUCTION(mfma_f32_32x32x16_f16, M32(Half, 16, 8))
INSTRUCTION(mfma_f32_16x16x32_f16, M16(Half, 32, 8))
INSTRUCTION(mfma_f32_32x32x8bf16_1k, M32(Brain, 8, 4))
INSTRUCTION(mfma_f32_16x16x16bf16_1k, M16(Brain, 16, 4))
INSTRUCTION(mfma_f32_32x32x16_bf16, M32(Brain, 16, 8))
INSTRUCTION(mfma_f32_16x16x32_bf16, M16(Brain, 32, 8))
INSTRUCTION(mfma_i32_32x32x8i8, M32(Byte, 8, 4))
INSTRUCTION(mfma_i32_16x16x16i8, M16(Byte, 16, 4))
INSTRUCTION(mfma_i32_32x32x16_i8, M32(Byte, 16, 8))
INSTRUCTION(mfma_i32_16x16x32_i8, M16(Byte, 32, 8))
INSTRUCTION(mfma_f32_32x32x2f32, M32(Single, 2, 1))
INSTRUCTION(mfma_f32_16x16x4f32, M16(Single, 4, 1))
INSTRUCTION(mfma_f32_32x32x4_xf32, M32(Single, 4, 2))
INSTRUCTION(mfma_f32_16x16x8_xf32, M16(Single, 8, 2))
INSTRUCTION(mfma_f64_16x16x4f64, (multiply<Double, 16, 4, 1>(a, b, c, row_of_doubles)))
INSTRUCTION(wmma_f32_16x16x16_f16_w32, (multiply<Half, 16, 16, 16>(a, b, c, row_of_eleven)))
INSTRUCTION(wmma_f32_16x16x16_bf16_w32, (multiply<Brain, 16, 16, 16>(a, b, c, row_of_eleven)))
INSTRUCTION(wmma_f32_16x16x16_f16_w32_gfx12, (multiply<Half, 16, 16, 8>(a, b, c, row_of_twelve)))
INSTRUCTION(wmma_f16_16x16x16_f16_w32_gfx12, (multiply<Half, 16, 16, 8>(a, b, c, row_of_twelve)))
INSTRUCTION(wmma_f32_16x16x16_bf16_w32_gfx12, (multiply<Brain, 16, 16, 8>(a, b, c, row_of_twelve)))

#define INTEGERS(NAME, PER, ROW)                                              \
  template <class A, class C>                                                 \
  static C NAME(bool is_signed, const A &a, bool, const A &b, C c, bool) {    \
    return is_signed ? multiply<Byte, 16, 16, PER>(a, b, c, ROW)              \
                     : multiply<Natural, 16, 16, PER>(a, b, c, ROW);          \
  }
INTEGERS(wmma_i32_16x16x16_iu8_w32, 16, row_of_eleven)
INTEGERS(wmma_i32_16x16x16_iu8_w32_gfx12, 8, row_of_twelve)

struct Launch {
  void (*call)(void *);
  void *arguments;
  int thread;
};

static void *start(void *p) {
  Launch *launch = (Launch *)p;
  this_thread = launch->thread;
  launch->call(launch->arguments);
  return nullptr;
}

/* One block after the other. */
static void run_blocks(int blocks, int threads, void (*call)(void *), void *arguments) {
  static Launch launches[1024];
  static pthread_t ids[1024];
  block_threads = threads;
  block_count = blocks;
  for (block_number = 0; block_number < blocks; block_number++) {
    pthread_barrier_init(&block_barrier, nullptr, threads);
    for (int wave = 0; wave * TILE_WAVE < threads; wave++)
      pthread_barrier_init(&wave_barriers[wave], nullptr, TILE_WAVE);
    for (int t = 0; t < threads; t++) {
      launches[t] = {call, arguments, t};
      pthread_create(&ids[t], nullptr, start, &launches[t]);
    }
    for (int t = 0; t < threads; t++) pthread_join(ids[t], nullptr);
  }
}

#define __builtin_amdgcn_ds_bpermute(address, word) from_lane(word, (address) >> 2)
#define __builtin_amdgcn_update_dpp(old, word, control, rows, banks, bound) dpp(word, control)
#define __builtin_amdgcn_ds_swizzle(word, pattern) swizzle(word, pattern)
#define __builtin_amdgcn_workitem_id_x() this_thread
#define __builtin_amdgcn_workgroup_id_x() block_number
#define __builtin_amdgcn_grid_size_x() (block_count * block_threads)
#define __builtin_amdgcn_workgroup_size_x() block_threads
#define __builtin_amdgcn_sched_barrier(mask)
#define __builtin_amdgcn_s_barrier() pthread_barrier_wait(&block_barrier)
#define __builtin_amdgcn_wave_barrier() wave_meet()
#define __builtin_amdgcn_fence(order, scope)
#define __hip_atomic_fetch_add(p, x, order, scope) __atomic_fetch_add(p, x, order)
#define __hip_atomic_fetch_max(p, x, order, scope) __atomic_fetch_max(p, x, order)
#define __hip_atomic_fetch_min(p, x, order, scope) __atomic_fetch_min(p, x, order)
#define __hip_atomic_fetch_and(p, x, order, scope) __atomic_fetch_and(p, x, order)
#define __hip_atomic_fetch_or(p, x, order, scope) __atomic_fetch_or(p, x, order)
#define __hip_atomic_fetch_xor(p, x, order, scope) __atomic_fetch_xor(p, x, order)
#define __hip_atomic_load(p, order, scope) __atomic_load_n(p, order)
#define __hip_atomic_compare_exchange_weak(p, old, x, yes, no, scope) \
  __atomic_compare_exchange_n(p, old, x, true, yes, no)
