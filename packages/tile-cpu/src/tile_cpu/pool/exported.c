
/* ---- an exported library on the host ---- */

#include <unistd.h>

/* Threads of a launch: TILE_NUM_THREADS, else the processors that this process may run on. */
static int32_t tile_threads(void) {
  const char *asked = getenv("TILE_NUM_THREADS");
  int count = asked ? atoi(asked) : 0;
  if (count > 0) return count;
#ifdef __linux__
  cpu_set_t allowed;
  if (!sched_getaffinity(0, sizeof allowed, &allowed)) return CPU_COUNT(&allowed);
#endif
  return (int32_t)sysconf(_SC_NPROCESSORS_ONLN);
}

/* Linux lists features under the names that kernels ask for; elsewhere the machine's kind, for
 * which the library was built, is all that is known. */
static char tile_features[8192];

static void tile_read_features(void) {
  FILE *file = fopen("/proc/cpuinfo", "r");
  char line[sizeof tile_features - 2];
  while (file && fgets(line, sizeof line, file)) {
    if (strncmp(line, "flags", 5) && strncmp(line, "Features", 8)) continue;
    line[strcspn(line, "\n")] = 0;
    snprintf(tile_features, sizeof tile_features, "%s ", line);
    break;
  }
  if (file) fclose(file);
}

static int32_t tile_machine_has(const char *const *names) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, tile_read_features);
  for (int i = 0; names[i]; i++)
    if (!strcmp(names[i], "amx_tile") && ask_for_tiles()) return 0;
  for (; *names && tile_features[0]; names++) {
    char word[64];
    snprintf(word, sizeof word, " %s ", *names);
    if (!strstr(tile_features, word)) return 0;
  }
  return 1;
}

static int32_t tile_launch(tile_entry entry, const uint64_t *args) {
  int32_t status = tile_pool_launch(entry, args, tile_threads());
  if (status & STATUS_PRINTED) {
    fputs(tile_pool_printed(), stdout);
    fflush(stdout);
  }
  if (status & STATUS_FAILED) return tile_refuse(805, "%s", tile_pool_failure());
  if (status & STATUS_NO_MEMORY) return tile_refuse(806, "no memory for the kernel's scratch");
  if (status & STATUS_BAD_RETURN) return tile_refuse(9001, "the kernel returned an error");
  return 0;
}

static int32_t tile_device_begin(int32_t device) {
  (void)device;
  return 0;
}

static int32_t tile_device_allocate(int32_t device, int64_t bytes, void **memory) {
  (void)device;
  *memory = allocate(bytes);
  return *memory ? 0 : tile_refuse(806, "no memory for %lld bytes", (long long)bytes);
}

static void tile_device_free(int32_t device, void *memory) {
  (void)device;
  free(memory);
}

static int32_t tile_device_write(int32_t device, void *memory, const void *host, int64_t bytes) {
  (void)device;
  memcpy(memory, host, (size_t)bytes);
  return 0;
}

static int32_t tile_device_read(int32_t device, void *host, const void *memory, int64_t bytes) {
  (void)device;
  memcpy(host, memory, (size_t)bytes);
  return 0;
}
