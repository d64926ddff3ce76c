"""What is printed: a kernel word for word, types and functions of the language, the host part."""

import pytest

from tile_ir.diag import InternalError, TileError
from tile_ir.functions import FUNCTIONS
from tile_ir.text import parse_function
from tile_ir.types import ALL_DTYPES
from tile_rocm import spec
from tile_rocm.driver import emit
from tile_rocm.emit import emit_function
from tile_rocm.toolchain import compile_source

AXPY = """
func @axpy(X: global f16[M, N], Y: global f16[M, N], a: f32) dims (M, N) results (Y) {
  kernel @axpy threads = (128) {
    tiles (bx, by) in (ceildiv(N, 1024), M) {
      let t: i32 = thread_index()
      alloc x: local f16[8]
      alloc s: shared f32[128] offset 512
      for v in (0, 2, 1) unroll {
        store x[ramp(v * 4, 1, 4)] = X[by, ramp(bx * 1024 + t * 8 + v * 4, 1, 4)]
      }
      store s[t] = f32(x[0]) * a
      sync block
      if t // 8 < 3 { store Y[by, t % 8] = f16(max(s[t ^ 1], shuffle_xor(a, 1))) }
    }
  }
}
"""
KERNEL = """\
TILE_KERNEL(128) void axpy(const unsigned short *X, unsigned short *Y, const int N, \
const float a) {
  TILE_SHARED unsigned char arena[1024];
  // <tile-ir>:4
  const int bx = tile_block() % tile_ceildiv<int>(N, 1024);
  const int by = tile_block() / tile_ceildiv<int>(N, 1024);
  // <tile-ir>:5
  const int t = tile_thread();
  alignas(16) unsigned short x[8];
  float *const s = (float *)(arena + 512);
  // <tile-ir>:8
  #pragma unroll
  for (int v = 0; v < 2; v++) {
    // <tile-ir>:9
    tile_move<8>(&x[v * 4], &X[(long long)by * N + bx * 1024 + t * 8 + v * 4]);
  }
  // <tile-ir>:11
  s[t] = tile_f16_to_f32(x[0]) * a;
  // <tile-ir>:12
  tile_sync();
  // <tile-ir>:13
  if ((t >> 3) < 3) {
    Y[(long long)by * N + (t & 7)] = \
tile_f32_to_f16(tile_max_f32(s[t ^ 1], tile_shuffle_xor_by<1>(a)));
  }
}
"""
HOST = """\
def bind(rt):
    launch_0 = rt.kernel('axpy', 'PPif', 128, 1024)
    def call(X, Y, a, M, N):
        tile = (-(-N // 1024)) * M
        if tile > 0:
            launch_0(tile, X, Y, N, a)
    return call
"""


def one_kernel(declarations, body):
    return parse_function(
        f"func @f({declarations}) {{ kernel @f threads = (128) {{ tiles (bx) in (1) {{\n"
        f"let t: i32 = thread_index()\n{body}\n}} }} }}"
    )


def compiles(compiler, arch, declarations, body):
    source = emit_function(one_kernel(declarations, body), spec.load(arch))
    return compile_source(source.text, arch, compiler=compiler)[1]["f"]


def test_a_kernel_word_for_word():
    text = emit(parse_function(AXPY), spec.load("gfx942")).source
    assert text[text.index("TILE_KERNEL(128)") :].rstrip() == KERNEL.rstrip()


def test_the_host_part_word_for_word():
    made = emit(parse_function(AXPY), spec.load("gfx942"))
    assert made.host == HOST
    assert made.signature == ("ptr", "ptr", "f32", "i32", "i32")
    assert made.alignments == (8, 2, 1)
    assert (made.entry, made.kernels, made.strict, made.matrix) == ("axpy", ("axpy",), False, False)


def test_equal_functions_give_equal_text():
    one, other = (emit(parse_function(AXPY), spec.load("gfx942")).source for _ in range(2))
    assert one == other


def test_the_text_needs_no_header(lowered_sample):
    for name in ("attention", "gemm_gelu", "scan"):
        assert "#include" not in emit(lowered_sample(name, "gfx942"), spec.load("gfx942")).source


@pytest.mark.parametrize("arch", ["gfx942", "gfx1100"])
def test_the_width_of_a_wave_is_the_descriptions(arch):
    fn = one_kernel("Y: global i32[128]", "store Y[t] = lane_index() + warp_index()")
    text = emit_function(fn, spec.load(arch)).text
    assert f"#define TILE_WAVE {spec.load(arch).warp_width}\n" in text
    assert "Y[t] = tile_lane() + tile_wave();" in text


def test_shared_memory_beyond_the_description_is_refused():
    fn = one_kernel("X: global f32[4]", "alloc s: shared f32[20000] offset 0\nstore s[t] = X[0]")
    assert emit(fn, spec.load("gfx950")).kernels == ("f",)
    with pytest.raises(TileError, match="f needs 80000 bytes") as caught:
        emit(fn, spec.load("gfx942"))
    assert caught.value.code == "E3010"


NAMES = [t.name for t in ALL_DTYPES]
BUFFERS = ", ".join(f"X_{t}: global {t}[512], Y_{t}: global {t}[512]" for t in NAMES)


def test_every_conversion_compiles(compiler):
    body = "\n".join(f"store Y_{d}[t] = {d}(X_{s}[t])" for s in NAMES for d in NAMES if s != d)
    assert compiles(compiler, "gfx950", BUFFERS, body).vector_spills == 0


@pytest.mark.parametrize("arch", ["gfx942", "gfx1100"])
def test_conversions_of_vectors_compile(compiler, arch):
    whole = [n for n in NAMES if n not in ("i4", "u4", "f4e2m1fn")]
    at = "ramp(t * 4, 1, 4)"
    body = "\n".join(
        f"store Y_{d}[{at}] = {d}x4(X_{s}[{at}])"
        for s in ("f32", "f16", "i8")
        for d in whole
        if s != d
    )
    assert compiles(compiler, arch, BUFFERS, body).stack == 0


@pytest.mark.parametrize("arch", ["gfx90a", "gfx1200"])
@pytest.mark.parametrize("kind", ["f32", "f64", "f16"])
def test_every_function_on_floats_compiles(compiler, kind, arch):
    rows = [r for r in FUNCTIONS.values() if r.on == "float" and r.result == "same"]
    x, four = f"X_{kind}[t]", f"X_{kind}[ramp(t * 4, 1, 4)]"
    body = [f"store Y_{kind}[t] = {r.name}({', '.join([x] * r.arity)})" for r in rows]
    body += [f"store Y_bool[t] = {f}({x})" for f in ("isnan", "isinf", "isfinite")]
    body += [f"store Y_{kind}[t] = shuffle_xor({x}, 3) + shuffle_idx({x}, lane_index()) - abs({x})"]
    body += [f"store Y_{kind}[ramp(t * 4, 1, 4)] = exp({four}) + broadcast(sum_lanes({four}), 4)"]
    assert len(rows) > 40
    assert compiles(compiler, arch, BUFFERS, "\n".join(body)).stack == 0


@pytest.mark.parametrize("kind", ["i8", "u16", "i32", "u64", "i64", "bool"])
def test_every_operator_on_integers_compiles(compiler, kind):
    x, y = f"X_{kind}[t]", f"Y_{kind}[1]"
    signs = ("+", "-", "*", "&", "|", "^", "<<", ">>", "//", "%")
    calls = ("truncdiv", "truncmod", "ceildiv", "min", "max")
    if kind == "bool":
        signs, calls = ("&", "|", "^"), ()
    body = [f"store Y_{kind}[t] = {x} {sign} {y}" for sign in signs]
    body += [f"store Y_{kind}[t] = {f}({x}, {y})" for f in calls]
    body += [
        f"store Y_{kind}[t] = shuffle_xor({x}, 1)",
        f"store Y_{kind}[t] = shuffle_xor({x}, 32)",
    ]
    if kind != "bool":
        body += [f"store Y_i32[t] = popcount({x}) + clz({x})", f"store Y_{kind}[t] = ~{x}"]
    assert compiles(compiler, "gfx942", BUFFERS, "\n".join(body)).stack == 0


@pytest.mark.parametrize(
    ("kind", "call"),
    [
        ("f32", "tile_atomic_add<float>(&Y_f32[t], X_f32[t])"),
        ("i64", "tile_atomic_add<long long>(&Y_i64[t], X_i64[t])"),
        ("f16", "tile_atomic_loop(&Y_f16[t], [&](unsigned short old)"),
        ("u8", "tile_atomic_loop(&Y_u8[t], [&](unsigned char old)"),
    ],
)
def test_atomics(compiler, kind, call):
    x, y = f"X_{kind}[t]", f"Y_{kind}[t]"
    body = f"atomic add {y}, {x}\natomic max {y}, {x} result = r: {kind}"
    text = emit_function(one_kernel(BUFFERS, body), spec.load("gfx942")).text
    assert call in text
    assert compile_source(text, "gfx942", compiler=compiler)[1]["f"].vector_registers > 0


@pytest.mark.parametrize(
    ("order", "fences"),
    [("relaxed", [0, 0]), ("release", [1, 0]), ("acquire", [0, 1]), ("acq_rel", [1, 1])],
)
def test_fences_of_memory_orders(order, fences):
    body = f"atomic add Y_i32[0], 1 result = r: i32, order = {order}"
    text = emit_function(one_kernel(BUFFERS, body), spec.load("gfx942")).text
    before, after = text[text.index("TILE_KERNEL(128)") :].split("const int r = ")
    assert [before.count("tile_fence_acq_rel"), after.count("tile_fence_acq_rel")] == fences


def test_copies_that_may_be_late_are_complete_at_once(compiler):
    body = """alloc s: shared f32[512] offset 0
      async_copy X[t * 4 : +4] -> s[t * 4 : +4] where = t < 64
      commit_group direct_load
      settle_count direct_load <= 0
      sync block
      store X[t] = s[t]"""
    text = emit_function(one_kernel("X: global f32[512]", body), spec.load("gfx942")).text
    assert "tile_move_or_zero<16>(&s[t * 4], &X[t * 4], t < 64);" in text
    assert compile_source(text, "gfx942", compiler=compiler)[1]["f"].shared == 2048


def test_a_failed_assertion_stops_the_launch(compiler):
    body = 'assert t < 100, "t is small"'
    text = emit_function(one_kernel("X: global f32[4]", body), spec.load("gfx942")).text
    assert "__builtin_trap(); /* t is small */" in text
    assert compile_source(text, "gfx942", compiler=compiler)[1]["f"].stack == 0


def test_printing_is_refused_by_a_code():
    fn = one_kernel("X: global f32[4]", 'print "x is", [X[0]]')
    with pytest.raises(TileError, match="cannot print") as caught:
        emit_function(fn, spec.load("gfx942"))
    assert caught.value.code == "E3101"


def test_what_has_no_place_is_our_defect():
    with pytest.raises(InternalError, match="no place in shared memory"):
        emit_function(one_kernel("X: global f32[4]", "alloc s: shared f32[4]"), spec.load("gfx942"))


HOSTED = """
func @f(A: global f32[N], flag: i32) dims (N) {
  assert N % 2 == 0, "N is even"
  alloc W: global f32[N * 2]
  if flag > 0 {
    kernel @one threads = (32) { tiles (b) in (N // 2) { store W[b] = A[b] } }
  } else {
    kernel @two threads = (64) { tiles (b) in (min(device_workers(), N)) { store A[b] = W[b] } }
  }
}
"""


class Recorder:
    """Stands in for a device: remembers what the host part asks."""

    def __init__(self):
        self.said = []

    def kernel(self, name, formats, threads, _shared):
        return lambda tiles, *values: self.said.append((name, formats, threads, tiles, values))

    def allocate(self, size):
        self.said.append(size)
        return object(), 4096

    def workers(self):
        return 3

    def failed(self, message):
        raise ValueError(message)


def test_the_host_part_computes_sizes_workspaces_and_launches():
    namespace, rt = {}, Recorder()
    exec(emit(parse_function(HOSTED), spec.load("gfx942")).host, namespace)
    call = namespace["bind"](rt)
    call(100, 1, 10)
    call(100, 0, 10)
    call(100, 1, 0)
    assert rt.said == [
        80,
        ("f_one", "PP", 32, 5, (4096, 100)),
        80,
        ("f_two", "PP", 64, 3, (100, 4096)),
        0,
    ]
    with pytest.raises(ValueError, match="N is even"):
        call(100, 1, 7)
