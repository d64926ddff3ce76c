"""The parts by themselves: pruning, lower bounds, arrays, handles, progress, reports, settings."""

import io
import sys
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tile_frontend as tile
import tile_frontend.language as T
from tile_frontend.target_select import select
from tile_ir.diag import TileError
from tile_ir.testing.specs import toy_spec
from tile_tune import Configuration, Facts, Limits, ProcessExecutor, Result, Trial, arrays, knobs
from tile_tune.handles import ByName, ByValue, handle
from tile_tune.problem import compile_with, kernel_handle
from tile_tune.progress import Plain, Rich, Silent, progress_named
from tile_tune.pruning import occupancy, pruned
from tile_tune.report import hard_coded
from tile_tune.roofline import lower_bound_ms
from tile_tune.runner import outcome


@tile.jit(target="cpu -arch=x86-64-v3")
def product(A, B, block_M=32, block_N=32, block_K=32):
    M, N, K = T.const("M, N, K")
    A: T.Tensor((M, K), T.float32)
    B: T.Tensor((K, N), T.float32)
    C = T.empty((M, N), T.float32)
    with T.Kernel(T.ceildiv(N, block_N), T.ceildiv(M, block_M)) as (bx, by):
        A_s = T.alloc_shared((block_M, block_K), T.float32)
        B_s = T.alloc_shared((block_K, block_N), T.float32)
        C_l = T.alloc_fragment((block_M, block_N), T.float32)
        T.clear(C_l)
        for k in T.Pipelined(T.ceildiv(K, block_K), num_stages=2):
            T.copy(A[by * block_M, k * block_K], A_s)
            T.copy(B[k * block_K, bx * block_N], B_s)
            T.gemm(A_s, B_s, C_l)
        T.copy(C_l, C[by * block_M, bx * block_N])
    return C


# -- pruning and bounds


def gpu():
    """An invented architecture with warps and 65536 registers a core."""
    return toy_spec("sync")


def test_occupancy_by_registers_threads_and_shared_memory():
    spec = gpu()
    assert spec.registers.per_core == 65536
    assert occupancy(Facts(), spec) is None
    assert occupancy(Facts(registers=128, threads=128), spec) == 4
    assert occupancy(Facts(registers=129, threads=128), spec) == 3  # given out in units of 8
    assert occupancy(Facts(registers=255, threads=512), spec) == 0
    half = spec.capacity("shared") // 2
    assert occupancy(Facts(registers=32, threads=128, shared=half), spec) == 2
    assert occupancy(Facts(registers=32, threads=128), select("cpu -arch=x86-64-v3").spec) is None


def test_each_rule_gives_its_reason():
    spec, limits = gpu(), Limits()
    assert pruned(Facts(registers=64, threads=128, bound_ms=1.0), spec, limits, 0.9) == ""
    assert pruned(Facts(spilled=300), spec, limits, 1.0) == "it spills 300, at most 256 are allowed"
    assert pruned(Facts(registers=255, threads=512), spec, limits, 1.0) == (
        "0 blocks fit a core: 512 threads of 255 registers, 0 bytes of shared memory"
    )
    assert pruned(Facts(bound_ms=2.0), spec, limits, 1.5) == (
        "it takes 2 ms at the machine's full rate, the best 1.5 ms"
    )
    assert pruned(Facts(bound_ms=2.0), spec, limits, float("inf")) == ""


def test_the_bound_counts_the_tiles_as_launched():
    target = select("cpu -arch=x86-64-v3")
    rates = target.spec.rates
    atom = target.spec.atoms("f32", "f32", "f32")[0]

    def bound(m, **blocks):
        fn = product.get_tir(M=m, N=64, K=96, **blocks).function
        return lower_bound_ms(fn, target.spec, {})

    flops = 2 * 64 * 64 * 96
    expected = flops / (atom.rate * rates.cores * rates.clock_hz) * 1e3
    assert bound(64) == pytest.approx(expected)
    assert bound(33) == pytest.approx(expected)  # a tile hangs over the edge: as much work
    assert bound(64, block_M=128) == pytest.approx(2 * expected)
    silent = replace(target.spec, rates=replace(rates, clock_hz=0.0))
    assert lower_bound_ms(product.get_tir(M=64, N=64, K=96).function, silent, {}) == 0.0


# -- arrays


def some_array(library):
    if library == "numpy":
        return np.arange(6, dtype=np.float32)
    torch = pytest.importorskip("torch", reason="torch is not installed")
    return torch.arange(6, dtype=torch.bfloat16)


@pytest.mark.parametrize("library", ["numpy", "torch"])
def test_arrays_are_kept_restored_and_poisoned(library):
    x = some_array(library)
    kept = arrays.keep(x)
    arrays.poison(x)
    assert bool((x != x).all())
    assert not arrays.same(x, kept)
    arrays.restore(x, kept)
    assert arrays.same(x, kept)
    arrays.randomize(x, np.random.default_rng(1))
    assert not arrays.same(x, kept)
    assert float(abs(x).max()) <= 1


def test_integers_are_poisoned_with_a_pattern():
    counts = np.zeros(3, np.int8)
    arrays.poison(counts)
    assert counts.tolist() == [0x55] * 3


def test_differences_say_where():
    a = np.array([1.0, 2.0, 3.0], np.float32)
    assert arrays.difference(a, a + 1e-4, None) == ""
    assert arrays.difference(a, np.array([1.0, 2.5, 3.0]), None) == (
        "1 of 3 elements differ: at [1] it is 2, expected 2.5"
    )
    assert arrays.difference(a, np.array([1.0, 2.5, 3.0]), (0.0, 1.0)) == ""
    gap = np.array([1.0, np.nan, 3.0], np.float32)
    assert arrays.difference(gap, a, None).endswith("expected 2; it was not written")
    assert arrays.difference(gap, gap, None) == ""
    assert arrays.difference(a[:2], a, None) == "it has shape (2,), the reference (3,)"
    assert "1 of 2" in arrays.difference(np.array([1, 2]), np.array([1, 3]), None)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64", "int32"])
def test_tensors_are_compared_where_they_are_and_in_parts(dtype, monkeypatch):
    torch = pytest.importorskip("torch", reason="torch is not installed")
    monkeypatch.setattr(arrays, "PART", 4)
    a = torch.arange(12).reshape(3, 4).to(getattr(torch, dtype))
    assert arrays.difference(a, a.clone(), None) == ""
    b = a.clone()
    b[1, 3], b[2, 2] = 70, 80
    said = "2 of 12 elements differ: at [1, 3] it is 7, expected 70"
    assert arrays.difference(a, b, None) == said
    assert arrays.difference(a, b, (0.0, 70.0)) == ""
    assert arrays.difference(a, b.double().numpy(), (0.0, 0.0)) == said
    assert arrays.difference(a[:0], b[:0], None) == ""
    if a.dtype.is_floating_point:
        arrays.poison(a[2])
        assert arrays.difference(a, a.clone(), None) == ""
        assert arrays.difference(a, b, (0.0, 70.0)).endswith("expected 8; it was not written")


@settings(derandomize=True, max_examples=50)
@given(st.lists(st.integers(-1000, 1000), min_size=1, max_size=8).filter(any))
def test_the_tolerance_grows_with_the_type(values):
    exact = np.array(values, np.float32)
    scale = float(np.abs(exact).max())
    off = exact.astype(np.float64) + 0.015 * scale
    half = exact.astype(np.float16)
    assert arrays.difference(half, off, None) == ""
    assert f"{len(values)} of {len(values)}" in arrays.difference(exact, off, None)


# -- handles


def local_kernel(factor):
    @tile.jit(target="cpu")
    def scaled(X, block=32):
        N = T.const("N")
        X: T.Tensor((N,), T.float32)
        Y = T.empty((N,), T.float32)
        with T.Kernel(T.ceildiv(N, block)) as b:
            for i in T.Parallel(block):
                Y[b * block + i] = X[b * block + i] * factor
        return Y

    return scaled


def run_it(made, x):
    """What a worker does with a handle."""
    found = made.load()
    return compile_with(found, Configuration.of({"block": 16}), {"X": x})(x)


def test_a_function_at_the_top_goes_by_name_and_file():
    made = handle(run_it)
    assert isinstance(made, ByName)
    assert (made.qualname, made.file) == ("run_it", __file__)
    assert made.load().__code__.co_name == "run_it"
    assert isinstance(kernel_handle(product), ByName)


def test_a_local_kernel_goes_by_value():
    pytest.importorskip("cloudpickle", reason="the extra tile-tune[local] is not installed")
    made = kernel_handle(local_kernel(3.0))
    assert isinstance(made, ByValue)
    x = np.ones(40, np.float32)
    assert np.array_equal(run_it(made, x), x * 3)
    with ProcessExecutor(1) as pool:
        # A function of this file has no name that another process could import it by.
        text = "compile_with(made.load(), configuration, {'X': x})(x)"
        names = {"compile_with": compile_with, "configuration": Configuration.of({"block": 16})}
        found = pool.submit(eval, text, {**names, "made": made, "x": x}).result()
    assert np.array_equal(found, x * 3)


def test_what_cannot_travel_says_so(monkeypatch):
    monkeypatch.setitem(sys.modules, "cloudpickle", None)
    with pytest.raises(TileError, match="cannot be sent to the processes") as caught:
        handle(lambda: 0)
    assert caught.value.code == "E2203"


# -- reports


def result(*times, names="abc", **changed):
    turns = {Configuration.of({"block": n}): t for n, t in zip(names, times, strict=False)}
    trials = tuple(Trial(configuration=c, samples=t) for c, t in turns.items())
    made = {"name": "k", "trials": trials, "turns": turns, "searcher": "s", "seconds": 1.0}
    return Result(**{**made, **changed})


def test_what_cannot_be_told_apart_is_said_aloud():
    best = tuple(1.0 + 0.01 * (i % 5) for i in range(21))
    alike = tuple(1.0 + 0.01 * ((i + 2) % 5) for i in range(21))
    slower = tuple(t * 1.05 for t in best)
    made = result(best, alike, slower)
    assert [dict(c.parameters)["block"] for c in made.ties] == ["b"]
    assert "not distinguishable from the best: block=b" in made.table()
    assert "1.050x  block=c" in made.table()
    assert result(best, slower).ties == ()
    assert "distinguishable" not in result(best, slower).table()


def test_ratios_are_of_times_of_one_kind():
    """The machine was slower when the finalists took turns than when all were tried."""
    a, b = (Configuration.of({"block": n}) for n in "ab")
    trials = (
        Trial(configuration=a, samples=(1.0,) * 9),
        Trial(configuration=b, samples=(1.5,) * 9),
    )
    table = result((), trials=trials, turns={a: (2.0,) * 9}).table()
    assert "1.000x  block=a  best" in table
    assert "1.500x  block=b" in table


def test_the_line_of_code():
    best = Configuration.of({"block": 64}, {"k.depth": 3})
    assert hard_coded("mm", Configuration.of({"block": 64}), ("A", "n=3")) == "mm(A, n=3, block=64)"
    assert hard_coded("mm", best, ("A",), {"target": "cpu"}) == (
        "tile.jit(plan={'k.depth': 3}, target='cpu')(mm.fn)(A, block=64)"
    )


def test_progress_lines_and_bars():
    trial = Trial(configuration=Configuration.of({"b": 1}), samples=(2.0, 1.0, 3.0))
    shown = io.StringIO()
    plain = Plain(shown)
    plain.begin("mm", 4)
    plain.changed(trial, 2.0, 1)
    plain.changed(replace(trial, samples=(5.0,)), 2.0, 2)
    plain.changed(trial.failed("crashed", "SIGSEGV"), 2.0, 3)
    plain.end(None)
    assert shown.getvalue().splitlines() == [
        "tuning mm: at most 4 candidates",
        "[1/4] 2 ms: b=1",
        "[3/4] crashed: b=1",
    ]
    pytest.importorskip("rich", reason="the extra tile-tune[progress] is not installed")
    shown = io.StringIO()
    bar = Rich(shown)
    bar.begin("mm", 4)
    bar.changed(trial, 2.0, 1)
    bar.end(result((1.0,) * 9))
    assert "k: 1 trials by s" in shown.getvalue()


def test_progress_by_name():
    assert isinstance(progress_named("silent"), Silent)
    assert isinstance(progress_named("plain"), Plain)
    with pytest.raises(TileError, match="progress='loud'") as caught:
        progress_named("loud")
    assert caught.value.code == "E2205"


def test_statuses_of_what_tasks_raise():
    assert outcome(TileError("E2216", "1 of 2 differ", help="x")) == (
        "wrong", "E2216: 1 of 2 differ",
    )  # fmt: skip
    assert outcome(ValueError("no")) == ("error", "ValueError: no")
    assert outcome(TimeoutError()) in [("timeout", "it did not end in time"),
                                       ("error", "TimeoutError: ")]  # fmt: skip


# -- settings


def test_ranks_of_the_usual_launchers(monkeypatch):
    for name in ("RANK", "WORLD_SIZE", "SLURM_PROCID", "SLURM_NTASKS"):
        monkeypatch.delenv(name, raising=False)
    assert knobs.rank() is None
    monkeypatch.setenv("SLURM_PROCID", "3")
    monkeypatch.setenv("SLURM_NTASKS", "8")
    assert knobs.rank() == 3
    monkeypatch.setenv("RANK", "0")
    monkeypatch.setenv("WORLD_SIZE", "1")
    assert knobs.rank() == 3
    monkeypatch.setenv("WORLD_SIZE", "2")
    assert knobs.rank() == 0


def test_paths_and_seconds(monkeypatch, tmp_path):
    monkeypatch.setenv("TILE_TUNE_DATABASE", str(tmp_path / "x.db"))
    assert knobs.database_path() == tmp_path / "x.db"
    monkeypatch.delenv("TILE_TUNE_DATABASE")
    monkeypatch.setenv("TILE_CACHE_DIR", str(tmp_path))
    assert knobs.database_path() == tmp_path / "tuning.sqlite3"
    monkeypatch.setenv("TILE_TUNE_WAIT", "soon")
    with pytest.raises(TileError, match="TILE_TUNE_WAIT=soon"):
        knobs.wait_seconds()
