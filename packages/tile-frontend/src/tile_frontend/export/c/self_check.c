/* ---- self-check ---- */

enum tile_form { TILE_BYTES, TILE_CODES, TILE_F16, TILE_BF16, TILE_F32, TILE_F64 };

/* A tensor of a case: `span` elements of memory, which are `period` stored ones again and again.
 * Of what it is to hold afterwards, `count` elements are stored, `step` apart. */
struct tile_stored {
  int64_t shape[TILE_AXES], strides[TILE_AXES];
  struct tile_kind kind;
  int32_t ndim, bytes;
  int64_t span, period, count, step;
  const void *input, *expected;
  enum tile_form form;
  double absolute, relative;
};

struct tile_case {
  struct tile_stored tensors[TILE_TENSORS ? TILE_TENSORS : 1];
  uint64_t args[TILE_SLOTS];
};

static const struct tile_case tile_cases[TILE_CASES ? TILE_CASES : 1];

static double tile_narrow(uint32_t bits, int32_t mantissa, int32_t exponent) {
  int32_t top = (1 << exponent) - 1, bias = top >> 1;
  int32_t e = (int32_t)(bits >> mantissa) & top;
  double part = (double)(bits & ((1u << mantissa) - 1)) / (double)(1u << mantissa);
  double sign = bits >> (mantissa + exponent) & 1 ? -1.0 : 1.0;
  if (e == top) return part != 0 ? (double)NAN : sign * (double)INFINITY;
  return sign * (e ? ldexp(1.0 + part, e - bias) : ldexp(part, 1 - bias));
}

static double tile_number(enum tile_form form, const char *at) {
  uint16_t half;
  float single;
  double real;
  switch (form) {
    case TILE_F16: memcpy(&half, at, 2); return tile_narrow(half, 10, 5);
    case TILE_BF16: memcpy(&half, at, 2); return tile_narrow(half, 7, 8);
    case TILE_F32: memcpy(&single, at, 4); return (double)single;
    default: memcpy(&real, at, 8); return real;
  }
}

static int32_t tile_equal(const struct tile_stored *s, const char *got, const char *want) {
  if (!memcmp(got, want, (size_t)s->bytes)) return 1;
  if (s->form == TILE_BYTES) return 0;
  if (s->form == TILE_CODES) return abs((int)(uint8_t)*got - (int)(uint8_t)*want) <= 1;
  double x = tile_number(s->form, got), y = tile_number(s->form, want);
  if (isnan(x) || isnan(y)) return isnan(x) && isnan(y);
  return x == y || fabs(x - y) <= s->absolute + s->relative * fabs(y);
}

static int32_t tile_compare(const struct tile_stored *s, const char *got, int32_t tensor) {
  for (int64_t i = 0; i < s->count; i++) {
    const char *want = (const char *)s->expected + i * s->bytes;
    if (tile_equal(s, got + i * s->step * s->bytes, want)) continue;
    double shown[2] = {0, 0};
    if (s->form > TILE_CODES) {
      shown[0] = tile_number(s->form, got + i * s->step * s->bytes);
      shown[1] = tile_number(s->form, want);
    }
    return tile_refuse(2408, "element %lld of '%s' is %.9g, expected %.9g",
                       (long long)(i * s->step), tile_tensor_names[tensor], shown[0], shown[1]);
  }
  return 0;
}

static int32_t tile_place(const struct tile_stored *s, char *host, tile_tensor *t, int32_t device) {
  int64_t size = s->span * s->bytes;
  for (int64_t i = 0; i < s->span; i += s->period) {
    int64_t left = s->span - i < s->period ? s->span - i : s->period;
    memcpy(host + i * s->bytes, s->input, (size_t)(left * s->bytes));
  }
  int32_t status = tile_device_allocate(device, size, &t->data);
  if (status) return status;
  t->device.device_type = tile_device_types[0];
  t->device.device_id = device;
  t->ndim = s->ndim;
  t->dtype.code = s->kind.code;
  t->dtype.bits = s->kind.bits;
  t->dtype.lanes = s->kind.lanes;
  t->shape = (int64_t *)s->shape;
  t->strides = (int64_t *)s->strides;
  return tile_device_write(device, t->data, host, size);
}

/* Runs a variant on a case; *ran tells whether it takes such arguments. */
static int32_t tile_try(const struct tile_variant *v, const struct tile_case *c, int32_t device,
                        char *host, int32_t *ran) {
  tile_tensor tensors[TILE_TENSORS ? TILE_TENSORS : 1];
  const tile_tensor *t[TILE_TENSORS ? TILE_TENSORS : 1];
  uint64_t args[TILE_SLOTS];
  int32_t status = 0;
  memset(tensors, 0, sizeof tensors);
  memcpy(args, c->args, sizeof args);
  for (int32_t i = 0; i < TILE_TENSORS; i++) {
    t[i] = &tensors[i];
    if (!status) status = tile_place(&c->tensors[i], host, &tensors[i], device);
  }
  if (!status && !v->check(t, args, 0)) {
    *ran = 1;
    status = v->run(args, device, NULL);
    for (int32_t i = 0; i < TILE_TENSORS && !status; i++) {
      const struct tile_stored *s = &c->tensors[i];
      if (!s->count) continue;
      status = tile_device_read(device, host, tensors[i].data, s->span * s->bytes);
      if (!status) status = tile_compare(s, host, i);
    }
  }
  for (int32_t i = 0; i < TILE_TENSORS; i++)
    if (tensors[i].data) tile_device_free(device, tensors[i].data);
  return status;
}

static char *tile_room(void) {
  int64_t most = 64;
  for (int32_t c = 0; c < TILE_CASES; c++)
    for (int32_t i = 0; i < TILE_TENSORS; i++) {
      int64_t size = tile_cases[c].tensors[i].span * tile_cases[c].tensors[i].bytes;
      if (size > most) most = size;
    }
  return malloc((size_t)most);
}

static int32_t tile_check_all(int32_t device) {
  int32_t fitting = 0, checked = 0, runs = 0, status = tile_device_begin(device);
  if (status) return status;
  char *host = tile_room();
  if (!host) return tile_refuse(806, "no memory for the self-check");
  for (int32_t v = 0; v < TILE_VARIANTS && !status; v++) {
    if (!tile_variants[v].fits(device)) continue;
    int32_t before = runs;
    fitting++;
    for (int32_t c = 0; c < TILE_CASES && !status; c++) {
      int32_t ran = 0;
      status = tile_try(&tile_variants[v], &tile_cases[c], device, host, &ran);
      runs += ran;
      if (status && ran) tile_used = v;
    }
    checked += runs > before;
  }
  free(host);
  if (status) return status;
  if (!fitting)
    return tile_refuse(2407, "none of the %d variants was built for this machine; the first is: %s",
                       TILE_VARIANTS, tile_variants[0].text);
  tile_refuse(0, "%d of %d variants for this machine checked by %d runs, all right", checked,
              fitting, runs);
  return checked == fitting ? 0 : tile_refuse(2403, "%d of %d variants for this machine are "
                                              "without a stored case", fitting - checked, fitting);
}
