"""`device="emulator"`: kernels for a device, called with arrays of the host."""

import numpy as np
import pytest

import tile_frontend as tile
import tile_frontend.language as T
from tile_cpu.emulator import options
from tile_ir.diag import TileError


@T.prim_func
def product(
    A: T.Tensor((100, 72), "float16"),
    B: T.Tensor((72, 136), "float16"),
    C: T.Tensor((100, 136), "float32"),
):
    with T.Kernel(T.ceildiv(136, 64), T.ceildiv(100, 64), threads=128) as (bx, by):
        A_s = T.alloc_shared((64, 32), "float16")
        B_s = T.alloc_shared((32, 64), "float16")
        C_l = T.alloc_fragment((64, 64), "float32")
        T.clear(C_l)
        for k in T.Pipelined(T.ceildiv(72, 32), num_stages=2):
            T.copy(A[by * 64, k * 32], A_s)
            T.copy(B[k * 32, bx * 64], B_s)
            T.gemm(A_s, B_s, C_l)
        T.copy(C_l, C[by * 64, bx * 64])


@T.prim_func
def shifted(
    A: T.Tensor((128,), "float32"), I: T.Tensor((128,), "int32"), B: T.Tensor((128,), "float32")
):
    with T.Kernel(1, threads=128):
        for i in T.Parallel(128):
            B[i] = A[I[i]]


@pytest.fixture(autouse=True)
def own_cache(nvrtc, zig, tmp_path, monkeypatch):
    monkeypatch.setenv("TILE_CACHE_DIR", str(tmp_path))


TARGETS = {
    "cuda -arch=sm_80": ("__global__", ".cu"),
    "cuda -arch=sm_90a": ("__global__", ".cu"),
    "rocm -arch=gfx942": ("TILE_KERNEL", ".hip"),
    "rocm -arch=gfx1100": ("TILE_KERNEL", ".hip"),
    "metal -arch=apple7": ("TILE_KERNEL", ".metal"),
}
"""Target -> a word of its source, and how the file that holds it ends."""


@pytest.mark.parametrize("target", list(TARGETS))
def test_a_product_by_numpy_and_torch(target):
    torch = pytest.importorskip("torch")
    kernel = tile.compile(product, out_idx=-1, target=target, device="emulator")
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal(s).astype(np.float16) for s in ((100, 72), (72, 136)))
    want = a.astype(np.float64) @ b.astype(np.float64)
    got = kernel(a, b)
    assert isinstance(got, np.ndarray)
    assert np.abs(got - want).max() < 1e-3
    with options(schedule="random", seed=3):
        tensor = kernel(torch.from_numpy(a), torch.from_numpy(b))
    assert np.abs(tensor.numpy() - want).max() < 1e-3
    word, suffix = TARGETS[target]
    assert word in kernel.get_kernel_source()
    counted = kernel.compiled.launch.counters["product"]
    assert counted["multiply_adds"] >= 128 * 192 * 72
    assert kernel.compiled.source_path.suffix == suffix


def test_a_kernel_is_found_again():
    first = tile.compile(shifted, target="cuda -arch=sm_80", device="emulator")
    again = tile.compile(shifted, target="cuda -arch=sm_80", device="emulator")
    assert (first.compiled.cached, again.compiled.cached) == (False, True)


@T.prim_func
def half_filled(A: T.Tensor((128,), "float32"), B: T.Tensor((128,), "float32")):
    with T.Kernel(1, threads=128):
        S = T.alloc_shared((128,), "float32")
        for i in T.Parallel(64):
            S[i] = A[i]
        for i in T.Parallel(128):
            B[i] = S[127 - i]


@pytest.mark.parametrize("target", list(TARGETS))
def test_a_mistake_is_reported_at_its_line(target):
    kernel = tile.compile(half_filled, target=target, device="emulator")
    with pytest.raises(TileError) as caught:
        kernel(np.zeros(128, np.float32), np.zeros(128, np.float32))
    assert caught.value.code == "E2305"
    assert caught.value.span.file.endswith("test_public.py")
    assert caught.value.span.text().strip() == "B[i] = S[127 - i]"
    assert "stored to B" in caught.value.message


@pytest.mark.parametrize("target", list(TARGETS))
def test_indices_from_memory_are_guarded(target):
    kernel = tile.compile(shifted, target=target, device="emulator")
    a, b = np.arange(128, dtype=np.float32), np.zeros(128, np.float32)
    index = np.arange(128, dtype=np.int32)[::-1].copy()
    kernel(a, index, b)
    assert np.array_equal(b, a[::-1])
    index[5] = 1000
    kernel(a, index, b)
    assert b[5] == 0


def test_what_cannot_be_emulated():
    with pytest.raises(TileError) as caught:
        tile.compile(shifted, target="cpu", device="emulator")
    assert caught.value.code == "E2300"
    with pytest.raises(TileError) as caught:
        tile.compile(shifted, target="cuda -arch=sm_80", device="nothing")
    assert caught.value.code == "E0901"


def test_a_part_of_an_output_that_nobody_writes_shows():
    @T.prim_func
    def half(
        A: T.Tensor((64,), "float32"), B: T.Tensor((64,), "float32"), C: T.Tensor((64,), "int32")
    ):
        with T.Kernel(1, threads=32):
            for i in T.Parallel(32):
                B[i] = A[i]
                C[i + 32] = 1

    kernel = tile.compile(half, out_idx=[1, 2], target="cuda -arch=sm_80", device="emulator")
    b, c = kernel(np.ones(64, np.float32))
    assert (b[:32] == 1).all()
    assert np.isnan(b[32:]).all()
    assert c.tolist() == [-1] * 32 + [1] * 32


def test_a_promise_that_another_function_breaks():
    """The second kernel may begin before the first one has ended, which writes its weights."""

    @T.prim_func
    def scaled(A: T.Tensor((64,), "float32"), W: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=64):
            for i in T.Parallel(64):
                W[i] = A[i] * 2.0

    @T.prim_func
    def weighed(W: T.Tensor((64,), "float32"), A: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=64):
            T.annotate_dependent_launch(W)
            for i in T.Parallel(64):
                A[i] = A[i] + W[i]

    on = {"target": "cuda -arch=sm_90a", "device": "emulator"}
    first, second = tile.compile(scaled, **on), tile.compile(weighed, **on)
    a, w, other = np.ones(64, np.float32), np.zeros(64, np.float32), np.ones(64, np.float32)
    first(a, w)
    with pytest.raises(TileError, match="weighed reads W early") as caught:
        second(w, a)
    assert caught.value.code == "E2314"
    second(other, a)  # now this is the kernel in front, and wrote something else
    second(w, a)
    assert a.tolist() == [4.0] * 64
    first(a, w)
    w[:] = 5  # filled by the host since
    second(w, a)
    assert a.tolist() == [9.0] * 64
