/* ---- the choice among variants ---- */

struct tile_variant {
  const char *text;
  int32_t (*fits)(int32_t device);
  int32_t (*check)(const tile_tensor *const *t, uint64_t *args, int32_t only_inputs);
  void (*results)(const uint64_t *args, tile_tensor *results);
  int32_t (*run)(const uint64_t *args, int32_t device, void *stream);
};

static const struct tile_variant tile_variants[TILE_VARIANTS];

static int32_t tile_is_ours(int32_t device_type) {
  for (const int32_t *known = tile_device_types; *known; known++)
    if (*known == device_type) return 1;
  return 0;
}

/* The device that has all tensors, in *device. */
static int32_t tile_find_device(const tile_tensor *const *t, int32_t *device) {
  int32_t found = -1;
  for (int32_t i = 0; i < TILE_TENSORS; i++) {
    if (!t[i]) continue;
    if (!tile_is_ours(t[i]->device.device_type))
      return tile_refuse(2007, "argument '%s' is in memory of DLPack's type %d, the kernel's is %d",
                         tile_tensor_names[i], t[i]->device.device_type, tile_device_types[0]);
    if (t[i]->device.device_type != tile_device_types[0]) continue; /* memory that all reach */
    if (found >= 0 && t[i]->device.device_id != found)
      return tile_refuse(2007, "argument '%s' is on device %d, others are on device %d",
                         tile_tensor_names[i], t[i]->device.device_id, found);
    found = t[i]->device.device_id;
  }
  *device = found < 0 ? 0 : found;
  return 0;
}

/* The variant for these arguments, in *chosen; dimensions go behind the parameters in args. */
static int32_t tile_choose(const tile_tensor *const *t, uint64_t *args, int32_t only_inputs,
                           int32_t *device, int32_t *chosen) {
  char nearest[TILE_TEXT_BYTES];
  int32_t deepest = -1, status = tile_find_device(t, device), fitting = 0;
  if (!status) status = tile_device_begin(*device);
  if (status) return status;
  for (int32_t i = 0; i < TILE_VARIANTS; i++) {
    if (!tile_variants[i].fits(*device)) continue;
    int32_t found = tile_variants[i].check(t, args, only_inputs);
    fitting++;
    if (!found) {
      *chosen = i;
      return 0;
    }
    if (tile_depth > deepest) {
      deepest = tile_depth;
      status = found;
      memcpy(nearest, tile_text, sizeof nearest);
    }
  }
  if (!fitting)
    return tile_refuse(2407, "none of the %d variants was built for this machine; the first is: %s",
                       TILE_VARIANTS, tile_variants[0].text);
  memcpy(tile_text, nearest, sizeof nearest);
  return status;
}

static int32_t tile_call(const tile_tensor *const *t, uint64_t *args, void *stream) {
  int32_t device, chosen, status = tile_choose(t, args, 0, &device, &chosen);
  if (status) return status;
  tile_text[0] = 0;
  tile_used = chosen;
  return tile_variants[chosen].run(args, device, stream);
}

static int32_t tile_outputs(const tile_tensor *const *t, uint64_t *args, tile_tensor *results) {
  int32_t device, chosen, status = tile_choose(t, args, 1, &device, &chosen);
  if (!status) tile_variants[chosen].results(args, results);
  return status;
}
