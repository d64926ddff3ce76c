/* Conversions between formats, exactly as IEEE 754 and OCP say, and the functions of the units. */

enum { F8_E4M3, F8_E5M2 };

/* Round `x` to a format of `digits` binary digits whose smallest normal exponent is `low`. */
static double to_digits(double x, int digits, int low, u32 mode) {
  if (x == 0 || isnan(x) || isinf(x)) return x;
  int exponent;
  frexp(x, &exponent);
  exponent -= 1;
  if (exponent < low) exponent = low;
  double unit = ldexp(1.0, exponent - digits + 1);
  return emu_round(x / unit, mode) * unit;
}

double emu_round(double x, u32 mode) {
  switch (mode) {
  case EMU_ZERO: return trunc(x);
  case EMU_DOWN: return floor(x);
  case EMU_UP: return ceil(x);
  default: return rint(x);
  }
}

/* Bits of a value that the format of `digits` and `low` has; beyond `most` it overflows. */
static u32 encode(double x, int exponent_bits, int digits) {
  int bias = (1 << (exponent_bits - 1)) - 1, exponent;
  u32 sign = (u32)signbit(x) << (exponent_bits + digits - 1);
  double a = fabs(x), part = frexp(a, &exponent);
  if (a == 0) return sign;
  exponent -= 1;
  if (exponent < 1 - bias) return sign | (u32)ldexp(a, bias - 1 + digits - 1);
  u32 fraction = (u32)ldexp(part * 2 - 1, digits - 1);
  return sign | (u32)(exponent + bias) << (digits - 1) | fraction;
}

static double overflowed(double x, double most, u32 mode) {
  int to_most = mode == EMU_ZERO || (mode == EMU_DOWN && x > 0) || (mode == EMU_UP && x < 0);
  return copysign(to_most ? most : INFINITY, x);
}

u16 emu_f32_to_f16(double x, u32 mode) {
  if (isnan(x)) return 0x7fff;
  double r = to_digits(x, 11, -14, mode);
  if (fabs(r) > 65504 && !isinf(x)) r = overflowed(r, 65504, mode);
  if (isinf(r)) return r > 0 ? 0x7c00 : 0xfc00;
  return (u16)encode(r, 5, 11);
}

float emu_f16_to_f32(u16 h) {
  u32 sign = (u32)(h & 0x8000) << 16, exponent = h >> 10 & 31, fraction = h & 1023, bits;
  if (exponent == 31) {
    bits = sign | 0x7f800000 | fraction << 13;
  } else if (exponent) {
    bits = sign | (exponent + 112) << 23 | fraction << 13;
  } else {
    float tiny = (float)fraction * 0x1p-24f;
    return sign ? -tiny : tiny;
  }
  float result;
  memcpy(&result, &bits, 4);
  return result;
}

u16 emu_f32_to_bf16(double x, u32 mode) {
  if (isnan(x)) return 0x7fff;
  double r = to_digits(x, 8, -126, mode), most = 0x1.fep127;
  if (fabs(r) > most && !isinf(x)) r = overflowed(r, most, mode);
  if (isinf(r)) return r > 0 ? 0x7f80 : 0xff80;
  return (u16)encode(r, 8, 8);
}

float emu_to_f32(double x, u32 mode) {
  if (mode == EMU_NEAREST || isnan(x) || isinf(x)) return (float)x;
  double r = to_digits(x, 24, -126, mode);
  return (float)(fabs(r) > 0x1.fffffep127 ? overflowed(r, 0x1.fffffep127, mode) : r);
}

/* Saturating to the largest finite value, as all conversions to these formats do. */
u32 emu_f32_to_f8(double x, u32 kind) {
  if (isnan(x)) return 0x7f;
  int digits = kind == F8_E4M3 ? 4 : 3, low = kind == F8_E4M3 ? -6 : -14;
  double r = to_digits(x, digits, low, EMU_NEAREST), most = kind == F8_E4M3 ? 448 : 57344;
  if (fabs(r) > most) r = copysign(most, r);
  return encode(r, 8 - digits, digits);
}

float emu_f8_to_f32(u32 bits, u32 kind) {
  int digits = kind == F8_E4M3 ? 4 : 3, bias = kind == F8_E4M3 ? 7 : 15;
  u32 exponent = (bits & 0x7f) >> (digits - 1), fraction = bits & ((1u << (digits - 1)) - 1);
  float sign = bits & 0x80 ? -1 : 1;
  if (kind == F8_E4M3 && (bits & 0x7f) == 0x7f) return NAN;
  if (kind == F8_E5M2 && exponent == 31) return fraction ? NAN : sign * INFINITY;
  if (!exponent) return sign * ldexpf((float)fraction, 1 - bias - digits + 1);
  return sign * ldexpf((float)(fraction | 1u << (digits - 1)), (int)exponent - bias - digits + 1);
}

/* PTX ISA, cvt: out of range takes the nearest value of the type, NaN becomes zero. */
u64 emu_to_integer(double x, u32 mode, u32 bits, u32 is_signed) {
  if (isnan(x)) return 0;
  double r = emu_round(x, mode);
  double high = ldexp(1.0, (int)(bits - is_signed)), low = is_signed ? -high : 0;
  if (r >= high) return ~0ull >> (64 - bits + is_signed);
  if (r < low) r = low;
  u64 value = r < 0 ? (u64)(i64)r : r >= 0x1p63 ? (u64)(r - 0x1p63) + (1ull << 63) : (u64)r;
  return bits == 64 ? value : value & ((1ull << bits) - 1);
}

double emu_math(u32 function, double x) {
  switch (function) {
  case EMU_EXP2: return exp2(x);
  case EMU_LOG2: return log2(x);
  case EMU_SIN: return sin(x);
  case EMU_COS: return cos(x);
  case EMU_TANH: return tanh(x);
  case EMU_SQRT: return sqrt(x);
  case EMU_RSQRT: return 1 / sqrt(x);
  default: return 1 / x;
  }
}
