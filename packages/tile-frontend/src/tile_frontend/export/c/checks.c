/* ---- what was wrong with the last call of a thread ---- */

enum { TILE_TEXT_BYTES = 2048, TILE_MAX_AXES = 64 };
enum { TILE_DEPTH_TYPE = 1, TILE_DEPTH_EXTENT, TILE_DEPTH_PLACE };

static _Thread_local char tile_text[TILE_TEXT_BYTES];
static _Thread_local int32_t tile_depth; /* how far the arguments were found to fit */
static _Thread_local int32_t tile_used = -1;

__attribute__((format(printf, 2, 3)))
static int32_t tile_refuse(int32_t code, const char *format, ...) {
  va_list values;
  va_start(values, format);
  vsnprintf(tile_text, sizeof tile_text, format, values);
  va_end(values);
  return code;
}

/* ---- arguments of any kernel ---- */

struct tile_kind {
  uint8_t code, bits;
  uint16_t lanes;
};

struct tile_parameter {
  const char *name, *type;
  const struct tile_kind *kinds; /* the element types that are taken, none of code 255 */
  int32_t ndim;
  int32_t is_used, is_result, is_row_major;
  int64_t alignment, pitch, bits;
};

static char *tile_address(const tile_tensor *t) { return (char *)t->data + t->byte_offset; }

static int64_t tile_stride(const tile_tensor *t, int32_t axis) {
  if (t->strides) return t->strides[axis];
  int64_t step = 1;
  for (int32_t i = t->ndim - 1; i > axis; i--) step *= t->shape[i];
  return step;
}

static int32_t tile_is_empty(const tile_tensor *t) {
  for (int32_t i = 0; i < t->ndim; i++)
    if (t->shape[i] == 0) return 1;
  return 0;
}

static int32_t tile_takes(const struct tile_kind *kinds, const tile_tensor *t) {
  for (; kinds->code != 255; kinds++)
    if (kinds->code == t->dtype.code && kinds->bits == t->dtype.bits &&
        kinds->lanes == t->dtype.lanes)
      return 1;
  return 0;
}

/* The element type's name by DLPack's code; bits follow where it has none. */
static const char *tile_type_name(const tile_tensor *t, int32_t *bits) {
  static const char *const names[] = {
      "int", "uint", "float", "handle", "bfloat", "complex", "bool", "float8_e3m4", "float8_e4m3",
      "float8_e4m3b11fnuz", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz",
      "float8_e8m0fnu", "float6_e2m3fn", "float6_e3m2fn", "float4_e2m1fn",
  };
  *bits = t->dtype.code < 6 && t->dtype.code != 3;
  return t->dtype.code < sizeof names / sizeof names[0] ? names[t->dtype.code] : "unknown";
}

static int32_t tile_check_type(const struct tile_parameter *p, const tile_tensor *t) {
  if (!t) {
    if (!p->is_used) return 0;
    return tile_refuse(2008, "argument '%s' is NULL, but the kernel uses it", p->name);
  }
  if (!tile_takes(p->kinds, t)) {
    int32_t has_bits;
    const char *name = tile_type_name(t, &has_bits);
    char bits[16] = "";
    if (has_bits) snprintf(bits, sizeof bits, "%d", t->dtype.bits);
    return tile_refuse(2002, "argument '%s' has element type %s%s%s, the kernel expects %s",
                       p->name, name, bits, t->dtype.lanes > 1 ? " in vectors" : "", p->type);
  }
  if (t->ndim != p->ndim)
    return tile_refuse(2003, "argument '%s' has %d axes, the kernel expects %d", p->name, t->ndim,
                       p->ndim);
  for (int32_t i = 0; i < t->ndim; i++)
    if (t->shape[i] < 0)
      return tile_refuse(2004, "argument '%s' has extent %lld along axis %d", p->name,
                         (long long)t->shape[i], i);
  return 0;
}

static int32_t tile_check_strides(const struct tile_parameter *p, const tile_tensor *t) {
  if (!p->is_row_major || !t->strides || tile_is_empty(t)) return 0;
  int64_t step = 1;
  for (int32_t i = t->ndim - 1; i >= 0; i--) {
    if (t->shape[i] > 1 && t->strides[i] != step)
      return tile_refuse(2006,
                         "argument '%s' is not contiguous: stride of axis %d is %lld, expected "
                         "%lld",
                         p->name, i, (long long)t->strides[i], (long long)step);
    step *= t->shape[i];
  }
  return 0;
}

static int32_t tile_check_place(const struct tile_parameter *p, const tile_tensor *t) {
  tile_depth = TILE_DEPTH_PLACE;
  if ((uintptr_t)tile_address(t) % (uint64_t)p->alignment)
    return tile_refuse(2016,
                       "argument '%s' begins at an address that is no multiple of %lld bytes: %p",
                       p->name, (long long)p->alignment, (void *)tile_address(t));
  for (int32_t i = 0; i + 1 < t->ndim && p->pitch > 1; i++)
    if (tile_stride(t, i) * p->bits % (8 * p->pitch))
      return tile_refuse(2406,
                         "argument '%s' has stride %lld along axis %d, the kernel needs rows a "
                         "multiple of %lld bytes apart",
                         p->name, (long long)tile_stride(t, i), i, (long long)p->pitch);
  return 0;
}

static int32_t tile_check_types(const struct tile_parameter *p, const tile_tensor *const *t,
                                int32_t count, int32_t only_inputs) {
  tile_depth = TILE_DEPTH_TYPE;
  for (int32_t i = 0, status; i < count; i++)
    if (!(only_inputs && p[i].is_result) && (status = tile_check_type(&p[i], t[i]))) return status;
  tile_depth = TILE_DEPTH_EXTENT;
  return 0;
}

static int32_t tile_check_places(const struct tile_parameter *p, const tile_tensor *const *t,
                                 int32_t count) {
  int32_t status;
  for (int32_t i = 0; i < count; i++)
    if (t[i] && (status = tile_check_strides(&p[i], t[i]))) return status;
  for (int32_t i = 0; i < count; i++)
    if (t[i] && (status = tile_check_place(&p[i], t[i]))) return status;
  return 0;
}

/* A dimension from `value`, which is `rest` and the dimension times `factor`. */
static int32_t tile_solve(int64_t *dimension, char *known, int64_t value, int64_t rest,
                          int64_t factor, const char *what, const char *declared) {
  int64_t left = value - rest;
  if (left % factor || left / factor < 0)
    return tile_refuse(2004, "%s is %lld, which `%s` can never be", what, (long long)value,
                       declared);
  *dimension = left / factor;
  *known = 1;
  return 0;
}

static int32_t tile_expect(int64_t value, int64_t expected, int32_t code, const char *what,
                           const char *declared) {
  if (value == expected) return 0;
  return tile_refuse(code, "%s is %lld, the kernel expects %lld (declared as `%s`)", what,
                     (long long)value, (long long)expected, declared);
}

__attribute__((unused)) static uint64_t tile_bits_f32(float value) {
  uint32_t bits;
  memcpy(&bits, &value, 4);
  return bits;
}

__attribute__((unused)) static uint64_t tile_bits_f64(double value) {
  uint64_t bits;
  memcpy(&bits, &value, 8);
  return bits;
}

/* A number of a narrower float: nearest, ties to even; too large a one is infinite where the type
 * has infinity, else the largest. */
__attribute__((unused)) static float tile_round(float value, int32_t mantissa, int32_t least,
                                                double largest, int32_t has_infinity) {
  int32_t exponent;
  double x = (double)value;
  if (isnan(x) || x == 0 || (isinf(x) && has_infinity)) return value;
  if (!isinf(x)) {
    frexp(x, &exponent);
    double unit = ldexp(1.0, (exponent - 1 < least ? least : exponent - 1) - mantissa);
    x = nearbyint(x / unit) * unit;
  }
  if (fabs(x) > largest) x = copysign(has_infinity ? (double)INFINITY : largest, x);
  return (float)x;
}
