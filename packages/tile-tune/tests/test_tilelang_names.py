"""Tuning as programs written for TileLang do it: its names, options and the local functions."""

import numpy as np
import pytest

import tile_frontend as tile
import tile_frontend.language as T
import tile_tune
from tile_tune import AutoTuner, Configuration, ProcessExecutor
from tile_tune.tilelang_names import translated


@pytest.fixture(scope="module")
def pool():
    with ProcessExecutor(1) as made:
        yield made


def doubled(X):
    return X * 2


def twos(params):
    assert [p.name for p in params] == ["X"]
    return [np.full(200, 2.0, np.float32)]


def test_options_are_translated():
    given = {"ref_prog": doubled, "rtol": 0.1, "warmup": 3, "rep": 20, "timeout": 5, "trials": 9}
    assert translated(given) == {
        "reference": doubled,
        "tolerance": (0.1, 0.01),
        "timeout": 5,
        "trials": 9,
    }
    assert translated({"ref_prog": doubled, "skip_check": True}) == {}
    assert translated({"supply_prog": twos, "early_stop_factor": 2.0}) == {
        "supply": twos,
        "cutoff": 2.0,
    }


def local_program(N):
    def kernel(block=None):
        @T.prim_func
        def main(X: T.Tensor((N,), T.float32), Y: T.Tensor((N,), T.float32)):
            with T.Kernel(T.ceildiv(N, block)) as b:
                for i in T.Parallel(block):
                    Y[b * block + i] = X[b * block + i] * 2.0

        return main

    return kernel


def test_an_autotuner_over_a_local_function(pool):
    pytest.importorskip("cloudpickle", reason="the extra tile-tune[local] is not installed")
    tuner = (
        AutoTuner.from_kernel(local_program(200), [{"block": 32}, {"block": 64}])
        .set_compile_args(out_idx=[-1], target="cpu", execution_backend="auto")
        .set_profile_args(ref_prog=doubled, supply_prog=twos, warmup=1)
    )
    found = tuner.run(warmup=3, rep=20, executor=pool)
    assert found.latency > 0
    assert found.config["block"] in (32, 64)
    assert found.result.counts() == {"measured": 2}
    x = np.ones(200, np.float32)
    assert np.array_equal(found.kernel(x), x * 2)
    assert "main" in found.libcode
    assert found.func.name == "main"


@tile.jit(target="cpu", out_idx=[-1])
def copied(N, block=64):
    @T.prim_func
    def main(X: T.Tensor((N,), T.float32), Y: T.Tensor((N,), T.float32)):
        with T.Kernel(T.ceildiv(N, block)) as b:
            for i in T.Parallel(block):
                Y[b * block + i] = X[b * block + i]

    return main


def test_inputs_that_are_set(pool, monkeypatch, tmp_path):
    monkeypatch.setenv("TILE_TUNE_DATABASE", str(tmp_path / "t.sqlite3"))
    assert tile_tune.get_autotune_inputs() is None
    x = np.arange(300, dtype=np.float32)
    kernel = tile_tune.autotune(configs=[{"block": 32}], executor=pool, warmup=5)(copied)
    with tile_tune.set_autotune_inputs(x):
        assert tile_tune.get_autotune_inputs() == (x,)
        assert np.array_equal(kernel(300)(x), x)
    assert tile_tune.get_autotune_inputs() is None
    assert kernel.best(300) == Configuration.of({"block": 32})
