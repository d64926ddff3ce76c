/* The bits of a number, and back. */
TILE_FN uint32_t tile_bits_f32(float x) { return (union { float value; uint32_t bits; }){x}.bits; }

TILE_FN uint64_t tile_bits_f64(double x) {
  return (union { double value; uint64_t bits; }){x}.bits;
}

TILE_FN float tile_from_bits_f32(uint32_t bits) {
  return (union { uint32_t bits; float value; }){bits}.value;
}

TILE_FN double tile_from_bits_f64(uint64_t bits) {
  return (union { uint64_t bits; double value; }){bits}.value;
}
