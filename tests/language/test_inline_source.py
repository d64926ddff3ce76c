"""Device functions that a kernel brings as text: called where their language is spoken, replaced by
a reference in the tile language elsewhere."""

from pathlib import Path

import numpy as np
import pytest

import tile_frontend as tile
import tile_frontend.language as T
from tile_cuda.nvrtc import find_nvrtc
from tile_ir.diag import TileError
from tile_ir.interp import run as interpreted
from tile_ir.text import parse_function, print_function

DEVICE = "cuda -arch=sm_80"
needs_compiler = pytest.mark.skipif(
    find_nvrtc() is None, reason="nvidia-cuda-nvrtc is not installed"
)

SOURCE = """
__device__ float twice(float x) { return x + x; }
__device__ void unpack(const unsigned char *from, int *to) {
  for (int i = 0; i < 4; i++) to[2 * i] = from[i] & 15, to[2 * i + 1] = from[i] >> 4;
}
__device__ int pair_sum(const int *from) { return from[0] + from[1]; }
__device__ void add_row(float *to, const float *from, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) to[i] += from[i];
}
"""


@T.macro
def unpacked(origin, to):
    for i in T.serial(4):
        to[2 * i] = T.cast(origin[i] & 15, T.int32)
        to[2 * i + 1] = T.cast(origin[i] >> 4, T.int32)


@T.macro
def row_added(to, origin, n):
    for i in T.Parallel(64):
        to[i] = to[i] + origin[i]


def scaled(reference):
    """A function of one number, in every iteration."""

    @T.prim_func
    def main(A: T.Tensor((300,), T.float32), B: T.Tensor((300,), T.float32)):
        with T.Kernel(3, threads=64) as bx:
            T.import_source(SOURCE)
            for i in T.Parallel(128):
                if bx * 128 + i < 300:
                    x = T.call_extern("float32", "twice", A[bx * 128 + i], reference=reference)
                    B[bx * 128 + i] = x + 1.0

    return main


def rows():
    """A function that all threads of the block call, with tiles; twice, so that threads have to
    wait for each other in between."""

    @T.prim_func
    def main(A: T.Tensor((4, 64), T.float32), B: T.Tensor((4, 64), T.float32)):
        with T.Kernel(4, threads=64) as bx:
            T.import_source(SOURCE)
            S = T.alloc_shared((64,), T.float32)
            R = T.alloc_shared((64,), T.float32)
            T.copy(A[bx, 0:64], S)
            T.fill(R, 1.0)
            T.call_extern("handle", "add_row", R, S, 64, reference=row_added)
            for i in T.Parallel(64):
                S[i] = R[63 - i]
            T.evaluate(T.call_extern("add_row", R, S, 64, dtype="handle", reference=row_added))
            T.copy(R, B[bx, 0:64])

    return main


def pairs():
    """A function of an address in global memory."""

    @T.prim_func
    def main(A: T.Tensor((4, 8), T.int32), B: T.Tensor((4, 4), T.int32)):
        with T.Kernel(4, threads=32) as bx:
            T.import_source(SOURCE)
            for i in T.Parallel(4):
                B[bx, i] = T.call_extern(
                    "int32",
                    "pair_sum",
                    T.address_of(A[bx, 2 * i]),
                    reference=lambda place, i=i: A[bx, 2 * i] + A[bx, 2 * i + 1],
                )

    return main


def by_threads():
    """Functions that each thread calls with arrays and numbers of its own."""

    @T.prim_func
    def main(A: T.Tensor((64, 4), T.uint8), B: T.Tensor((64, 8), T.int32)):
        with T.Kernel(2, threads=32) as bx:
            T.import_source(SOURCE)
            tx = T.get_thread_binding()
            packed = T.alloc_local((4,), T.uint8)
            values = T.alloc_local((8,), T.int32)
            for i in T.serial(4):
                packed[i] = A[bx * 32 + tx, i]
            T.call_extern("handle", "unpack", packed, values, reference=unpacked)
            y = T.call_extern("float32", "twice", T.cast(tx, T.float32), reference=lambda v: v + v)
            for i in T.serial(8):
                B[bx * 32 + tx, i] = values[i] + T.cast(y, T.int32)

    return main


def cases():
    a = np.arange(300, dtype=np.float32)
    r = np.arange(256, dtype=np.float32).reshape(4, 64)
    once = r + 1
    p = np.arange(32, dtype=np.int32).reshape(4, 8)
    c = (np.arange(256) * 7 % 256).astype(np.uint8).reshape(64, 4)
    split = np.stack([c & 15, c >> 4], -1).reshape(64, 8).astype(np.int32)
    twice = 2 * (np.arange(64) % 32)[:, None].astype(np.int32)
    return {
        "arrays of threads": (by_threads, c, np.zeros((64, 8), np.int32), split + twice),
        "a number": (lambda: scaled(lambda v: v + v), a, np.zeros_like(a), 2 * a + 1),
        "tiles": (rows, r, np.zeros_like(r), once + once[:, ::-1]),
        "places": (pairs, p, np.zeros((4, 4), np.int32), p[:, ::2] + p[:, 1::2]),
    }


CASES = cases()


@pytest.mark.parametrize("name", CASES)
def test_with_a_reference_it_means_the_same_everywhere(run, name):
    make, a, b, want = CASES[name]
    outcome = run(make(), a, b)
    np.testing.assert_array_equal(outcome.args[1], want)


@needs_compiler
@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("target", [DEVICE, "cuda -arch=sm_90a"])
def test_where_the_language_is_spoken_the_function_is_called(name, target):
    make, a, b, want = CASES[name]
    kernel = tile.compile(make(), target=target, device="emulator")
    got = b.copy()
    kernel(a, got)
    np.testing.assert_array_equal(got, want)
    text, body = kernel.get_kernel_source().split("__global__")
    assert text.count("__device__ float twice(float x)") == 1
    assert any(f" {f}(" in body for f in ("twice", "add_row", "pair_sum", "unpack"))


@needs_compiler
def test_it_is_the_function_that_runs():
    """The reference says something else, which only other targets and the oracle believe."""
    program = scaled(lambda v: v * 0.0)
    a, b = np.ones(300, np.float32), np.zeros(300, np.float32)
    tile.compile(program, target=DEVICE, device="emulator")(a, b)
    assert set(b) == {3.0}
    tile.compile(program, target="cpu")(a, b)
    assert set(b) == {1.0}


@needs_compiler
def test_threads_wait_for_each_other_around_a_call():
    _, body = (
        tile.compile(rows(), target=DEVICE, device="emulator")
        .get_kernel_source()
        .split("__global__")
    )
    first, second = (n for n in range(len(body)) if body.startswith("add_row(", n))
    assert "__syncthreads();" in body[:first]
    assert body[first:second].count("__syncthreads();") == 2
    assert "__syncthreads();" in body[second:]


def test_without_a_reference_others_refuse():
    program = scaled(None)
    with pytest.raises(TileError) as caught:
        tile.compile(program, target="cpu")
    assert caught.value.code == "E0713"
    a = np.ones(300, np.float32)
    with pytest.raises(TileError) as caught:
        interpreted(program.function, {"A": a, "B": a})
    assert caught.value.code == "E0518"


@needs_compiler
def test_without_a_reference_its_own_target_compiles_it():
    a, b = np.arange(300, dtype=np.float32), np.zeros(300, np.float32)
    tile.compile(scaled(None), target=DEVICE, device="emulator")(a, b)
    np.testing.assert_array_equal(b, 2 * a + 1)


@needs_compiler
def test_names_of_the_program_do_not_hide_a_function():
    """Not the values of earlier calls, nor a tensor of that name."""

    @T.prim_func
    def main(twice: T.Tensor((32,), T.float32), B: T.Tensor((32,), T.float32)):
        with T.Kernel(1, threads=32):
            T.import_source(SOURCE)
            for i in T.Parallel(32):
                x = T.call_extern("float32", "twice", twice[i])
                y = T.call_extern("float32", "twice", x)
                B[i] = x + y

    a, b = np.arange(32, dtype=np.float32), np.zeros(32, np.float32)
    tile.compile(main, target=DEVICE, device="emulator")(a, b)
    np.testing.assert_array_equal(b, 6 * a)


@needs_compiler
def test_text_that_does_not_compile_is_blamed():
    @T.prim_func
    def main(A: T.Tensor((32,), T.float32)):
        with T.Kernel(1, threads=32):
            T.import_source("__device__ float broken(float x) { return y; }")
            for i in T.Parallel(32):
                A[i] = T.call_extern("float32", "broken", A[i])

    with pytest.raises(TileError) as caught:
        tile.compile(main, target=DEVICE, device="emulator")
    assert '"y" is undefined' in str(caught.value)


def test_the_program_survives_its_text():
    function = rows().function
    again = parse_function(print_function(function))
    assert print_function(again) == print_function(function)
    assert "native cuda" in print_function(function)


BAD = {
    "no name": lambda A: T.call_extern("float32"),
    "no identifier": lambda A: T.call_extern("float32", "a b", A[0]),
    "half by value": lambda A: T.call_extern("float16", "f", A[0]),
    "a name that is no word of ASCII": lambda A: T.call_extern("float32", "f\u00e9", A[0]),
    "no text": lambda A: T.import_source(7),
    "no file": lambda A: T.import_source(Path("/there/is/no/such.cu")),
    "a folder": lambda A: T.import_source(Path("/")),
    "half a character": lambda A: T.import_source("// \udc80"),
    "no function for a reference": lambda A: T.call_extern("float32", "f", A[0], reference=3),
    "reference without a value": lambda A: T.call_extern(
        "float32", "f", A[0], reference=lambda x: None
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_mistakes(name):
    with pytest.raises(TileError) as caught:

        @T.prim_func
        def main(A: T.Tensor((32,), T.float32)):
            with T.Kernel(1, threads=32):
                BAD[name](A)

    assert caught.value.code == "E1515"
    assert caught.value.help
