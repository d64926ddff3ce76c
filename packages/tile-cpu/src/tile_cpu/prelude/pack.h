/* Copies of a block of global memory into the layout that matrix kernels read, with the conversion
 * of its elements on the way. Sizes without `_all` are the elements that exist; the rest of the
 * destination is filled with zeros. All sizes and strides count elements of the source, or units
 * (see units.h) of the destination; destinations start at a multiple of the vector size. Rows of a
 * block lie far apart, which the CPU's own prefetchers do not follow: each row fetches the next but
 * one (worth 1 to 2% of a 1024^3 product; 1 to 4 rows ahead make no difference that shows).
 *
 * rows: unit (i, p) of a rows x cols block goes to out[i * out_ld + p]; k is contiguous in the
 * source. */
static void tile_pack_rows_DT_UNITxN(int64_t rows, int64_t cols, const DT_t *src, int64_t ld,
                                     UNIT_t *out, int64_t out_ld, int64_t rows_all,
                                     int64_t cols_all) {
  for (int64_t i = 0; i < rows_all; i++) {
    for (int64_t p = 0; p < cols_all; p += GROUP * LANES) {
      const DT_t *from = src + i * ld + p;
      int64_t n = i < rows ? cols - p : 0;
      __builtin_prefetch(from + 2 * ld);
      UNITxN unit = n >= GROUP * LANES ? tile_along_DT_UNITxN(from)
                                       : tile_along_first_DT_UNITxN(from, n);
      int64_t room = (cols_all - p + GROUP - 1) / GROUP;
      if (room >= LANES) tile_store_UNITxN(out + i * out_ld + p / GROUP, unit);
      else tile_store_first_UNITxN(out + i * out_ld + p / GROUP, unit, room);
    }
  }
}

/* panels: a k x n block whose rows are contiguous; panel j / nr holds, for each unit of k, nr units
 * side by side. nr and n_all are multiples of N. */
static void tile_pack_panels_DT_UNITxN(int64_t k, int64_t n, const DT_t *src, int64_t ld,
                                       UNIT_t *out, int64_t k_all, int64_t n_all, int64_t nr) {
  int64_t units = (k_all + GROUP - 1) / GROUP;
  for (int64_t p = 0; p < units; p++) {
    for (int64_t j = 0; j < n_all; j += LANES) {
      const DT_t *from = src + p * GROUP * ld + j;
      int64_t rows = k - p * GROUP;
      __builtin_prefetch(from + 2 * ld);
      UNITxN unit = {0};
      if (rows >= GROUP && n - j >= LANES) unit = tile_across_DT_UNITxN(from, ld, GROUP);
      else if (rows > 0) unit = tile_across_first_DT_UNITxN(from, ld, rows, n - j);
      *(UNITxN *)(out + j / nr * nr * units + p * nr + j % nr) = unit;
    }
  }
}

/* One square of N x N units, all of it there, into a panel. */
TILE_FN void tile_pack_square_DT_UNITxN(const DT_t *src, int64_t ld, UNIT_t *panel, int64_t nr) {
  UNITxN unit[LANES];
#pragma GCC unroll 16
  for (int64_t i = 0; i < LANES; i++) unit[i] = tile_along_DT_UNITxN(src + i * ld);
  tile_transpose_UNITxN(unit);
#pragma GCC unroll 16
  for (int64_t i = 0; i < LANES; i++) *(UNITxN *)(panel + i * nr) = unit[i];
}

/* The same at an edge: `n` rows of `there` elements, and `units` units of the panel. */
TILE_FN void tile_pack_corner_DT_UNITxN(const DT_t *src, int64_t ld, int64_t n, int64_t there,
                                        UNIT_t *panel, int64_t nr, int64_t units) {
  UNITxN unit[LANES] = {0};
  for (int64_t i = 0; i < LANES && i < n && there > 0; i++)
    unit[i] = there >= GROUP * LANES ? tile_along_DT_UNITxN(src + i * ld)
                                     : tile_along_first_DT_UNITxN(src + i * ld, there);
  tile_transpose_UNITxN(unit);
  for (int64_t i = 0; i < LANES && i < units; i++) *(UNITxN *)(panel + i * nr) = unit[i];
}

/* panels_t: the same destination from an n x k block (k contiguous): N x N units are transposed. */
static void tile_pack_panels_t_DT_UNITxN(int64_t k, int64_t n, const DT_t *src, int64_t ld,
                                         UNIT_t *out, int64_t k_all, int64_t n_all, int64_t nr) {
  int64_t units = (k_all + GROUP - 1) / GROUP;
  for (int64_t j = 0; j < n_all; j += LANES) {
    UNIT_t *panel = out + j / nr * nr * units + j % nr;
    for (int64_t p = 0; p < units; p += LANES) {
      const DT_t *from = src + j * ld + p * GROUP;
      int64_t there = k - p * GROUP;
      if (n - j >= LANES && there >= GROUP * LANES)
        tile_pack_square_DT_UNITxN(from, ld, panel + p * nr, nr);
      else tile_pack_corner_DT_UNITxN(from, ld, n - j, there, panel + p * nr, nr, units - p);
    }
  }
}
