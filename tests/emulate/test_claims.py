"""Which block takes which tile, in the code that was emitted: tiles drawn from a counter, and pairs
of blocks that bring an operand together."""

import numpy as np
import pytest

import tile_frontend as tile
import tile_frontend.language as T
from tile_cpu.emulator import options
from tile_ir.diag import TileError

SCHEDULES = ("round-robin", "reverse", "random")
HOPPER = "cuda -arch=sm_90a"


@pytest.fixture(autouse=True)
def own_cache(nvrtc, tmp_path, monkeypatch):
    monkeypatch.setenv("TILE_CACHE_DIR", str(tmp_path))


def product(m, n, k):
    @T.prim_func
    def product(
        A: T.Tensor((m, k), "float16"),
        B: T.Tensor((k, n), "float16"),
        C: T.Tensor((m, n), "float16"),
    ):
        with T.Kernel(T.ceildiv(n, 64), T.ceildiv(m, 64), threads=128) as (bx, by):
            A_s = T.alloc_shared((64, 32), "float16")
            B_s = T.alloc_shared((32, 64), "float16")
            C_l = T.alloc_fragment((64, 64), "float32")
            T.clear(C_l)
            for i in T.Pipelined(T.ceildiv(k, 32), num_stages=3):
                T.copy(A[by * 64, i * 32], A_s)
                T.copy(B[i * 32, bx * 64], B_s)
                T.gemm(A_s, B_s, C_l)
            T.copy(C_l, C[by * 64, bx * 64])

    return product


def compiled(func, **pins):
    plan = {f"product.{name.replace('__', '.')}": value for name, value in pins.items()}
    return tile.compile(func, out_idx=-1, target=HOPPER, device="emulator", plan=plan)


def operands(m, n, k):
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-2, 3, s).astype(np.float16) for s in ((m, k), (k, n)))
    return a, b, a.astype(np.float64) @ b.astype(np.float64)


@pytest.mark.parametrize("workers", [1, 2])
def test_a_product_whose_tiles_are_drawn(workers):
    m, n, k = 300, 264, 104
    kernel = compiled(product(m, n, k), tiles__claim="dynamic")
    assert "tile_claim(drawn, 25, (int)gridDim.x)" in kernel.get_kernel_source()
    a, b, want = operands(m, n, k)
    for schedule in SCHEDULES:
        with options(schedule=schedule, workers=workers):
            assert np.array_equal(kernel(a, b), want)
        counted = kernel.compiled.launch.counters["product"]
        assert counted["atomics"] == 25  # as often as there are tiles, so the counter is zero again


@T.prim_func
def causal(
    Q: T.Tensor((3, 200, 64), "float16"),
    K: T.Tensor((3, 200, 64), "float16"),
    O: T.Tensor((3, 200, 64), "float16"),
):
    """Sums of rows up to the diagonal, as attention without weights: its tiles grow."""
    with T.Kernel(T.ceildiv(200, 64), 3, threads=128) as (bm, h):
        Q_s = T.alloc_shared((64, 64), "float16")
        K_s = T.alloc_shared((64, 64), "float16")
        S_l = T.alloc_fragment((64, 64), "float32")
        P_l = T.alloc_fragment((64, 64), "float16")
        O_l = T.alloc_fragment((64, 64), "float32")
        T.clear(O_l)
        T.copy(Q[h, bm * 64, 0], Q_s)
        for j in T.Pipelined(bm + 1, num_stages=2):
            T.copy(K[h, j * 64, 0], K_s)
            T.clear(S_l)
            T.gemm(Q_s, K_s, S_l, transpose_B=True)
            for r, c in T.Parallel(64, 64):
                P_l[r, c] = T.if_then_else(bm * 64 + r >= j * 64 + c, S_l[r, c], 0.0)
            T.gemm(P_l, K_s, O_l)
        T.copy(O_l, O[h, bm * 64, 0])


@pytest.mark.parametrize("slowest", [(), ("bm",)])
def test_tiles_that_grow_are_drawn_heaviest_first(slowest):
    plan = {"causal.tiles.claim": "dynamic", "causal.tiles.slowest": slowest}
    kernel = tile.compile(causal, out_idx=-1, target=HOPPER, device="emulator", plan=plan)
    assert kernel.plan.value("causal.tiles.descending", ()) == ("bm",)
    rng = np.random.default_rng(1)
    q, k = (rng.integers(-1, 2, (3, 200, 64)).astype(np.float16) for _ in range(2))
    scores = np.einsum("hid,hjd->hij", q.astype(np.float64), k.astype(np.float64))
    want = np.einsum("hij,hjd->hid", np.tril(scores), k.astype(np.float64))
    for schedule in SCHEDULES:
        with options(schedule=schedule):
            assert np.array_equal(kernel(q, k), want)


PAIRED = {"tiles__cluster": ("by", 2, "B_s"), "tiles__raster": "row", "tiles__panel": 2}


@pytest.mark.parametrize("claim", ["static", "hardware"])
@pytest.mark.parametrize(("m", "n"), [(256, 152), (200, 192), (512, 64)])
def test_pairs_of_blocks_bring_an_operand_together(claim, m, n):
    kernel = compiled(product(m, n, 104), tiles__claim=claim, **PAIRED)
    source = kernel.get_kernel_source()
    assert "__cluster_dims__(2, 1, 1)" in source
    assert "tile_box_multicast_2d(&B_s" in source
    a, b, want = operands(m, n, 104)
    for schedule in SCHEDULES:
        with options(schedule=schedule):
            assert np.array_equal(kernel(a, b), want)


@pytest.mark.parametrize(("m", "n"), [(256, 152), (512, 192)])
def test_pairs_of_blocks_draw_together(m, n):
    kernel = compiled(product(m, n, 104), tiles__claim="dynamic", **PAIRED)
    pairs = m // 64 * -(-n // 64) // 2
    assert f"tile_claim(drawn, {pairs}, (int)gridDim.x / 2)" in kernel.get_kernel_source()
    a, b, want = operands(m, n, 104)
    for schedule in SCHEDULES:
        with options(schedule=schedule, workers=2):
            assert np.array_equal(kernel(a, b), want)
        assert kernel.compiled.launch.counters["product"]["atomics"] == pairs


def test_an_odd_number_of_tiles_has_no_pairs():
    with pytest.raises(TileError) as caught:
        compiled(product(320, 64, 104), tiles__claim="static", **PAIRED)
    assert caught.value.code == "E0702"
    assert caught.value.notes == ("5 tiles along by leave one without a partner",)
