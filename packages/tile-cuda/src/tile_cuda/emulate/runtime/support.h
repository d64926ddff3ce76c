/* What translated instructions are written with. */
#define ANY(type, bits) ((type)-(type)(((bits)) != 0))
#define NEED(bits, at, what) \
  if (__builtin_expect((bits) != 0, 0)) emu_use(t, at, what)

static inline float F32(u32 bits) { float x; __builtin_memcpy(&x, &bits, 4); return x; }
static inline double F64(u64 bits) { double x; __builtin_memcpy(&x, &bits, 8); return x; }
static inline u32 B32(float x) { u32 bits; __builtin_memcpy(&bits, &x, 4); return bits; }
static inline u64 B64(double x) { u64 bits; __builtin_memcpy(&bits, &x, 8); return bits; }
static inline float BF16(u16 bits) { return F32((u32)bits << 16); }
#define H16(bits) emu_f16_to_f32(bits)
#define H16_BITS(x) emu_f32_to_f16(x, EMU_NEAREST)
#define BF16_BITS(x) emu_f32_to_bf16(x, EMU_NEAREST)

static inline float FTZ(float x) {
  return __builtin_fabsf(x) < 0x1p-126f ? __builtin_copysignf(0, x) : x;
}
static inline double SATURATE(double x) { return x > 0 ? (x < 1 ? x : 1) : 0; }
static inline double RELU(double x) { return x > 0 || x != x ? x : 0; }
/* 10 bits of the fraction stay; ties go away from zero (PTX ISA, cvt.rna.tf32). */
static inline float TF32(float x) {
  u32 bits = B32(x);
  return x != x ? x : F32((bits + 0x1000u) & ~0x1fffu);
}

#define MINMAX(name, bits, type, less) \
  static inline type name##bits(type a, type b) { \
    if (a != a) return b; \
    if (b != b) return a; \
    if (a == b) return (__builtin_signbit(a) != 0) == less ? a : b; \
    return (a < b) == less ? a : b; \
  } \
  static inline type name##_NAN##bits(type a, type b) { \
    return a != a || b != b ? (type)__builtin_nan("") : name##bits(a, b); \
  }
MINMAX(MIN, 32, float, 1)
MINMAX(MAX, 32, float, 0)
MINMAX(MIN, 64, double, 1)
MINMAX(MAX, 64, double, 0)

/* Division by zero has no meaning in PTX; it must not end the process. */
#define QUOTIENT(suffix, kind, bits, is_signed) \
  static inline u##bits DIV_##suffix(u##bits a, u##bits b) { \
    if (!b) return (u##bits)-1; \
    if (is_signed && b == (u##bits)-1) return (u##bits)-a; \
    return (u##bits)((kind)a / (kind)b); \
  } \
  static inline u##bits REM_##suffix(u##bits a, u##bits b) { \
    if (!b) return a; \
    if (is_signed && b == (u##bits)-1) return 0; \
    return (u##bits)((kind)a % (kind)b); \
  }
QUOTIENT(U16, u16, 16, 0)
QUOTIENT(I16, i16, 16, 1)
QUOTIENT(U32, u32, 32, 0)
QUOTIENT(I32, i32, 32, 1)
QUOTIENT(U64, u64, 64, 0)
QUOTIENT(I64, i64, 64, 1)

#define SHIFTS(bits) \
  static inline u##bits SHL_U##bits(u##bits a, u32 n) { \
    return n >= bits ? 0 : (u##bits)(a << n); \
  } \
  static inline u##bits SHR_U##bits(u##bits a, u32 n) { \
    return n >= bits ? 0 : (u##bits)(a >> n); \
  } \
  static inline u##bits ONES_U##bits(u32 count) { \
    return (u##bits)~SHL_U##bits((u##bits)-1, count); \
  } \
  static inline u##bits SHR_I##bits(u##bits a, u32 n) { \
    return (u##bits)((i##bits)a >> (n >= bits ? bits - 1 : n)); \
  } \
  static inline u##bits BFI_U##bits(u##bits a, u##bits b, u32 at, u32 count) { \
    u##bits ones = ONES_U##bits(count & 255); \
    u##bits mask = SHL_U##bits(ones, at & 255); \
    return (u##bits)((b & ~mask) | (SHL_U##bits(a, at & 255) & mask)); \
  } \
  static inline u##bits BFE_U##bits(u##bits a, u32 at, u32 count) { \
    u##bits ones = ONES_U##bits(count & 255); \
    return SHR_U##bits(a, at & 255) & ones; \
  } \
  static inline u##bits BFE_I##bits(u##bits a, u32 at, u32 count) { \
    at &= 255, count &= 255; \
    if (!count) return 0; \
    u32 top = at + count > bits ? bits : at + count; \
    if (at >= bits) return (u##bits)((i##bits)a >> (bits - 1)); \
    return (u##bits)((i##bits)(u##bits)(a << (bits - top)) >> (bits - top + at)); \
  }
SHIFTS(16)
SHIFTS(32)
SHIFTS(64)

static inline u32 FUNNEL_LEFT(u32 low, u32 high, u32 n) {
  return n >= 32 ? low : (u32)((((u64)high << 32 | low) << n) >> 32);
}
static inline u32 FUNNEL_RIGHT(u32 low, u32 high, u32 n) {
  return (u32)(((u64)high << 32 | low) >> n);
}
static inline u32 PERMUTE(u32 a, u32 b, u32 selector) {
  u64 bytes = (u64)b << 32 | a;
  u32 result = 0;
  for (u32 i = 0; i < 4; i++) {
    u32 pick = selector >> 4 * i & 15;
    u32 byte = (u32)(bytes >> 8 * (pick & 7)) & 255;
    if (pick & 8) byte = byte & 128 ? 255 : 0;
    result |= byte << 8 * i;
  }
  return result;
}
static inline u64 REVERSE64(u64 x) {
  u64 result = 0;
  for (u32 i = 0; i < 64; i++) result |= (x >> i & 1) << (63 - i);
  return result;
}
static inline u32 REVERSE32(u32 x) { return (u32)(REVERSE64(x) >> 32); }
static inline u32 FIND_U32(u32 x) { return x ? 31u - (u32)__builtin_clz(x) : ~0u; }
static inline u32 FIND_I32(u32 x) { return FIND_U32((i32)x < 0 ? ~x : x); }
static inline u32 FIND_U64(u64 x) { return x ? 63u - (u32)__builtin_clzll(x) : ~0u; }
static inline u32 FIND_I64(u64 x) { return FIND_U64((i64)x < 0 ? ~x : x); }
#define CLAMP(name, low, high) \
  static inline u64 name(i64 x) { return (u64)(x < (low) ? (low) : x > (high) ? (high) : x); }
CLAMP(CLAMP_I8, -128, 127)
CLAMP(CLAMP_U8, 0, 255)
CLAMP(CLAMP_I16, -32768, 32767)
CLAMP(CLAMP_U16, 0, 65535)
CLAMP(CLAMP_I32, -2147483648ll, 2147483647ll)
CLAMP(CLAMP_U32, 0, 4294967295ll)
static inline u32 SATURATE_S32(i64 x) { return (u32)CLAMP_I32(x); }
