"""What is printed: a kernel word for word, types and functions of the language, the host part."""

import pytest

from tile_cuda import spec
from tile_cuda.driver import emit
from tile_cuda.emit import emit_function
from tile_cuda.toolchain import compile_source
from tile_ir.diag import InternalError
from tile_ir.functions import FUNCTIONS
from tile_ir.text import parse_function
from tile_ir.types import ALL_DTYPES

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
extern "C" __global__ void __launch_bounds__(128) axpy(const unsigned short *X, unsigned short *Y, \
const int N, const float a) {
  extern __shared__ __align__(1024) unsigned char arena[];
  // <tile-ir>:4
  const int bx = (int)blockIdx.x % tile_ceildiv<int>(N, 1024);
  const int by = (int)blockIdx.x / tile_ceildiv<int>(N, 1024);
  // <tile-ir>:5
  const int t = (int)threadIdx.x;
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
  __syncthreads();
  // <tile-ir>:13
  if ((t >> 3) < 3) {
    Y[(long long)by * N + (t & 7)] = \
tile_f32_to_f16(tile_max_f32(s[t ^ 1], tile_shuffle_xor(a, 1)));
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
    text = emit(parse_function(AXPY), spec.load("sm_80")).source
    assert text[text.index('extern "C"') :].rstrip() == KERNEL.rstrip()


def test_the_host_part_word_for_word():
    made = emit(parse_function(AXPY), spec.load("sm_80"))
    assert made.host == HOST
    assert made.signature == ("ptr", "ptr", "f32", "i32", "i32")
    assert (made.entry, made.kernels, made.strict) == ("axpy", ("axpy",), False)


def test_equal_functions_give_equal_text():
    one, other = (emit(parse_function(AXPY), spec.load("sm_80")).source for _ in range(2))
    assert one == other


def test_a_guarded_move_stays_in_bits():
    fn = one_kernel(
        "X: global f16[64], Y: global f16[64]",
        "store Y[t] = select(t < 64, X[t], 0.0:f16)\n"
        "store Y[ramp(t * 8, 1, 8)] = select(t < 8, X[ramp(t * 8, 1, 8)], broadcast(0.0:f16, 8))",
    )
    text = emit_function(fn, spec.load("sm_80")).text
    assert "Y[t] = t < 64 ? X[t] : (unsigned short)0x0;" in text
    assert "tile_f32_to_f16" not in text


@pytest.mark.parametrize(
    ("op", "text"),
    [("//", ">> 1)"), ("%", "& 1)")],
)
def test_what_a_shift_replaces_holds_its_operand_together(op, text):
    fn = one_kernel(
        "A: global i32[64], Y: global i32[64]", f"store Y[t] = select(t < 9, A[t], 0) {op} 2"
    )
    assert f"((t < 9 ? A[t] : 0) {text}" in emit_function(fn, spec.load("sm_80")).text


def test_matrices_are_loaded_by_the_whole_warp(compiler):
    declarations = "Y: global f16[512]"
    body = """alloc s: shared f16[256] offset 0
      alloc r: local f16[4]
      store s[t] = 1.0:f16
      sync block
      matrix_load s[t % 32 * 8 : +8] -> r[0 : +4] transpose
      store Y[t] = r[3]"""
    text = emit_function(one_kernel(declarations, body), spec.load("sm_90a")).text
    assert "tile_ldmatrix_trans_x2(&r[0], &s[(t & 31) * 8]);" in text
    assert compiles(compiler, "sm_90a", declarations, body).spill_stores == 0


NAMES = [t.name for t in ALL_DTYPES]
BUFFERS = ", ".join(f"X_{t}: global {t}[512], Y_{t}: global {t}[512]" for t in NAMES)


PAIRS = """
func @f(W: global u32[256], X: global f16[512], Y: global f16[512]) {
  kernel @f threads = (128) {
    tiles (b) in (1) {
      let t: i32 = thread_index()
      let word: u32 = W[t]
      let pair: f16x2 = select(ramp(0, 1, 2) == broadcast(0, 2),
        broadcast(bitcast<f16>(u16(word & 983055:u32 | 1677747200:u32)), 2),
        broadcast(bitcast<f16>(u16((word & 983055:u32 | 1677747200:u32) >> 16:u32)), 2))
      let made: f16x2 = (pair - broadcast(1024.0:f16, 2)) * X[ramp(t * 2, 1, 2)]
      store Y[t] = max_lanes(select(ramp(0, 1, 2) == broadcast(t % 2, 2), made, broadcast(-inf:f16, 2)))
      store Y[ramp(t * 2 + 256, 1, 2)] = made / pair
    }
  }
}
"""  # noqa: E501 -- an expression is one line
HALVES = """\
  const unsigned word = W[t];
  const tile_vec<unsigned short, 2> pair = \
tile_halves_of(tile_keep_and_set(word, 983055, 1677747200));
  const tile_vec<unsigned short, 2> made = \
tile_mul_f16(tile_sub_f16(pair, tile_splat<2>((unsigned short)0x6400)), tile_load<2>(&X[t * 2]));
  Y[t] = tile_half(made, (t & 1));
"""


def test_pairs_of_halves_stay_in_words():
    """Only what the device has no instruction for is done in f32."""
    text = emit_function(parse_function(PAIRS), spec.load("sm_80")).text
    body = "".join(line for line in text.splitlines(True) if not line.strip().startswith("//"))
    assert HALVES in body
    assert "tile_encode_f16(tile_map([](auto a, auto b) { return" in body.split(HALVES)[1]


@pytest.mark.parametrize("arch", ["sm_75", "sm_90a"])
def test_every_conversion_compiles(compiler, arch):
    whole = [n for n in NAMES if n not in ("i4", "u4", "f4e2m1fn")]
    at = "ramp(t * 4, 1, 4)"
    body = "\n".join(f"store Y_{d}[t] = {d}(X_{s}[t])" for s in NAMES for d in NAMES if s != d)
    assert compiles(compiler, arch, BUFFERS, body).registers > 8
    chosen = ("f32", "f16", "bf16", "f8e4m3fn", "i8", "bool", "i64")
    body = "\n".join(
        f"store Y_{d}[{at}] = {d}x4(X_{s}[{at}])" for s in chosen for d in whole if s != d
    )
    assert compiles(compiler, arch, BUFFERS, body).registers > 8


@pytest.mark.parametrize("kind", ["f32", "f64", "f16"])
def test_every_function_on_floats_compiles(compiler, kind):
    rows = [r for r in FUNCTIONS.values() if r.on == "float" and r.result == "same"]
    x, four = f"X_{kind}[t]", f"X_{kind}[ramp(t * 4, 1, 4)]"
    body = [f"store Y_{kind}[t] = {r.name}({', '.join([x] * r.arity)})" for r in rows]
    body += [f"store Y_bool[t] = {f}({x})" for f in ("isnan", "isinf", "isfinite")]
    body += [f"store Y_{kind}[t] = shuffle_xor({x}, 3) + shuffle_idx({x}, lane_index()) - abs({x})"]
    body += [f"store Y_{kind}[ramp(t * 4, 1, 4)] = exp({four}) + broadcast(sum_lanes({four}), 4)"]
    assert len(rows) > 40
    assert compiles(compiler, "sm_90a", BUFFERS, "\n".join(body)).registers > 8


@pytest.mark.parametrize("kind", ["i8", "u16", "i32", "u64", "i64"])
def test_every_operator_on_integers_compiles(compiler, kind):
    x, y = f"X_{kind}[t]", f"Y_{kind}[1]"
    signs = ("+", "-", "*", "&", "|", "^", "<<", ">>", "//", "%")
    calls = ("truncdiv", "truncmod", "ceildiv", "min", "max")
    body = [f"store Y_{kind}[t] = {x} {sign} {y}" for sign in signs]
    body += [f"store Y_{kind}[t] = {f}({x}, {y})" for f in calls]
    body += [f"store Y_i32[t] = popcount({x}) + clz({x})"]
    body += [f"store Y_{kind}[t] = ~{x} + shuffle_xor({x}, 1)"]
    assert compiles(compiler, "sm_80", BUFFERS, "\n".join(body)).stack == 0


@pytest.mark.parametrize(
    ("kind", "call"),
    [
        ("f32", "atomicAdd(&Y_f32[t], X_f32[t])"),
        ("f16", "tile_atomic_add_f16(&Y_f16[t], tile_f32_to_f16(tile_f16_to_f32(X_f16[t])))"),
        ("i64", "(long long)atomicAdd((unsigned long long *)&Y_i64[t], "),
        ("bf16", "tile_atomic_loop(&Y_bf16[t], [&](unsigned short old)"),
        ("u8", "tile_atomic_loop(&Y_u8[t], [&](unsigned char old)"),
    ],
)
def test_atomics(compiler, kind, call):
    x, y = f"X_{kind}[t]", f"Y_{kind}[t]"
    body = f"atomic add {y}, {x}\natomic max {y}, {x} result = r: {kind}"
    text = emit_function(one_kernel(BUFFERS, body), spec.load("sm_80")).text
    assert call in text
    assert compile_source(text, "sm_80", compiler=compiler)[1]["f"].registers > 0


@pytest.mark.parametrize(
    ("order", "fences"),
    [("relaxed", [0, 0]), ("release", [1, 0]), ("acquire", [0, 1]), ("acq_rel", [1, 1])],
)
def test_fences_of_memory_orders(order, fences):
    body = f"atomic add Y_i32[0], 1 result = r: i32, order = {order}"
    text = emit_function(one_kernel(BUFFERS, body), spec.load("sm_80")).text
    before, after = text[text.index("__global__") :].split("const int r = ")
    assert [before.count("tile_fence_acq_rel"), after.count("tile_fence_acq_rel")] == fences


def test_what_has_no_place_is_our_defect():
    with pytest.raises(InternalError, match="no place in shared memory"):
        emit_function(one_kernel("X: global f32[4]", "alloc s: shared f32[4]"), spec.load("sm_80"))


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

    def kernel(self, name, formats, threads, shared):
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
    exec(emit(parse_function(HOSTED), spec.load("sm_80")).host, namespace)
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
