#define TILE_FN static inline __attribute__((always_inline))

typedef CARRIER DT_t;

typedef DT_t DTxN __attribute__((vector_size(sizeof(DT_t) * LANES)));

/* A vector at any address, over memory of any type. */
typedef DT_t DTxN_any __attribute__((vector_size(sizeof(DT_t) * LANES), aligned(1), may_alias));
