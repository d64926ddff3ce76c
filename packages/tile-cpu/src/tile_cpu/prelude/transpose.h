/* Rows become columns: r[i][j] = r[j][i]. Each step exchanges, within all pairs of rows that differ
 * in one bit of their number, the lanes that differ in the same bit: log2(N) steps of N shuffles.
 */
TILE_FN void tile_transpose_DTx2(DTx2 r[2]) {
  DTx2 a = r[0], b = r[1];
  r[0] = __builtin_shufflevector(a, b, 0, 2);
  r[1] = __builtin_shufflevector(a, b, 1, 3);
}

TILE_FN void tile_transpose_DTx4(DTx4 r[4]) {
  DTx4 a, b;
#pragma GCC unroll 4
  for (int i = 0; i < 4; i++) {
    if (i & 1) continue;
    a = r[i];
    b = r[i + 1];
    r[i] = __builtin_shufflevector(a, b, 0, 4, 2, 6);
    r[i + 1] = __builtin_shufflevector(a, b, 1, 5, 3, 7);
  }
#pragma GCC unroll 4
  for (int i = 0; i < 4; i++) {
    if (i & 2) continue;
    a = r[i];
    b = r[i + 2];
    r[i] = __builtin_shufflevector(a, b, 0, 1, 4, 5);
    r[i + 2] = __builtin_shufflevector(a, b, 2, 3, 6, 7);
  }
}

TILE_FN void tile_transpose_DTx8(DTx8 r[8]) {
  DTx8 a, b;
#pragma GCC unroll 8
  for (int i = 0; i < 8; i++) {
    if (i & 1) continue;
    a = r[i];
    b = r[i + 1];
    r[i] = __builtin_shufflevector(a, b, 0, 8, 2, 10, 4, 12, 6, 14);
    r[i + 1] = __builtin_shufflevector(a, b, 1, 9, 3, 11, 5, 13, 7, 15);
  }
#pragma GCC unroll 8
  for (int i = 0; i < 8; i++) {
    if (i & 2) continue;
    a = r[i];
    b = r[i + 2];
    r[i] = __builtin_shufflevector(a, b, 0, 1, 8, 9, 4, 5, 12, 13);
    r[i + 2] = __builtin_shufflevector(a, b, 2, 3, 10, 11, 6, 7, 14, 15);
  }
#pragma GCC unroll 8
  for (int i = 0; i < 8; i++) {
    if (i & 4) continue;
    a = r[i];
    b = r[i + 4];
    r[i] = __builtin_shufflevector(a, b, 0, 1, 2, 3, 8, 9, 10, 11);
    r[i + 4] = __builtin_shufflevector(a, b, 4, 5, 6, 7, 12, 13, 14, 15);
  }
}

TILE_FN void tile_transpose_DTx16(DTx16 r[16]) {
  DTx16 a, b;
#pragma GCC unroll 16
  for (int i = 0; i < 16; i++) {
    if (i & 1) continue;
    a = r[i];
    b = r[i + 1];
    r[i] = __builtin_shufflevector(a, b, 0, 16, 2, 18, 4, 20, 6, 22,
                                  8, 24, 10, 26, 12, 28, 14, 30);
    r[i + 1] = __builtin_shufflevector(a, b, 1, 17, 3, 19, 5, 21, 7, 23,
                                  9, 25, 11, 27, 13, 29, 15, 31);
  }
#pragma GCC unroll 16
  for (int i = 0; i < 16; i++) {
    if (i & 2) continue;
    a = r[i];
    b = r[i + 2];
    r[i] = __builtin_shufflevector(a, b, 0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29);
    r[i + 2] = __builtin_shufflevector(a, b, 2, 3, 18, 19, 6, 7, 22, 23,
                                  10, 11, 26, 27, 14, 15, 30, 31);
  }
#pragma GCC unroll 16
  for (int i = 0; i < 16; i++) {
    if (i & 4) continue;
    a = r[i];
    b = r[i + 4];
    r[i] = __builtin_shufflevector(a, b, 0, 1, 2, 3, 16, 17, 18, 19, 8, 9, 10, 11, 24, 25, 26, 27);
    r[i + 4] = __builtin_shufflevector(a, b, 4, 5, 6, 7, 20, 21, 22, 23,
                                  12, 13, 14, 15, 28, 29, 30, 31);
  }
#pragma GCC unroll 16
  for (int i = 0; i < 16; i++) {
    if (i & 8) continue;
    a = r[i];
    b = r[i + 8];
    r[i] = __builtin_shufflevector(a, b, 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23);
    r[i + 8] = __builtin_shufflevector(a, b, 8, 9, 10, 11, 12, 13, 14, 15,
                                  24, 25, 26, 27, 28, 29, 30, 31);
  }
}
