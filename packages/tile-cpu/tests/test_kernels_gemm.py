"""Products at ragged sizes, in every type and orientation, into poisoned results."""

import numpy as np
import pytest

from tile_cpu import spec
from tile_cpu.driver import build, compile_function
from tile_ir.interp import run
from tile_ir.testing.compare import assert_close
from tile_ir.testing.host_memory import call_on_host
from tile_ir.testing.random import random_inputs
from tile_ir.text import parse_function

ZNVER4 = spec.load("znver4")
SIZES = (1, 7, 64, 65, 127, 129)


def gemm(a="f32", b="f32", acc="f32", out=None, ta=False, tb=False, tile=(48, 64, 32)):
    m, n, k = tile
    flags = ", ".join(w for w, on in (("transpose_a", ta), ("transpose_b", tb)) if on)
    a_at, b_at = [f"by * {m} : +{m}", f"k * {k} : +{k}"], [f"k * {k} : +{k}", f"bx * {n} : +{n}"]

    def turned(parts, on):
        return ", ".join(parts[::-1] if on else parts)

    return parse_function(f"""tile.ir 1.0 tile
func @product(A: global {a}[{turned(["M", "K"], ta)}], B: global {b}[{turned(["K", "N"], tb)}],
              C: global {out or acc}[M, N]) dims (M, N, K) results (C) {{
  kernel @product {{
    tiles (bx, by) in (ceildiv(N, {n}), ceildiv(M, {m})) {{
      alloc A_s: shared {a}[{turned([str(m), str(k)], ta)}]
      alloc B_s: shared {b}[{turned([str(k), str(n)], tb)}]
      alloc C_l: fragment {acc}[{m}, {n}]
      fill C_l[:, :], {acc}(0)
      for k in (0, ceildiv(K, {k}), 1) pipelined num_stages = 2 {{
        copy A[{turned(a_at, ta)}] -> A_s[:, :] clip
        copy B[{turned(b_at, tb)}] -> B_s[:, :] clip
        gemm A_s[:, :], B_s[:, :] -> C_l[:, :] {flags}
      }}
      copy C_l[:, :] -> C[by * {m} : +{m}, bx * {n} : +{n}] clip
    }}
  }}
}}
""")


def check(fn, sizes, *, rtol=None, arch=ZNVER4, threads=2):
    launch = build(compile_function(fn, arch), arch, threads)
    for seed, (m, n, k) in enumerate(sizes):
        args = random_inputs(fn, seed, {"M": m, "N": n, "K": k})
        want = run(fn, args)["C"]
        got = call_on_host(launch, fn, args)["C"]
        assert_close(got, want, rtol=rtol, what=f"{m}x{n}x{k}")


RAGGED = [(m, n, k) for m in SIZES for n in SIZES for k in (1, 33, 65)] + [(1000, 1000, 100)]


def test_every_ragged_size():
    check(gemm(), RAGGED)


@pytest.mark.parametrize("ta", [False, True])
@pytest.mark.parametrize("tb", [False, True])
@pytest.mark.parametrize(
    ("a", "b", "acc", "out"),
    [
        ("f32", "f32", "f32", "f32"),
        ("f16", "f16", "f32", "f16"),
        ("bf16", "bf16", "f32", "bf16"),
        ("f64", "f64", "f64", "f64"),
        ("i8", "i8", "i32", "i32"),
        ("u8", "i8", "i32", "f32"),
        ("f8e4m3fn", "f8e5m2", "f32", "f32"),
    ],
)
def test_types_and_orientations(a, b, acc, out, ta, tb):
    sizes = [(1, 1, 1), (50, 70, 33), (96, 65, 64), (47, 129, 7)]
    # bf16 products flush subnormal numbers to zero, of which random values have none.
    check(gemm(a, b, acc, out, ta, tb), sizes)


@pytest.mark.parametrize(
    ("a", "b", "acc"),
    [("i4", "i4", "i32"), ("f4e2m1fn", "f4e2m1fn", "f32"), ("f6e2m3fn", "f6e3m2fn", "f32"),
     ("f16", "f16", "f16"), ("i16", "i16", "i32"), ("i32", "i32", "i32"), ("u8", "u8", "i32")],
)  # fmt: skip
def test_types_without_a_kernel_of_their_own(a, b, acc):
    check(gemm(a, b, acc), [(50, 70, 33), (2, 64, 32)])


@pytest.mark.parametrize("tile", [(1, 1, 1), (3, 5, 7), (16, 80, 24), (144, 192, 64)])
def test_tiles_of_any_size(tile):
    check(gemm(tile=tile), [(19, 22, 9)] if tile == (1, 1, 1) else [(50, 70, 33), (145, 193, 65)])


@pytest.mark.parametrize("arch", ["x86-64-v2", "x86-64-v3", "x86-64-v4"])
@pytest.mark.parametrize("kind", ["f32", "f16", "bf16", "i8"])
def test_other_vector_lengths(arch, kind):
    acc = "i32" if kind == "i8" else "f32"
    for ta in (False, True):
        check(gemm(kind, kind, acc, ta=ta), [(50, 70, 33), (96, 65, 64)], arch=spec.load(arch))


def test_an_empty_product_is_zero():
    fn = gemm()
    launch = build(compile_function(fn, ZNVER4), ZNVER4)
    got = call_on_host(launch, fn, random_inputs(fn, 0, {"M": 3, "N": 5, "K": 0}))["C"]
    assert got.tolist() == [[0.0] * 5] * 3
    assert call_on_host(launch, fn, random_inputs(fn, 0, {"M": 0, "N": 5, "K": 4}))["C"].size == 0


def test_one_thread_and_many_agree():
    fn = gemm()
    args = random_inputs(fn, 0, {"M": 200, "N": 300, "K": 100})
    compiled = compile_function(fn, ZNVER4)
    one, many = (call_on_host(build(compiled, ZNVER4, t), fn, args)["C"] for t in (1, 7))
    assert np.array_equal(one, many)


@pytest.mark.parametrize("slots", [1, 2, 5])
def test_more_trips_than_slots(slots):
    fn = gemm()
    pins = {"product.B_s.resident": slots, "product.k.merge": 1}
    launch = build(compile_function(fn, ZNVER4, pins), ZNVER4)
    args = random_inputs(fn, 0, {"M": 150, "N": 70, "K": 300})
    assert_close(call_on_host(launch, fn, args)["C"], run(fn, args)["C"])
