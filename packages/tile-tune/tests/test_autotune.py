"""The decorator: tuned once, stored, found again by other processes and ranks, switched off."""

import os
import subprocess
import sys
import threading
import time
from dataclasses import replace

import numpy as np
import pytest

import tile_frontend as tile
import tile_frontend.language as T
import tile_tune
from tile_frontend.target_select import select
from tile_ir.diag import TileError
from tile_tune import Configuration, Database, ProcessExecutor, derive
from tile_tune.autotuned import Autotuned, variant
from tile_tune.database import DatabaseWarning
from tile_tune.identity import bucket, digest_of, key_for, power_of_two
from tile_tune.problem import with_options

FACTOR = 3.0


@tile.jit(target="cpu")
def scale(X, block=64, rows=1):
    N = T.const("N")
    X: T.Tensor((N,), T.float32)
    Y = T.empty((N,), T.float32)
    with T.Kernel(T.ceildiv(N, block)) as b:
        for i in T.Parallel(block):
            Y[b * block + i] = X[b * block + i] * FACTOR
    return Y


@tile.jit(target="cpu", out_idx=[-1])
def lazy(N, block=64):
    @T.prim_func
    def copied(X: T.Tensor((N,), T.float32), Y: T.Tensor((N,), T.float32)):
        with T.Kernel(T.ceildiv(N, block)) as b:
            for i in T.Parallel(block):
                Y[b * block + i] = X[b * block + i]

    return copied


@tile.jit(target="cpu")
def product(A, B, block_M=32, block_N=32, block_K=32, stages=2, threads=128, eps=1):
    M, N, K = T.const("M, N, K")
    A: T.Tensor((M, K), T.float32)
    B: T.Tensor((K, N), T.float32)
    C = T.empty((M, N), T.float32)
    with T.Kernel(T.ceildiv(N, block_N), T.ceildiv(M, block_M), threads=threads) as (bx, by):
        A_s = T.alloc_shared((block_M, block_K), T.float32)
        B_s = T.alloc_shared((block_K, block_N), T.float32)
        C_l = T.alloc_fragment((block_M, block_N), T.float32)
        T.clear(C_l)
        for k in T.Pipelined(T.ceildiv(K, block_K), num_stages=stages):
            T.copy(A[by * block_M, k * block_K], A_s)
            T.copy(B[k * block_K, bx * block_N], B_s)
            T.gemm(A_s, B_s, C_l)
        T.copy(C_l, C[by * block_M, bx * block_N])
    return C


X = np.arange(512, dtype=np.float32)


@pytest.fixture(scope="module")
def pool():
    with ProcessExecutor(1) as made:
        yield made


@pytest.fixture
def store(tmp_path, monkeypatch):
    monkeypatch.setenv("TILE_TUNE_DATABASE", str(tmp_path / "t.sqlite3"))
    monkeypatch.delenv("TILE_TUNE", raising=False)
    return Database(tmp_path / "t.sqlite3")


def tuned(inner, pool, **options):
    options.setdefault("configs", {"block": [32, 128]})
    return tile_tune.autotune(executor=pool, searcher="exhaustive", **options)(inner)


def test_the_frontend_offers_it_without_importing_it():
    assert tile.autotune is tile_tune.autotune
    code = "import sys, tile_frontend; print('tile_tune' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_a_call_tunes_once_and_later_ones_use_it(store, pool):
    kernel = tuned(scale, pool)
    assert np.array_equal(kernel(X), X * 3)
    assert len(kernel.results) == 1
    (record,) = store.records()
    assert record.key.bucket == "X:f32[512]"
    assert record.configuration == kernel.best(X)
    assert record.provenance["trials"] == {"measured": 2}
    assert np.array_equal(kernel(X + 1), (X + 1) * 3)
    kernel(X[:256].copy())
    assert [r.key.bucket for r in store.records()] == ["X:f32[256]", "X:f32[512]"]


def test_a_second_process_measures_nothing(store, pool):
    tuned(scale, pool)(X)
    other = tuned(scale, executor_that_refuses())
    assert np.array_equal(other(X), X * 3)
    assert other.results == {}


class executor_that_refuses:
    def submit(self, *args, **kwargs):
        raise AssertionError("something was measured")


SCRIPT = """
import sys, numpy as np
import tile_frontend as tile, tile_frontend.language as T

@tile.autotune(configs={"block": [32, 64]}, progress="plain")
@tile.jit(target="cpu")
def twice(X, block=16):
    N = T.const("N")
    X: T.Tensor((N,), T.float32)
    Y = T.empty((N,), T.float32)
    with T.Kernel(T.ceildiv(N, block)) as b:
        for i in T.Parallel(block):
            Y[b * block + i] = X[b * block + i] * 2.0
    return Y

if __name__ == "__main__":
    x = np.ones(200, np.float32)
    assert (twice(x) == 2).all()
    print(twice.best(x), len(twice.results))
"""


def test_two_runs_of_a_script(store, tmp_path):
    path = tmp_path / "script.py"
    path.write_text(SCRIPT)
    first, second = (
        subprocess.run([sys.executable, str(path)], capture_output=True, text=True, check=True)
        for _ in range(2)
    )
    assert "tuning twice" in first.stderr
    assert second.stderr == ""
    assert first.stdout.split()[-1] == "1"
    assert second.stdout.split()[-1] == "0"
    assert first.stdout.split()[0] == second.stdout.split()[0]


def test_two_ranks_of_a_job_use_one_choice(store, tmp_path):
    """As a launcher starts them: at once, each told its number."""
    path = tmp_path / "script.py"
    path.write_text(SCRIPT)
    ranks = [
        subprocess.Popen(
            [sys.executable, str(path)],
            env={**os.environ, "RANK": str(i), "WORLD_SIZE": "2", "MASTER_PORT": "1234"},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for i in range(2)
    ]
    (first, said), (second, quiet) = (rank.communicate(timeout=120) for rank in ranks)
    assert [rank.returncode for rank in ranks] == [0, 0], said + quiet
    assert "tuning twice" in said
    assert quiet == ""
    assert (first.split()[-1], second.split()[-1]) == ("1", "0")
    assert first.split()[0] == second.split()[0]
    assert len(store.records()) == 1


def test_off_and_cached_measure_nothing(store, pool, monkeypatch):
    kernel = tuned(scale, executor_that_refuses())
    for mode in ("off", "cached"):
        monkeypatch.setenv("TILE_TUNE", mode)
        assert kernel.best(X) == Configuration()
    monkeypatch.setenv("TILE_TUNE", "on")
    stored = tuned(scale, pool, configs=[{"block": 128}]).best(X)
    assert stored == Configuration.of({"block": 128})
    monkeypatch.setenv("TILE_TUNE", "cached")
    assert kernel.best(X) == stored
    monkeypatch.setenv("TILE_TUNE", "off")
    assert kernel.best(X) == Configuration()
    monkeypatch.setenv("TILE_TUNE", "sometimes")
    with pytest.raises(TileError, match="TILE_TUNE=sometimes") as caught:
        kernel.best(X)
    assert caught.value.code == "E2205"


def test_what_the_caller_chooses_is_not_tuned(store):
    kernel = tuned(scale, executor_that_refuses())
    assert np.array_equal(kernel(X, block=32), X * 3)
    assert kernel.results == {}


def test_the_lazy_style_returns_the_best_kernel(store, pool):
    kernel = tuned(lazy, pool)(300)
    assert np.array_equal(kernel(X[:300].copy()), X[:300])


def test_keys_and_buckets():
    arguments = {"X": X}
    assert bucket(scale, arguments) == "X:f32[512]"
    assert bucket(scale, {"X": X[:300], "rows": 3}, None, "power-of-two") == "X:f32[512], rows=4"
    assert bucket(scale, arguments, ["N"]) == "X:f32, N=512"
    assert bucket(scale, {"X": X, "rows": 2}, ["rows"]) == "X:f32, rows=2"
    assert bucket(scale, arguments, ["rows"]) == "X:f32, rows=1"
    assert bucket(scale, arguments, lambda X: power_of_two(len(X) // 3)) == "256"
    with pytest.raises(TileError, match="key names 'M'") as caught:
        bucket(scale, arguments, ["M"])
    assert caught.value.help == "there are N, X, block, rows"


def test_the_digest_follows_the_program_and_not_its_parameters(monkeypatch):
    before = digest_of(scale)
    assert digest_of(variant(scale, Configuration.of({"block": 32}, {"scale.tiles.strip": "none"})))
    assert digest_of(variant(scale, Configuration.of({"block": 32}))) == before
    assert digest_of(product) != before
    monkeypatch.setitem(scale.fn.__globals__, "FACTOR", 4.0)
    assert digest_of(scale) != before


def test_the_digest_is_the_same_for_every_python():
    """Shipped tables go by it."""
    assert digest_of(scale) == "8a7c50c8cef506fd"


def test_a_variant_has_the_configuration_as_its_defaults():
    made = variant(scale, Configuration.of({"rows": 2, "block": 16}, {"scale.tiles.strip": "none"}))
    assert made.fn.__defaults__ == (16, 2)
    assert made.options.plan == {"scale.tiles.strip": "none"}
    assert np.array_equal(made(X), X * 3)
    assert variant(scale, Configuration()) is scale
    with pytest.raises(TileError, match="cannot take A as a default"):
        variant(product, Configuration.of({"A": 1}))
    with pytest.raises(TileError, match="cannot take bogus as a default"):
        variant(scale, Configuration.of({"bogus": 1}))


def test_tables_are_used_before_anything_is_measured(store, pool, tmp_path):
    tuned(scale, pool, configs=[{"block": 128}])(X)
    tile_tune.export_table(tmp_path / "t.yaml", store)
    store.path.unlink()
    kernel = tuned(scale, executor_that_refuses(), tables=[tmp_path / "t.yaml"])
    assert kernel.best(X) == Configuration.of({"block": 128})


def test_a_target_brings_tables_of_its_own(store, pool, tmp_path):
    """They are read after everything else, and by default."""
    tuned(scale, pool, configs=[{"block": 128}])(X)
    (tmp_path / "tables").mkdir()
    tile_tune.export_table(tmp_path / "tables" / "device.yaml", store)
    store.path.unlink()
    plain = select("cpu")
    target = replace(plain, manifest=replace(plain.manifest, tables=lambda: tmp_path / "tables"))
    kernel = tuned(with_options(scale, {}, target=target), executor_that_refuses())
    assert kernel.best(X) == Configuration.of({"block": 128})
    assert kernel.known(X).source == str(tmp_path / "tables" / "device.yaml")
    assert kernel.known(X[:100]) is None
    own = tmp_path / "own.yaml"
    own.write_text((tmp_path / "tables" / "device.yaml").read_text().replace("128", "32"))
    first = tuned(kernel.kernel, executor_that_refuses(), tables=[own])
    assert first.known(X).source == str(own)


def test_tuning_anew_replaces_what_is_known(store, pool):
    tuned(scale, pool, configs=[{"block": 128}])(X)
    kernel = tuned(scale, pool, configs=[{"block": 32}])
    assert kernel.known(X).configuration == Configuration.of({"block": 128})
    assert kernel.tune(X).configuration == Configuration.of({"block": 32})
    assert kernel.best(X) == Configuration.of({"block": 32})
    assert len(store.records()) == 1


def test_a_stored_choice_that_does_not_compile_is_replaced(store, pool):
    tuned(scale, pool, configs=[{"block": 128}])(X)
    (old,) = store.records()
    bad = type(old)(
        key=old.key, configuration=Configuration.of({"block": -1}), milliseconds=1, low=1, high=1
    )
    store.record(bad, replace_old=True)
    kernel = tuned(scale, pool)
    with pytest.warns(DatabaseWarning, match="E2213.*block=-1"):
        assert np.array_equal(kernel(X), X * 3)
    assert store.find(old.key).configuration == kernel.best(X)


def test_it_goes_on_kernel_functions_only():
    with pytest.raises(TileError, match="autotune got") as caught:
        tile_tune.autotune(configs=[{}])(lambda: 0)
    assert caught.value.code == "E2201"
    assert isinstance(tile_tune.autotune(scale), Autotuned)


# -- ranks


def as_rank(monkeypatch, number):
    monkeypatch.setenv("RANK", str(number))
    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.setenv("MASTER_PORT", "1234")


def test_another_rank_waits_for_rank_0(store, pool, monkeypatch):
    as_rank(monkeypatch, 1)
    waiting = tuned(scale, executor_that_refuses())
    found = []
    thread = threading.Thread(target=lambda: found.append(waiting.best(X)))
    thread.start()
    time.sleep(0.4)
    assert found == []
    as_rank(monkeypatch, 0)
    chosen = tuned(scale, pool).best(X)
    thread.join(20)
    assert found == [chosen]


def test_a_rank_hears_of_failure_and_does_not_wait_for_ever(store, pool, monkeypatch):
    as_rank(monkeypatch, 1)
    monkeypatch.setenv("TILE_TUNE_WAIT", "0.3")
    with pytest.raises(TileError, match="rank 1 has no choice for scale") as caught:
        tuned(scale, executor_that_refuses()).best(X)
    assert caught.value.code == "E2209"
    assert caught.value.notes[0] == "rank 0 stored nothing within 0.3 s"
    as_rank(monkeypatch, 0)
    with pytest.raises(TileError, match="no configuration of scale works"):
        tuned(scale, pool, configs=[{"block": -1}]).best(X)
    as_rank(monkeypatch, 1)
    with pytest.raises(TileError) as caught:
        tuned(scale, executor_that_refuses()).best(X)
    assert caught.value.notes[0].startswith("tuning failed in rank 0: E2204")


def test_a_rank_hears_of_whatever_ended_rank_0(store, monkeypatch):
    from tile_tune.agreement import agreed

    def stopped():
        raise KeyboardInterrupt

    key = key_for(scale, {"X": X}, select("cpu"))
    as_rank(monkeypatch, 0)
    with pytest.raises(KeyboardInterrupt):
        agreed(store, key, stopped)
    as_rank(monkeypatch, 1)
    with pytest.raises(TileError) as caught:
        agreed(store, key, stopped)
    assert caught.value.notes[0].startswith("tuning failed in rank 0: KeyboardInterrupt")


def test_a_rank_does_not_take_what_it_refused(store, pool, monkeypatch):
    from tile_tune.agreement import agreed

    tuned(scale, pool, configs=[{"block": 128}])(X)
    (old,) = store.records()
    new = replace(old, configuration=Configuration.of({"block": 32}))
    as_rank(monkeypatch, 1)
    monkeypatch.setenv("TILE_TUNE_WAIT", "20")
    thread = threading.Timer(0.4, lambda: store.record(new, replace_old=True))
    thread.start()
    assert agreed(store, old.key, executor_that_refuses, old) == new
    thread.join()


# -- spaces from program and target


def test_a_space_is_derived_from_program_and_target():
    a = np.ones((256, 256), np.float32)
    space = derive(product, {"A": a, "B": a}, target="cpu -arch=x86-64-v4")
    axes = {c.name: c.values for c in space.choices}
    assert axes["stages"] == (2, 1, 3, 4, 5, 6)
    assert set(axes) == {
        "block_M",
        "block_N",
        "block_K",
        "stages",
    }  # a host has no block of threads
    assert axes["block_K"] == (32, 8, 16, 64, 128)
    assert all(n % 14 == 0 for n in axes["block_M"][1:])  # the micro-kernel has 14 rows
    assert space.first() == Configuration.of(
        {"block_M": 32, "block_N": 32, "block_K": 32, "stages": 2}
    )
    pinned = derive(product, {"A": a, "B": a}, target="cpu -arch=x86-64-v4", pins=True)
    strip = next(c for c in pinned.choices if c.name == "product.tiles.strip")
    assert strip.pin
    assert strip.values[0] is None


def test_nothing_to_derive():
    with pytest.raises(TileError, match="nothing of lazy can be tuned") as caught:
        derive(lazy, {"N": 64, "block": 32})
    assert caught.value.code == "E2202"
    (choice,) = derive(lazy, {"N": 512}).choices
    assert (choice.name, choice.values) == ("block", (64, 16, 32, 128, 256))


def test_options_that_the_tuner_does_not_have_are_refused_where_they_are_written():
    with pytest.raises(TileError) as caught:
        tile_tune.autotune(scale, configs={"block": [32]}, trails=3)
    assert caught.value.code == "E2205"
    assert caught.value.help == "did you mean 'trials'?"
    with pytest.raises(TileError, match="trials=0"):
        tile_tune.autotune(scale, configs={"block": [32]}, trials=0)
