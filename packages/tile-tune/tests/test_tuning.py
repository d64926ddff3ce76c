"""Kernels on the CPU, tuned in worker processes; some candidates crash, hang or are wrong."""

import ctypes
import io
import os
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context

import numpy as np
import pytest

import tile_frontend as tile
import tile_frontend.language as T
from tile_ir.diag import TileError
from tile_tune import Configuration, Limits, ProcessExecutor, Tuner
from tile_tune.progress import Plain


@tile.jit(target="cpu")
def scaled(X, I, mode="good", block=64):
    N = T.const("N")
    X: T.Tensor((N,), T.float32)
    I: T.Tensor((N,), T.int32)
    Y = T.empty((N,), T.float32)
    if mode == "segfault":
        ctypes.string_at(0)
    with T.Kernel(T.ceildiv(N, block)) as b:
        if mode == "hang":
            k = T.alloc_var(T.int32)
            k = 1
            while k > 0:
                k = 1 + I[0] * 0
        for i in T.Parallel(block):
            at = b * block + i
            if mode == "wrong":
                Y[at] = X[at] * 2.5
            elif mode == "trap":
                Y[at] = T.cast(7 // (I[i] - I[i]), T.float32)
            elif mode == "half":
                if at < 100:
                    Y[at] = X[at] * 2.0
            elif mode == "refused":
                Y[at] = X[at, at]
            else:
                Y[at] = X[at] * 2.0
    return Y


@tile.jit(target="cpu")
def accumulated(X, Y, block=64):
    N = T.const("N")
    X: T.Tensor((N,), T.float32)
    Y: T.Tensor((N,), T.float32)
    with T.Kernel(T.ceildiv(N, block)) as b:
        for i in T.Parallel(block):
            Y[b * block + i] = Y[b * block + i] + X[b * block + i]


@tile.jit(target="cpu", out_idx=[-1])
def lazy_copy(N, block=64):
    @T.prim_func
    def copied(X: T.Tensor((N,), T.float32), Y: T.Tensor((N,), T.float32)):
        with T.Kernel(T.ceildiv(N, block)) as b:
            for i in T.Parallel(block):
                Y[b * block + i] = X[b * block + i]

    return copied


def doubled(X, I):
    return X * 2


def added(X, Y):
    Y += X


def small_inputs(X, I):
    X[...] = np.arange(len(X))
    return [X, I]


X = np.ones(512, np.float32)
I = np.arange(512, dtype=np.int32)
ARRAYS = {"X": X, "I": I}
BAD = ("wrong", "segfault", "trap", "hang", "half", "refused")


@pytest.fixture(scope="module")
def pool():
    """One process for all: starting one takes longer than the trials of a test."""
    with ProcessExecutor(1) as made:
        yield made


@pytest.fixture(scope="module")
def bad_result():
    """One search over good and bad candidates."""
    shown = io.StringIO()
    tuner = Tuner(
        kernel=scaled,
        space=[{"mode": m, "block": 64} for m in ("good", *BAD)] + [{"mode": "good", "block": 128}],
        arguments=ARRAYS,
        reference=doubled,
        searcher="exhaustive",
        timeout=2.0,
        progress=Plain(shown),
    )
    return tuner.run(), shown.getvalue()


def by_mode(result):
    trials = {t.configuration.arguments["mode"]: t for t in result.trials}
    return {mode: trials[mode] for mode in ("good", *BAD)}


def test_bad_candidates_are_reported_and_survived(bad_result):
    trials = by_mode(bad_result[0])
    assert {m: t.status for m, t in trials.items()} == {
        "good": "measured",
        "wrong": "wrong",
        "segfault": "crashed",
        "trap": "crashed",
        "hang": "timeout",
        "half": "wrong",
        "refused": "refused",
    }
    assert trials["segfault"].reason.startswith("E2214: the process died: SIGSEGV")
    assert trials["hang"].reason == "E2215: it did not end within 2 s"
    assert (
        "of 512 elements differ: at [0] it is 1.36978, expected 1.09582" in trials["wrong"].reason
    )
    assert trials["half"].reason.endswith("it was not written")
    assert trials["refused"].reason.startswith("E1201: ")
    assert bad_result[0].best.arguments["mode"] == "good"


def test_the_table_names_winner_failures_and_the_line_of_code(bad_result):
    result, shown = bad_result
    table = result.table()
    assert table in shown
    assert "tuning scaled: at most 8 candidates" in shown
    assert "8 trials by exhaustive" in table
    assert "2 crashed" in table
    block = result.best.arguments["block"]
    assert f"scaled(X, I, block={block}, mode='good')" in table
    assert result.counts() == {"measured": 2, "wrong": 2, "crashed": 2, "timeout": 1, "refused": 1}


def test_the_landscape_is_a_picture_of_what_has_times(bad_result):
    from xml.etree import ElementTree

    picture = ElementTree.fromstring(bad_result[0].landscape())
    circles = [e for e in picture.iter() if e.tag.endswith("circle")]
    assert len(circles) == 2  # one axis with two values, two candidates with times
    assert "2 of 8 candidates have times" in bad_result[0].landscape()


def test_without_a_reference_the_first_that_works_is_the_measure(pool):
    space = [{"mode": "segfault"}, {"mode": "good"}, {"mode": "good", "block": 128}]
    result = Tuner(
        executor=pool, kernel=scaled, space=space, arguments=ARRAYS, searcher="exhaustive"
    ).run()
    assert result.checked in ("those of mode=good", "those of block=128 mode=good")
    assert [t.status for t in result.trials].count("measured") == 2


def test_no_candidate_works(pool):
    space = [{"mode": "wrong"}, {"mode": "refused"}]
    with pytest.raises(TileError, match="no configuration of scaled works") as caught:
        Tuner(executor=pool, kernel=scaled, space=space, arguments=ARRAYS, reference=doubled).run()
    assert caught.value.code == "E2204"
    assert [n.partition(":")[0] for n in caught.value.notes] == ["1 wrong", "1 refused"]


def test_inputs_are_restored_between_runs(pool):
    """Each run adds X to Y: only from restored inputs are the values right."""
    arguments = {"X": X, "Y": np.zeros(512, np.float32)}
    space = {"block": [32, 64, 128, 256]}
    result = Tuner(
        executor=pool, kernel=accumulated, space=space, arguments=arguments, reference=added
    ).run()
    assert result.counts() == {"measured": 4}


def test_the_lazy_style_and_inputs_of_ones_own(pool):
    result = Tuner(
        executor=pool, kernel=lazy_copy, space={"block": [64, 128]}, arguments={"N": 300}
    ).run()
    assert result.counts() == {"measured": 2}
    assert result.code().startswith("lazy_copy(N=300, block=")
    space = {"block": [64, 128]}
    tuner = Tuner(executor=pool, kernel=scaled, space=space, arguments=ARRAYS, inputs=small_inputs)
    assert tuner.run().counts() == {"measured": 2}


def test_any_executor_runs_the_trials(pool):
    space = [{"block": 32}, {"block": 64}, {"mode": "wrong"}]
    with ThreadPoolExecutor(1) as threads:
        for executor in (threads, pool):
            tuner = Tuner(
                kernel=scaled, space=space, arguments=ARRAYS, reference=doubled, executor=executor
            )
            assert tuner.run().counts() == {"measured": 2, "wrong": 1}


def test_several_devices_share_the_trials():
    """One process for each set of variables; here they only tell the processes apart."""
    tuner = Tuner(
        kernel=scaled,
        space={"block": [32, 64, 128, 256]},
        arguments=ARRAYS,
        reference=doubled,
        environments=({"DEVICE": "0"}, {"DEVICE": "1"}),
        workers=1,
    )
    assert tuner.run().counts() == {"measured": 4}


def test_builds_may_have_an_executor_of_their_own(pool):
    with ProcessExecutor(1) as builders:
        tuner = Tuner(
            kernel=scaled,
            space=[{"block": 32}, {"block": 64}, {"mode": "segfault"}],
            arguments=ARRAYS,
            reference=doubled,
            executor=pool,
            builders=builders,
        )
        assert tuner.run().counts() == {"measured": 2, "crashed": 1}
        assert builders.submit(os.getpid).result(60) != pool.submit(os.getpid).result(60)


def test_a_pool_that_breaks_says_what_to_use():
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        tuner = Tuner(
            kernel=scaled,
            space=[{"mode": "segfault"}],
            arguments=ARRAYS,
            reference=doubled,
            executor=pool,
        )
        with pytest.raises(TileError, match="the executor is broken") as caught:
            tuner.run()
    assert caught.value.code == "E2211"
    assert "ProcessExecutor" in caught.value.help


def test_pins_are_tuned_and_shown(pool):
    from tile_tune.derived_space import pins_of

    space = [{"block": 64, "plan": {"scaled.tiles.strip": s}} for s in ("none",)] + [{"block": 64}]
    result = Tuner(
        executor=pool, kernel=scaled, space=space, arguments=ARRAYS, reference=doubled
    ).run()
    assert result.counts() == {"measured": 2}
    assert all("." in c.name for c in pins_of(scaled.compile(X, I).plan))


def test_limits_prune_before_anything_runs(pool):
    tuner = Tuner(
        executor=pool,
        kernel=scaled,
        space={"block": [32, 64]},
        arguments=ARRAYS,
        limits=Limits(spilled=-1),
    )
    with pytest.raises(TileError) as caught:
        tuner.run()
    assert "2 pruned" in caught.value.notes[0]
    assert "it spills 0, at most -1 are allowed" in caught.value.notes[0]


def test_names_that_are_no_parameters():
    with pytest.raises(TileError, match="scaled has no parameter 'blocks'") as caught:
        Tuner(kernel=scaled, space={"blocks": [1]}, arguments=ARRAYS).run()
    assert caught.value.code == "E2201"


def test_the_best_is_a_configuration_that_compiles(bad_result):
    best = bad_result[0].best
    assert isinstance(best, Configuration)
    assert np.array_equal(scaled(X, I, **best.arguments), X * 2)


@pytest.mark.parametrize(
    "setting",
    [
        {"trials": 0},
        {"trials": -3},
        {"trials": 2.5},
        {"workers": 0},
        {"seconds": -1},
        {"seconds": float("nan")},
        {"timeout": 0},
        {"build_timeout": "long"},
    ],
    ids=str,
)
def test_settings_that_allow_no_trial_are_refused(setting):
    with pytest.raises(TileError) as caught:
        Tuner(kernel=scaled, space={"block": [32]}, **setting)
    (name,) = setting
    assert caught.value.code == "E2205"
    assert caught.value.message.startswith(f"{name}=")
