/* ---- an exported library on a GPU: the driver, found at run time ---- */

#include <dlfcn.h>
#include <pthread.h>

typedef int32_t tile_result;

#define TILE_DRIVER(F)                                                                         \
  F(cuInit, "cuInit", (unsigned))                                                              \
  F(cuDeviceGetCount, "cuDeviceGetCount", (int *))                                             \
  F(cuDeviceGetAttribute, "cuDeviceGetAttribute", (int *, int, int))                           \
  F(cuDevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain", (void **, int))                      \
  F(cuCtxPushCurrent, "cuCtxPushCurrent_v2", (void *))                                         \
  F(cuCtxPopCurrent, "cuCtxPopCurrent_v2", (void **))                                          \
  F(cuCtxSynchronize, "cuCtxSynchronize", (void))                                              \
  F(cuModuleLoadData, "cuModuleLoadData", (void **, const void *))                             \
  F(cuModuleGetFunction, "cuModuleGetFunction", (void **, void *, const char *))               \
  F(cuFuncSetAttribute, "cuFuncSetAttribute", (void *, int, int))                              \
  F(cuLaunchKernel, "cuLaunchKernel",                                                          \
    (void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *,     \
     void **, void **))                                                                        \
  F(cuMemAlloc, "cuMemAlloc_v2", (uint64_t *, size_t))                                         \
  F(cuMemFree, "cuMemFree_v2", (uint64_t))                                                     \
  F(cuMemcpyHtoD, "cuMemcpyHtoD_v2", (uint64_t, const void *, size_t))                         \
  F(cuMemcpyDtoH, "cuMemcpyDtoH_v2", (void *, uint64_t, size_t))                               \
  F(cuMemsetD8, "cuMemsetD8_v2", (uint64_t, unsigned char, size_t))                            \
  F(cuMemAllocAsync, "cuMemAllocAsync", (uint64_t *, size_t, void *))                          \
  F(cuMemFreeAsync, "cuMemFreeAsync", (uint64_t, void *))                                      \
  F(cuStreamIsCapturing, "cuStreamIsCapturing", (void *, int *))                               \
  F(cuGetErrorString, "cuGetErrorString", (tile_result, const char **))                        \
  F(cuTensorMapEncodeTiled, "cuTensorMapEncodeTiled",                                          \
    (void *, int, uint32_t, void *, const uint64_t *, const uint64_t *, const uint32_t *,      \
     const uint32_t *, int, int, int, int))

static struct {
#define TILE_DECLARED(name, symbol, taken) tile_result(*name) taken;
  TILE_DRIVER(TILE_DECLARED)
#undef TILE_DECLARED
} tile_driver;

enum { TILE_MAX_DEVICES = 64 };
enum { TILE_MAJOR = 75, TILE_MINOR = 76, TILE_MULTIPROCESSORS = 16, TILE_MAX_SHARED = 8 };

struct tile_gpu {
  void *context;
  int32_t major, minor, multiprocessors;
  uint64_t next, end; /* zeroed memory that is left */
};

static struct tile_gpu tile_gpus[TILE_MAX_DEVICES];
static pthread_mutex_t tile_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t tile_once = PTHREAD_ONCE_INIT;
static char tile_trouble[256];

static const char *tile_error(tile_result status) {
  const char *text = NULL;
  if (tile_driver.cuGetErrorString) tile_driver.cuGetErrorString(status, &text);
  return text ? text : "unknown error of the driver";
}

static void tile_find_driver(void) {
  void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    snprintf(tile_trouble, sizeof tile_trouble, "%s", dlerror());
    return;
  }
#define TILE_FOUND(name, symbol, taken) *(void **)&tile_driver.name = dlsym(library, symbol);
  TILE_DRIVER(TILE_FOUND)
#undef TILE_FOUND
  tile_result status = tile_driver.cuInit ? tile_driver.cuInit(0) : 1;
  if (status) snprintf(tile_trouble, sizeof tile_trouble, "%s", tile_error(status));
}

static int32_t tile_open(int32_t device, struct tile_gpu *gpu) {
  int count = 0;
  tile_driver.cuDeviceGetCount(&count);
  if (device < 0 || device >= count || device >= TILE_MAX_DEVICES)
    return tile_refuse(3008, "there is no device %d; the driver has %d", device, count);
  tile_driver.cuDeviceGetAttribute(&gpu->major, TILE_MAJOR, device);
  tile_driver.cuDeviceGetAttribute(&gpu->minor, TILE_MINOR, device);
  tile_driver.cuDeviceGetAttribute(&gpu->multiprocessors, TILE_MULTIPROCESSORS, device);
  void *context = NULL;
  tile_result status = tile_driver.cuDevicePrimaryCtxRetain(&context, device);
  if (status) return tile_refuse(3008, "device %d: %s", device, tile_error(status));
  __atomic_store_n(&gpu->context, context, __ATOMIC_RELEASE);
  return 0;
}

/* Makes a device ready; the context is the one that PyTorch, CuPy and the CUDA runtime use. */
static int32_t tile_device_begin(int32_t device) {
  pthread_once(&tile_once, tile_find_driver);
  if (tile_trouble[0]) return tile_refuse(3008, "there is no CUDA device: %s", tile_trouble);
  if (device >= 0 && device < TILE_MAX_DEVICES &&
      __atomic_load_n(&tile_gpus[device].context, __ATOMIC_ACQUIRE))
    return 0;
  pthread_mutex_lock(&tile_lock);
  int32_t known = device >= 0 && device < TILE_MAX_DEVICES && tile_gpus[device].context;
  struct tile_gpu none = {0};
  int32_t bad = device < 0 || device >= TILE_MAX_DEVICES;
  int32_t status = known ? 0 : tile_open(device, bad ? &none : &tile_gpus[device]);
  pthread_mutex_unlock(&tile_lock);
  return status;
}

/* Machine code for 9.0 with suffix a runs there only, others on later ones of the same major. */
static int32_t tile_gpu_is(int32_t device, int32_t major, int32_t minor, int32_t exactly) {
  const struct tile_gpu *gpu = &tile_gpus[device];
  return gpu->major == major && (exactly ? gpu->minor == minor : gpu->minor >= minor);
}

/* ---- one call ---- */

enum { TILE_WORKSPACES = 64 };

struct tile_module {
  const void *code;
  int32_t kernels;
  const char *const *names;
  const int32_t *shared;
  void **functions; /* of each device in turn */
  int32_t loaded[TILE_MAX_DEVICES];
};

struct tile_launch {
  struct tile_module *module;
  int32_t device;
  void *stream;
  uint64_t workspaces[TILE_WORKSPACES];
  int32_t workspace_count;
};

static int32_t tile_load(struct tile_module *m, int32_t device) {
  void *module = NULL;
  tile_result status = tile_driver.cuModuleLoadData(&module, m->code);
  if (status)
    return tile_refuse(3007, "the driver cannot load the machine code: %s", tile_error(status));
  for (int32_t i = 0; i < m->kernels; i++) {
    void **function = &m->functions[device * m->kernels + i];
    status = tile_driver.cuModuleGetFunction(function, module, m->names[i]);
    if (status) return tile_refuse(3007, "%s: %s", m->names[i], tile_error(status));
    if (m->shared[i] <= 48 * 1024) continue; /* what a block gets without asking */
    status = tile_driver.cuFuncSetAttribute(*function, TILE_MAX_SHARED, m->shared[i]);
    if (status)
      return tile_refuse(3010, "%s needs %d bytes of shared memory for a block: %s", m->names[i],
                         m->shared[i], tile_error(status));
  }
  __atomic_store_n(&m->loaded[device], 1, __ATOMIC_RELEASE);
  return 0;
}

static int32_t tile_begin(struct tile_launch *l, struct tile_module *m, int32_t device,
                          void *stream) {
  l->module = m;
  l->device = device;
  l->stream = stream;
  l->workspace_count = 0;
  tile_driver.cuCtxPushCurrent(tile_gpus[device].context);
  if (__atomic_load_n(&m->loaded[device], __ATOMIC_ACQUIRE)) return 0;
  pthread_mutex_lock(&tile_lock);
  int32_t status = m->loaded[device] ? 0 : tile_load(m, device);
  pthread_mutex_unlock(&tile_lock);
  return status;
}

/* Workspaces go back in the order of the stream. */
static int32_t tile_end(struct tile_launch *l, int32_t status) {
  void *context;
  for (int32_t i = 0; i < l->workspace_count; i++)
    tile_driver.cuMemFreeAsync(l->workspaces[i], l->stream);
  tile_driver.cuCtxPopCurrent(&context);
  return status;
}

__attribute__((unused)) static int32_t tile_workspace(struct tile_launch *l, int64_t bytes,
                                                      uint64_t *address) {
  if (l->workspace_count == TILE_WORKSPACES) return tile_refuse(806, "too many workspaces");
  tile_result status =
      tile_driver.cuMemAllocAsync(address, (size_t)(bytes > 0 ? bytes : 1), l->stream);
  if (status)
    return tile_refuse(806, "no memory for a workspace of %lld bytes: %s", (long long)bytes,
                       tile_error(status));
  l->workspaces[l->workspace_count++] = *address;
  return 0;
}

static int32_t tile_start(struct tile_launch *l, int32_t kernel, int64_t blocks, int32_t threads,
                          void **values) {
  const struct tile_module *m = l->module;
  if (blocks > INT32_MAX)
    return tile_refuse(3011, "a launch of %lld blocks; a grid has at most %d", (long long)blocks,
                       INT32_MAX);
  tile_result status = tile_driver.cuLaunchKernel(
      m->functions[l->device * m->kernels + kernel], (unsigned)blocks, 1, 1, (unsigned)threads, 1, 1,
      (unsigned)m->shared[kernel], l->stream, values, NULL);
  if (status) return tile_refuse(3009, "the driver refused the launch: %s", tile_error(status));
  return 0;
}

/* ---- memory that launches leave to later ones of the same stream ---- */

enum { TILE_SLAB = 1 << 18, TILE_SECTOR = 32 };

struct tile_kept {
  const void *site;
  int32_t device;
  void *stream;
  pthread_t thread;
  uint64_t address;
  struct tile_kept *next;
};

static struct tile_kept *tile_all_kept;

/* With tile_lock held: zeros that nobody has used. None is allocated while a graph is captured. */
static int32_t tile_piece(int32_t device, int64_t bytes, int32_t captured, uint64_t *address) {
  struct tile_gpu *gpu = &tile_gpus[device];
  uint64_t step = ((uint64_t)bytes + TILE_SECTOR - 1) / TILE_SECTOR * TILE_SECTOR;
  uint64_t spare = step > TILE_SLAB / 2 ? step : TILE_SLAB / 2;
  if (!captured && gpu->end - gpu->next < spare) {
    uint64_t size = step > TILE_SLAB ? step : TILE_SLAB, made = 0;
    tile_result status = tile_driver.cuMemAlloc(&made, size);
    if (!status) status = tile_driver.cuMemsetD8(made, 0, size);
    if (!status) status = tile_driver.cuCtxSynchronize();
    if (status) return tile_refuse(806, "no memory for counters: %s", tile_error(status));
    gpu->next = made;
    gpu->end = made + size;
  }
  if (gpu->end - gpu->next < step)
    return tile_refuse(3018, "no memory is left for what a captured launch keeps: call the kernel "
                             "once outside of the capture");
  *address = gpu->next;
  gpu->next += step;
  return 0;
}

__attribute__((unused)) static int32_t tile_keep(struct tile_launch *l, const void *site,
                                                 int64_t bytes, uint64_t *address) {
  void *stream = l->stream == (void *)1 ? NULL : l->stream; /* two names of the legacy stream */
  pthread_t thread = stream == (void *)2 ? pthread_self() : (pthread_t)0;
  int capturing = 0;
  if (stream) tile_driver.cuStreamIsCapturing(stream, &capturing);
  pthread_mutex_lock(&tile_lock);
  struct tile_kept *k = capturing ? NULL : tile_all_kept;
  while (k && !(k->site == site && k->device == l->device && k->stream == stream &&
                pthread_equal(k->thread, thread)))
    k = k->next;
  int32_t status = 0;
  if (k) {
    *address = k->address;
  } else {
    status = tile_piece(l->device, bytes, capturing, address);
    if (!status && !capturing && (k = calloc(1, sizeof *k))) {
      *k = (struct tile_kept){site, l->device, stream, thread, *address, tile_all_kept};
      tile_all_kept = k;
    }
  }
  pthread_mutex_unlock(&tile_lock);
  return status;
}

/* ---- tensor maps ---- */

struct tile_map {
  _Alignas(64) unsigned char bytes[128];
};

/* Extents in elements and strides in bytes (all but the first), innermost first. */
__attribute__((unused)) static int32_t tile_make_map(
    struct tile_map *map, const char *name, uint64_t address, int32_t rank, int32_t type,
    int32_t swizzle, const uint32_t *box, const int64_t *extents, const int64_t *strides) {
  static const uint32_t ones[5] = {1, 1, 1, 1, 1};
  uint64_t sizes[5] = {0}, steps[5] = {0};
  memset(map, 0, sizeof *map);
  for (int32_t i = 0; i < rank; i++) {
    if (extents[i] < 1) return 0; /* nothing is copied from or to an empty tensor */
    sizes[i] = (uint64_t)extents[i];
  }
  if (address % 16) return tile_refuse(3017, "'%s': its address is no multiple of 16", name);
  for (int32_t i = 0; i + 1 < rank; i++) {
    steps[i] = (uint64_t)strides[i];
    if (strides[i] % 16 || strides[i] < 0 || strides[i] >= INT64_C(1) << 40)
      return tile_refuse(3017, "'%s': a stride of %lld bytes, no multiple of 16 below 2**40", name,
                         (long long)strides[i]);
  }
  if (!tile_driver.cuTensorMapEncodeTiled)
    return tile_refuse(3016, "the driver is older than CUDA 12.0 and makes no tensor maps");
  tile_result status = tile_driver.cuTensorMapEncodeTiled(map, type, (uint32_t)rank,
                                                          (void *)address, sizes, steps, box, ones,
                                                          0, swizzle, 2, 0);
  if (status) return tile_refuse(3016, "'%s': no tensor map: %s", name, tile_error(status));
  return 0;
}

/* ---- memory of the self-check ---- */

static int32_t tile_within(int32_t device, tile_result status) {
  void *context;
  tile_driver.cuCtxPopCurrent(&context);
  return status ? tile_refuse(3009, "device %d: %s", device, tile_error(status)) : 0;
}

static int32_t tile_device_allocate(int32_t device, int64_t bytes, void **memory) {
  uint64_t address = 0;
  tile_driver.cuCtxPushCurrent(tile_gpus[device].context);
  tile_result status = tile_driver.cuMemAlloc(&address, (size_t)(bytes > 0 ? bytes : 1));
  *memory = (void *)address;
  return tile_within(device, status);
}

static void tile_device_free(int32_t device, void *memory) {
  tile_driver.cuCtxPushCurrent(tile_gpus[device].context);
  tile_driver.cuMemFree((uint64_t)memory);
  tile_within(device, 0);
}

static int32_t tile_device_write(int32_t device, void *memory, const void *host, int64_t bytes) {
  tile_driver.cuCtxPushCurrent(tile_gpus[device].context);
  return tile_within(device, tile_driver.cuMemcpyHtoD((uint64_t)memory, host, (size_t)bytes));
}

static int32_t tile_device_read(int32_t device, void *host, const void *memory, int64_t bytes) {
  tile_driver.cuCtxPushCurrent(tile_gpus[device].context);
  return tile_within(device, tile_driver.cuMemcpyDtoH(host, (uint64_t)memory, (size_t)bytes));
}
