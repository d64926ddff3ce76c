/* Every helper is inlined: a call would put registers into memory. */
#define TILE_FN static __device__ __forceinline__
