"""Emitted Metal: a kernel and its host part word for word, what takes the place of lambdas, and
what kernels of this target cannot do."""

from dataclasses import replace

import pytest

from tile_ir.diag import InternalError, TileError
from tile_ir.text import parse_function
from tile_ir.types import ALL_DTYPES
from tile_metal import spec
from tile_metal.driver import emit
from tile_metal.emit import emit_function
from tile_metal.toolchain import check_source

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
TILE_KERNEL(128) axpy(
    const device unsigned short *X [[buffer(0)]],
    device unsigned short *Y [[buffer(1)]],
    constant int &N [[buffer(2)]],
    constant float &a [[buffer(3)]],
    TILE_PLACE) {
  TILE_ARENA(arena, 1024);
  // <tile-ir>:4
  const int bx = (int)block_index % tile_ceildiv<int>(N, 1024);
  const int by = (int)block_index / tile_ceildiv<int>(N, 1024);
  // <tile-ir>:5
  const int t = (int)thread_index;
  alignas(16) unsigned short x[8];
  threadgroup float *const s = (threadgroup float *)(arena + 512);
  // <tile-ir>:8
  #pragma clang loop unroll(full)
  for (int v = 0; v < 2; v++) {
    // <tile-ir>:9
    tile_move<8>(&x[v * 4], &X[(long)by * N + bx * 1024 + t * 8 + v * 4]);
  }
  // <tile-ir>:11
  s[t] = tile_f16_to_f32(x[0]) * a;
  // <tile-ir>:12
  tile_sync();
  // <tile-ir>:13
  if ((t >> 3) < 3) {
    Y[(long)by * N + (t & 7)] = tile_f32_to_f16(tile_max_f32(s[t ^ 1], tile_shuffle_xor(a, 1)));
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
APPLE7 = spec.load("apple7")
NAMES = [t.name for t in ALL_DTYPES if t.name != "f64"]


def one_kernel(declarations, body):
    return parse_function(
        f"func @f({declarations}) {{ kernel @f threads = (128) {{ tiles (bx) in (1) {{\n"
        f"let t: i32 = thread_index()\n{body}\n}} }} }}"
    )


def text_of(declarations, body):
    return emit_function(one_kernel(declarations, body), APPLE7).text


def refusal(declarations, body):
    with pytest.raises(TileError) as caught:
        emit(one_kernel(declarations, body), APPLE7)
    return caught.value


def test_a_kernel_word_for_word(checker):
    text = emit(parse_function(AXPY), APPLE7).source
    assert text[text.index("TILE_KERNEL(128)") :].rstrip() == KERNEL.rstrip()
    check_source(text, checker)


def test_the_host_part_word_for_word():
    made = emit(parse_function(AXPY), APPLE7)
    assert made.host == HOST
    assert made.signature == ("ptr", "ptr", "f32", "i32", "i32")
    assert made.alignments == (8, 2, 1)
    assert (made.entry, made.kernels) == ("axpy", ("axpy",))
    assert (made.usage["axpy"].threads, made.usage["axpy"].shared) == (128, 1024)


def test_equal_functions_give_equal_text():
    one, other = (emit(parse_function(AXPY), APPLE7).source for _ in range(2))
    assert one == other


def test_the_librarys_header_is_all_that_is_included(lowered_sample):
    text = emit(lowered_sample("attention", "apple9"), spec.load("apple9")).source
    assert text.count("#include") == 1
    assert text.startswith("#include <metal_stdlib>\n")


def test_lanes_are_computed_by_structures_and_equal_ones_are_shared(checker):
    at = "ramp(t * 4, 1, 4)"
    body = f"store Y[{at}] = X[{at}] + X[{at}]\nstore Z[{at}] = X[{at}] + X[{at}]"
    text = text_of("X: global f32[512], Y: global f32[512], Z: global f32[512]", body)
    assert text.count("struct tile_each_") == 1
    assert "static auto of(A a, B b) { return a + b; }" in text
    assert (
        text.count("tile_map<tile_each_0>(tile_load<4>(&X[t * 4]), tile_load<4>(&X[t * 4]))") == 2
    )
    check_source(text, checker)


def test_a_name_of_the_language_is_no_identifier():
    text = text_of("uint: global f32[128], kernel: global f32[128]", "store uint[t] = kernel[t]")
    assert "uint_1[t] = kernel_[t];" in text


def test_threads_that_talk_through_the_devices_memory_wait_for_it():
    alone = text_of("X: global f32[128], Y: global f32[128]", "store Y[t] = X[t]\nsync block")
    assert "  tile_sync();\n" in alone
    body = "store Y[t] = X[t]\nsync block\nstore X[t] = Y[127 - t]"
    assert "  tile_sync_device();\n" in text_of("X: global f32[128], Y: global f32[128]", body)


def test_strict_numbers_are_asked_of_the_compiler():
    fn = parse_function(AXPY)
    assert "#pragma METAL fp contract(off)" in emit(replace(fn, numerics="strict"), APPLE7).source
    assert "#pragma METAL" not in emit(fn, APPLE7).source


@pytest.mark.parametrize("s", NAMES)
def test_every_conversion_passes_the_gate(checker, s):
    buffers = ", ".join([f"X: global {s}[512]", *(f"Y_{d}: global {d}[512]" for d in NAMES)])
    text = text_of(buffers, "\n".join(f"store Y_{d}[t] = {d}(X[t])" for d in NAMES if d != s))
    check_source(text, checker)
    assert "double" not in text


def test_conversions_of_vectors_pass_the_gate(checker):
    whole = [n for n in NAMES if n not in ("i4", "u4", "f4e2m1fn")]
    at = "ramp(t * 4, 1, 4)"
    body = "\n".join(
        f"store Y_{d}[{at}] = {d}x4(X_{s}[{at}])"
        for s in ("f32", "f16", "i8")
        for d in whole
        if s != d
    )
    buffers = ", ".join(f"X_{s}: global {s}[512]" for s in ("f32", "f16", "i8"))
    results = ", ".join(f"Y_{d}: global {d}[512]" for d in whole)
    check_source(text_of(f"{buffers}, {results}", body), checker)


ONE = """
exp exp2 exp10 log log2 log10 log1p sqrt rsqrt sin cos tan asin acos atan sinh cosh tanh asinh acosh
atanh erf floor ceil round trunc fast_exp fast_exp10 fast_log fast_log2 fast_log10 fast_sin fast_cos
fast_tan fast_rcp
"""
TWO = "pow fmod atan2 hypot copysign nextafter max_num min_num"


def test_every_function_passes_the_gate(checker):
    rows = [f"store Y[t] = {f}(X[t])" for f in ONE.split()]
    rows += [f"store Y[t] = {f}(X[t], Y[t])" for f in TWO.split()]
    rows.append("store Y[t] = fma(X[t], X[t], Y[t])")
    rows += [f"if {f}(X[t]) {{ store Y[t] = 0.0 }}" for f in ("isnan", "isinf", "isfinite")]
    rows += [f"store I[t] = {f}(I[t])" for f in ("popcount", "clz")]
    text = text_of("X: global f32[128], Y: global f32[128], I: global i32[128]", "\n".join(rows))
    check_source(text, checker)
    assert "metal::precise::tanh(X[t])" in text
    assert "metal::fast::exp(X[t])" in text
    assert "tile_erf_f32(X[t])" in text


ATOMIC = "atomic {op} X[t], {value}"


@pytest.mark.parametrize(
    ("kind", "scope", "call"),
    [
        ("i32", "global", "tile_atomic_add<int>(&X[t], 1);"),
        ("f32", "global", "tile_atomic_add<float>(&X[t], 1.0f);"),
        ("f32", "shared", "tile_atomic_loop<float, tile_each_0>(&s[t], 1.0f);"),
        ("f16", "global", "tile_atomic_loop<unsigned short, tile_each_0>(&X[t], 1.0f);"),
        ("i8", "shared", "tile_atomic_loop<signed char, tile_each_0>(&s[t], 1);"),
    ],
)
def test_atomics_are_instructions_or_loops_on_a_word(checker, kind, scope, call):
    one = "1" if kind.startswith("i") else "1.0"
    shared = f"alloc s: shared {kind}[128] offset 0\n" if scope == "shared" else ""
    name = "s" if shared else "X"
    text = text_of(f"X: global {kind}[128]", f"{shared}atomic add {name}[t], {one}")
    assert call in text
    check_source(text, checker)


def test_a_wide_atomic_is_refused():
    error = refusal("X: global i64[128]", "atomic add X[t], i64(1)")
    assert error.code == "E3101"
    assert "no atomic add on i64" in error.message
    assert "i32 or f32" in error.help


@pytest.mark.parametrize(
    ("declarations", "body", "what"),
    [
        ("X: global f64[128]", "store X[t] = f64(1)", "in f64"),
        ("X: global f32[128]", "store X[t] = f32(f64(X[t]) * f64(2))", "in f64"),
        ("X: global f32[128]", 'assert X[t] > 0.0, "positive"', "cannot check an assertion"),
        ("X: global f32[128]", 'print "x", [X[t]]', "cannot print"),
    ],
)
def test_what_kernels_cannot_do_is_refused(declarations, body, what):
    error = refusal(declarations, body)
    assert error.code == "E3101"
    assert what in error.message
    assert "target='cpu'" in error.help


def test_too_many_arguments_are_refused():
    arrays = [f"X{n}: global f32[128]" for n in range(32)]
    stores = "\n".join(f"store X{n}[t] = 0.0" for n in range(32))
    error = refusal(", ".join(arrays), stores)
    assert error.code == "E3101"
    assert "takes 32 arrays" in error.message
    assert "at most 31" in error.notes[0]


def test_memory_of_a_block_beyond_the_description_is_refused():
    fn = one_kernel("X: global f32[4]", "alloc s: shared f32[8193] offset 0\nstore s[t] = X[0]")
    with pytest.raises(TileError, match="f needs 32772 bytes of shared memory") as caught:
        emit(fn, APPLE7)
    assert caught.value.code == "E3010"
    assert caught.value.notes == ("apple7 has 32768",)


@pytest.mark.parametrize("statement", ["sync cluster", "sync group id = 1"])
def test_what_has_to_be_gone_by_now_is_our_defect(statement):
    with pytest.raises(InternalError) as caught:
        emit_function(one_kernel("X: global f32[128]", f"store X[t] = 0.0\n{statement}"), APPLE7)
    assert caught.value.code == "E9001"
