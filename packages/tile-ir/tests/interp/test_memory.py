"""Declaring and moving memory: bounds, safe values, poison, views, atomics."""

import ml_dtypes
import numpy as np
import pytest

from tile_ir.diag import TileError
from tile_ir.interp import run
from tile_ir.text import parse_function


def execute(text, **args):
    options = {k: args.pop(k) for k in ("strict", "debug", "lines", "order", "seed") if k in args}
    return run(parse_function(text), args, **options)


COPY = """
func @f(A: global f32[M, N], B: global f16[M, N]) dims (M, N) results (B) {
  kernel @k {
    tiles (bx, by) in (ceildiv(N, 8), ceildiv(M, 4)) {
      alloc S: shared f32[4, 8]
      copy A[by * 4 : +4, bx * 8 : +8] -> S[:, :]CLIP_READ
      copy S[:, :] -> B[by * 4 : +4, bx * 8 : +8]CLIP_WRITE
    }
  }
}"""
CLIPPED = COPY.replace("CLIP_READ", " clip").replace("CLIP_WRITE", " clip")


@pytest.mark.parametrize("shape", [(1, 1), (4, 8), (5, 9), (7, 3), (13, 30)])
def test_copy_converts_and_clips(shape):
    a = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    got = execute(CLIPPED, A=a)["B"]
    assert got.dtype == np.float16
    np.testing.assert_array_equal(got, a.astype(np.float16))


@pytest.mark.parametrize(
    ("read", "write", "message"),
    [("", " clip", "read of A at"), (" clip", "", "write of B at")],
)
def test_a_copy_that_does_not_clip_stays_inside(read, write, message):
    text = COPY.replace("CLIP_READ", read).replace("CLIP_WRITE", write)
    a = np.ones((4, 8), np.float32)
    np.testing.assert_array_equal(execute(text, A=a)["B"], a)
    with pytest.raises(TileError, match="E0502") as caught:
        execute(text, A=np.ones((4, 9), np.float32))
    assert message in str(caught.value)
    assert caught.value.span is not None


def test_outside_a_copy_reads_the_safe_value():
    text = """
    func @f(A: global f32[3] safe 7.0, B: global f32[8]) results (B) {
      copy A[-2 : +8] -> B[:] clip
    }"""
    got = execute(text, A=np.array([1, 2, 3], np.float32))["B"]
    assert got.tolist() == [7, 7, 1, 2, 3, 7, 7, 7]


def test_unit_axes_are_dropped_in_order():
    text = """
    func @f(A: global f32[3, 4, 5], B: global f32[4, 1, 5]) results (B) {
      alloc S: shared f32[1, 4, 5]
      copy A[2, :, :] -> S[:, :, :]
      copy S[:, :, :] -> B[:, :, :]
    }"""
    a = np.arange(60, dtype=np.float32).reshape(3, 4, 5)
    np.testing.assert_array_equal(execute(text, A=a)["B"][:, 0, :], a[2])


def test_a_load_outside_global_memory_is_safe_until_guards_are_explicit():
    text = """
    func @f(A: global i32[4], B: global i32[8]) results (B) {
      parallel (i) in (8) { store B[i] = A[i - 2] + 1 }
    }"""
    a = np.array([10, 20, 30, 40], np.int32)
    assert execute(text, A=a)["B"].tolist() == [1, 1, 11, 21, 31, 41, 1, 1]
    with pytest.raises(TileError, match="read of A at"):
        execute(text, A=a, strict=True)
    guarded = text.replace("A[i - 2]", "select(i >= 2 and i < 6, A[i - 2], -1)")
    assert execute(guarded, A=a, strict=True)["B"].tolist() == [0, 0, 11, 21, 31, 41, 0, 0]


@pytest.mark.parametrize("loop", ["parallel (i) in (8)", "for i in (0, 8, 1) serial"])
def test_stores_clip_only_when_they_say_so(loop):
    text = f"""
    func @f(B: global f32[4]) results (B) {{
      {loop} {{ store B[i] = f32(i) clip }}
    }}"""
    assert execute(text)["B"].tolist() == [0, 1, 2, 3]
    with pytest.raises(TileError, match="write of B at"):
        execute(text.replace(" clip", ""))
    assert execute(text.replace(" clip", ""), debug=False)["B"].tolist() == [0, 1, 2, 3]


def test_shared_memory_is_never_guarded():
    text = """
    func @f(B: global f32[4]) results (B) {
      alloc S: shared f32[4]
      fill S[:], 1.0
      parallel (i) in (4) { store B[i] = S[i + 1] }
    }"""
    with pytest.raises(TileError, match="read of S at"):
        execute(text)


def test_floats_are_poisoned_with_nan_and_integers_tracked():
    text = """
    func @f(B: global f32[4]) results (B) {
      alloc S: shared TYPE[4]
      store S[1] = VALUE
      parallel (i) in (4) { store B[i] = f32(S[i]) }
    }"""
    floats = execute(text.replace("TYPE", "f32").replace("VALUE", "2.0"))["B"]
    np.testing.assert_array_equal(floats, [np.nan, 2, np.nan, np.nan])
    integers = text.replace("TYPE", "i32").replace("VALUE", "2")
    with pytest.raises(TileError, match="E0503"):
        execute(integers)
    guarded = integers.replace("f32(S[i])", "select(i == 1, f32(S[i]), 0.0)")
    assert execute(guarded)["B"].tolist() == [0, 2, 0, 0]


def test_copies_carry_what_is_defined():
    text = """
    func @f(B: global i32[2]) results (B) {
      alloc S: shared i32[4]; alloc T: shared i32[4]
      fill S[0 : +2], 5
      copy S[:] -> T[:]
      parallel (i) in (2) { store B[i] = T[i + FROM] }
    }"""
    assert execute(text.replace("FROM", "0"))["B"].tolist() == [5, 5]
    with pytest.raises(TileError, match="T is read where it was never written"):
        execute(text.replace("FROM", "1"))


def test_transpose_converts_and_keeps_leading_axes():
    text = """
    func @f(A: global f32[2, 3, 4], B: global bf16[2, 4, 3]) results (B) {
      transpose A[:, :, :] -> B[:, :, :]
    }"""
    a = np.random.default_rng(1).standard_normal((2, 3, 4)).astype(np.float32)
    got = execute(text, A=a)["B"]
    np.testing.assert_array_equal(got, a.swapaxes(1, 2).astype(ml_dtypes.bfloat16))


def test_fill_clips():
    text = """
    func @f(A: global i32[4, 4]) {
      fill A[2 : +4, 1 : +2], 9 clip
    }"""
    got = execute(text, A=np.zeros((4, 4), np.int32))["A"]
    assert got.tolist() == [[0] * 4, [0] * 4, [0, 9, 9, 0], [0, 9, 9, 0]]
    with pytest.raises(TileError, match="fill of A"):
        execute(text.replace(" clip", ""), A=np.zeros((4, 4), np.int32))


def test_view_reads_the_same_bits():
    text = """
    func @f(A: global f32[4], B: global i32[2, 2]) results (B) {
      alloc S: shared f32[4]
      view V: shared i32[2, 2] of S
      copy A[:] -> S[:]
      store V[1, 0] = 7
      copy V[:, :] -> B[:, :]
    }"""
    a = np.array([1, 2, 3, 4], np.float32)
    want = a.view(np.int32).reshape(2, 2).copy()
    want[1, 0] = 7
    np.testing.assert_array_equal(execute(text, A=a)["B"], want)


def test_view_of_packed_nibbles_works_both_ways():
    text = """
    func @f(A: global u8[2], B: global i4[4], C: global u8[2]) results (B, C) {
      alloc S: shared u8[2]
      view V: shared i4[4] of S
      copy A[:] -> S[:]
      copy V[:] -> B[:]
      store V[3] = i4(5)
      copy S[:] -> C[:]
    }"""
    out = execute(text, A=np.array([0x21, 0xF3], np.uint8))
    assert out["B"].astype(np.int32).tolist() == [1, 2, 3, -1]
    assert out["C"].tolist() == [0x21, 0x53]


@pytest.mark.parametrize("loop", ["parallel (i) in (10)", "for i in (0, 10, 1) serial"])
@pytest.mark.parametrize(
    ("kind", "want"),
    [("add", [20, 25]), ("max", [8, 9]), ("min", [-1, -1]), ("or", [-1, -1]), ("exchange", [8, 9])],
)
def test_atomics_combine_every_lane(loop, kind, want):
    text = f"""
    func @f(A: global i32[3]) {{
      {loop} {{ atomic {kind} A[i % 2 * 2], i }}
    }}"""
    start = 0 if kind in ("add", "exchange") else -1
    got = execute(text, A=np.array([start, 77, start], np.int32))["A"]
    assert got.tolist() == [want[0], 77, want[1]]


def test_float_atomics_round_each_time():
    text = """
    func @f(A: global bf16[1]) {
      parallel (i) in (4) { atomic add A[0], bf16(1.0) }
    }"""
    got = execute(text, A=np.array([256], ml_dtypes.bfloat16))["A"]
    assert got.tolist() == [256]  # 257 is no bf16, and the tie goes to even


def test_an_atomic_may_give_the_old_value_and_clip():
    text = """
    func @f(A: global i32[1], B: global i32[4]) results (B) {
      parallel (i) in (4) {
        atomic add A[0], i + 1 result = old
        store B[i] = old
        atomic add A[i + 1], 1 clip
      }
    }"""
    fn = parse_function(text)
    out = run(fn, {"A": np.array([100], np.int32)})
    assert out["B"].tolist() == [100, 101, 103, 106]
    assert out["A"].tolist() == [110]


def test_atomic_tile_clips_and_converts():
    text = """
    func @f(A: global f32[3, 3]) {
      alloc S: shared f16[2, 2]
      fill S[:, :], 0.5:f16
      atomic_tile add S[:, :] -> A[2 : +2, 1 : +2] clip
    }"""
    got = execute(text, A=np.ones((3, 3), np.float32))["A"]
    assert got.tolist() == [[1, 1, 1], [1, 1, 1], [1, 1.5, 1.5]]


def test_a_let_keeps_the_value_it_saw():
    text = """
    func @f(A: global f32[4]) {
      parallel (i) in (4) {
        let x: f32 = A[i]
        store A[i] = x + 1.0
        store A[i] = A[i] * x
      }
    }"""
    assert execute(text, A=np.array([1, 2, 3, 4], np.float32))["A"].tolist() == [2, 6, 12, 20]


def test_inputs_are_not_modified():
    a = np.zeros(4, np.int32)
    text = "func @f(A: global i32[4]) { fill A[:], 3 }"
    assert execute(text, A=a)["A"].tolist() == [3] * 4
    assert a.tolist() == [0] * 4


def test_strided_access_in_a_box_is_a_slice_or_a_gather():
    text = """
    func @f(A: global i32[6, 8], B: global i32[3, 4], C: global i32[12]) results (B, C) {
      parallel (i, j) in (3, 4) {
        store B[i, j] = A[2 * i + 1, j * 2]
        store C[i * 4 + j] = A[i, 7 - j]
      }
    }"""
    a = np.arange(48, dtype=np.int32).reshape(6, 8)
    out = execute(text, A=a)
    np.testing.assert_array_equal(out["B"], a[1::2, ::2])
    np.testing.assert_array_equal(out["C"].reshape(3, 4), a[:3, 7:3:-1])


def test_vector_accesses_inside_a_box():
    text = """
    func @f(A: global f32[4, 8], B: global f32[4, 8]) results (B) {
      parallel (i, j) in (4, 2) {
        store B[i, ramp(j * 4, 1, 4)] = A[3 - i, ramp(j * 4, 1, 4)] + broadcast(A[i, 0], 4)
      }
    }"""
    a = np.arange(32, dtype=np.float32).reshape(4, 8)
    np.testing.assert_array_equal(execute(text, A=a)["B"], a[::-1] + a[:, :1])


def test_outside_a_type_without_zero_lies_what_zero_converts_to():
    text = """
    func @f(A: global f8e8m0fnu[2], B: global f32[4]) results (B) {
      alloc S: shared f8e8m0fnu[4]
      copy A[0 : +4] -> S[:] clip
      parallel (i) in (4) { store B[i] = f32(S[i]) + f32(A[i]) }
    }"""
    got = execute(text, A=np.array([1, 4], ml_dtypes.float8_e8m0fnu))["B"]
    assert got.tolist() == [2, 8, 2.0**-126, 2.0**-126]
