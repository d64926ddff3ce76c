/* Rows of 8x8 tiles of 16-bit elements between shared memory and the registers of matrix
 * instructions: lane l gives the address of row l % 8 of tile l / 8, as a
 * pointer or as instructions take it. */
template <typename Place>
TILE_FN void tile_ldmatrix_x1(void *dst, Place row) {
  unsigned *d = (unsigned *)dst;
  asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];"
               : "=r"(d[0])
               : "r"(tile_shared(row))
               : "memory");
}

template <typename Place>
TILE_FN void tile_ldmatrix_x2(void *dst, Place row) {
  unsigned *d = (unsigned *)dst;
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"
               : "=r"(d[0]), "=r"(d[1])
               : "r"(tile_shared(row))
               : "memory");
}

template <typename Place>
TILE_FN void tile_ldmatrix_x4(void *dst, Place row) {
  unsigned *d = (unsigned *)dst;
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3])
               : "r"(tile_shared(row))
               : "memory");
}

template <typename Place>
TILE_FN void tile_ldmatrix_trans_x1(void *dst, Place row) {
  unsigned *d = (unsigned *)dst;
  asm volatile("ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%0}, [%1];"
               : "=r"(d[0])
               : "r"(tile_shared(row))
               : "memory");
}

template <typename Place>
TILE_FN void tile_ldmatrix_trans_x2(void *dst, Place row) {
  unsigned *d = (unsigned *)dst;
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
               : "=r"(d[0]), "=r"(d[1])
               : "r"(tile_shared(row))
               : "memory");
}

template <typename Place>
TILE_FN void tile_ldmatrix_trans_x4(void *dst, Place row) {
  unsigned *d = (unsigned *)dst;
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3])
               : "r"(tile_shared(row))
               : "memory");
}

template <typename Place>
TILE_FN void tile_stmatrix_x1(Place row, const void *src) {
  const unsigned *s = (const unsigned *)src;
  asm volatile("stmatrix.sync.aligned.m8n8.x1.shared.b16 [%0], {%1};"
               ::"r"(tile_shared(row)), "r"(s[0])
               : "memory");
}

template <typename Place>
TILE_FN void tile_stmatrix_x2(Place row, const void *src) {
  const unsigned *s = (const unsigned *)src;
  asm volatile("stmatrix.sync.aligned.m8n8.x2.shared.b16 [%0], {%1, %2};"
               ::"r"(tile_shared(row)), "r"(s[0]), "r"(s[1])
               : "memory");
}

template <typename Place>
TILE_FN void tile_stmatrix_x4(Place row, const void *src) {
  const unsigned *s = (const unsigned *)src;
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};"
               ::"r"(tile_shared(row)), "r"(s[0]), "r"(s[1]), "r"(s[2]), "r"(s[3])
               : "memory");
}

template <typename Place>
TILE_FN void tile_stmatrix_trans_x1(Place row, const void *src) {
  const unsigned *s = (const unsigned *)src;
  asm volatile("stmatrix.sync.aligned.m8n8.x1.trans.shared.b16 [%0], {%1};"
               ::"r"(tile_shared(row)), "r"(s[0])
               : "memory");
}

template <typename Place>
TILE_FN void tile_stmatrix_trans_x2(Place row, const void *src) {
  const unsigned *s = (const unsigned *)src;
  asm volatile("stmatrix.sync.aligned.m8n8.x2.trans.shared.b16 [%0], {%1, %2};"
               ::"r"(tile_shared(row)), "r"(s[0]), "r"(s[1])
               : "memory");
}

template <typename Place>
TILE_FN void tile_stmatrix_trans_x4(Place row, const void *src) {
  const unsigned *s = (const unsigned *)src;
  asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};"
               ::"r"(tile_shared(row)), "r"(s[0]), "r"(s[1]), "r"(s[2]), "r"(s[3])
               : "memory");
}

template <int N, class T>
TILE_FN void tile_clear(T *c) {
#pragma unroll
  for (int i = 0; i < N; i++) c[i] = 0;
}
