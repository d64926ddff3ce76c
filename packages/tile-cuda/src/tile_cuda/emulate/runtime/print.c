/* What a kernel prints: the device's vprintf takes a format, and its values in the thread's own
 * memory, each at a multiple of its size. A message appears as a whole, up to MESSAGE characters of
 * it, and at once. */

enum { MESSAGE = 4096 };

/* Integers have four bytes unless the format says that they are longer; all else has eight. */
static u32 value_bytes(const char *format) {
  char kind = format[strlen(format) - 1];
  return strchr("cdiouxX", kind) && !strpbrk(format, "ljzt") ? 4 : 8;
}

static u64 printed_value(struct emu_thread *t, u32 at, u64 address, u32 bytes) {
  u64 value = 0, mask = 0;
  emu_load(t, at, EMU_GENERIC, address, bytes, &value, &mask);
  if (mask) fail(t, at, "uninitialized", "a value that was never written is printed");
  return value;
}

static int print_value(char *to, size_t room, const char *format, u64 bits) {
  char kind = format[strlen(format) - 1];
  double number;
  memcpy(&number, &bits, sizeof number);
  if (strchr("eEfFgGaA", kind)) return snprintf(to, room, format, number);
  if (kind == 's') return snprintf(to, room, format, (const char *)(uintptr_t)bits);
  return snprintf(to, room, format, bits);
}

void cuda_print(struct emu_thread *t, u32 at, u64 format, u64 values) {
  char text[MESSAGE] = "", one[32];
  size_t used = 0;
  for (const char *c = (const char *)(uintptr_t)format; *c && used < MESSAGE - 1;) {
    if (*c != '%' || c[1] == '%') {
      text[used++] = *c;
      c += *c == '%' ? 2 : 1;
      continue;
    }
    size_t length = strcspn(c, "cdiouxXeEfFgGaAsp") + 1;
    snprintf(one, sizeof one, "%.*s", (int)length, c);
    c += length;
    u32 bytes = value_bytes(one);
    values = (values + bytes - 1) / bytes * bytes;
    u64 value = printed_value(t, at, values, bytes);
    used += (size_t)print_value(text + used, MESSAGE - used, one, value);
    if (used >= MESSAGE) used = MESSAGE - 1;
    values += bytes;
  }
  text[used] = 0;
  fputs(text, stdout);
  fflush(stdout);
}
