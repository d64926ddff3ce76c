/* Contract between an emitted kernel and the runtime, version 1. Both sides paste this text.
 *
 * Entry     int32_t NAME(const uint64_t *args, const struct tile_rt *rt), visibility default.
 *           Returns 0; any other value is reported as an internal error of the kernel.
 * args      One 8-byte slot for each parameter, in order: pointers and unsigned integers
 *           zero-extended, signed integers sign-extended, bool as 0 or 1, f64 as its bits,
 *           f32 as its bits in the low half; narrower floats are passed as f32.
 * jobs      parallel_for runs fn(ctx, job, worker, scratch) for every job in [0, njobs), each once,
 *           on up to rt->threads threads, and returns when all are done. A worker starts at its own
 *           contiguous range of jobs and takes jobs from other ranges when that is used up, so
 *           neighbouring jobs tend to meet the same worker's scratch, but need not. The order is
 *           unspecified. Calls nested in a job run on the calling thread alone. Jobs may store past
 *           the caches: the runtime orders such stores before parallel_for returns.
 * scratch   scratch_bytes for each worker, aligned to 64 bytes (2 MiB from 1 MiB on), kept from
 *           one job of the same parallel_for to the next. Its first 64 bytes are zero when a worker
 *           runs its first job of that call; the rest is undefined. Nothing survives the call.
 * workspace rt->workspace(rt, bytes) is memory for the whole launch, aligned likewise, undefined
 *           contents, valid until the entry returns; called by the entry only (not in jobs); a
 *           second call gives the same memory, grown or moved. NULL where there is no memory:
 *           then return.
 * fail      Reports a failed device_assert and stops the launch: jobs that have not started never
 *           do. The first report wins. It returns, so the job must return after calling it.
 * print     Appends to the launch's output, which the host shows when the launch ends (at most
 *           TILE_PRINT_BYTES; what is beyond is dropped and said to be).
 *           In both texts each {} stands for the next value; kinds has one letter for each value:
 *           i int64, u uint64, f bits of a double, b bool, x uint64 in hexadecimal.
 */
typedef __INT8_TYPE__ int8_t;
typedef __INT16_TYPE__ int16_t;
typedef __INT32_TYPE__ int32_t;
typedef __INT64_TYPE__ int64_t;
typedef __UINT8_TYPE__ uint8_t;
typedef __UINT16_TYPE__ uint16_t;
typedef __UINT32_TYPE__ uint32_t;
typedef __UINT64_TYPE__ uint64_t;

#define TILE_ABI_VERSION 1
#define TILE_PRINT_BYTES 65536
#define TILE_EXPORT __attribute__((visibility("default")))

typedef void (*tile_job)(void *ctx, int64_t job, int32_t worker, char *scratch);

struct tile_rt {
  int32_t version;
  int32_t threads;
  void (*parallel_for)(const struct tile_rt *rt, int64_t njobs, tile_job fn, void *ctx,
                       int64_t scratch_bytes);
  char *(*workspace)(const struct tile_rt *rt, int64_t bytes);
  void (*fail)(const struct tile_rt *rt, const char *text, const char *kinds,
               const uint64_t *values);
  void (*print)(const struct tile_rt *rt, const char *text, const char *kinds,
                const uint64_t *values);
  struct tile_call *call; /* the runtime's own record of this launch */
};
