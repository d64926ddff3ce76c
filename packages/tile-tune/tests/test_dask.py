"""Trials on a Dask cluster of this machine, one of whose workers is killed while they run."""

import os
import signal

import numpy as np
import pytest

import tile_frontend as tile
import tile_frontend.language as T
from tile_tune import DaskExecutor, TrialCrash, Tuner
from tile_tune.progress import Silent

distributed = pytest.importorskip(
    "distributed", reason="the extra tile-tune[dask] is not installed"
)
# What a cluster warns of on its way down is not ours.
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]


@tile.jit(target="cpu")
def repeated(X, times=1, block=64):
    N = T.const("N")
    X: T.Tensor((N,), T.float32)
    Y = T.empty((N,), T.float32)
    with T.Kernel(T.ceildiv(N, block)) as b:
        x = T.alloc_fragment((block,), T.float32)
        for i in T.Parallel(block):
            x[i] = 1.0
        for _ in T.serial(40 * times):
            for i in T.Parallel(block):
                x[i] = T.sqrt(x[i] * X[b * block + i] + 1.0) - 0.25
        for i in T.Parallel(block):
            Y[b * block + i] = X[b * block + i] + 0.0 * x[i]
    return Y


def same(X):
    return X.copy()


@pytest.fixture(scope="module")
def cluster():
    with distributed.LocalCluster(
        n_workers=3,
        threads_per_worker=1,
        dashboard_address=None,
        resources={"host": 1},
    ) as made:
        yield made


class Killer(Silent):
    """Kills one worker after the third candidate."""

    def __init__(self, victim):
        self.victim = victim

    def changed(self, trial, best_ms, done):
        if self.victim is not None and trial.is_measured:
            os.kill(self.victim, signal.SIGKILL)
            self.victim = None


def tune(executor, progress):
    return Tuner(
        kernel=repeated,
        space={"times": [8, 1, 20, 40]},  # far apart: noise does not choose
        arguments={"X": np.ones(1 << 14, np.float32)},
        reference=same,
        searcher="exhaustive",
        executor=executor,
        progress=progress,
    ).run()


def test_a_lost_worker_changes_nothing(cluster):
    with distributed.Client(cluster) as client:
        victim = next(iter(client.run(os.getpid).values()))
        killer = Killer(victim)
        result = tune(DaskExecutor(client, resources={"host": 1}), killer)
        assert killer.victim is None
        assert result.counts() == {"measured": 4}
        assert result.best == tune(None, Silent()).best
        assert result.best.arguments["times"] == 1


def test_a_crash_is_the_candidates_and_not_the_workers(cluster):
    import ctypes
    import time

    with distributed.Client(cluster) as client:
        client.wait_for_workers(3)  # the one that was killed before is replaced
        executor = DaskExecutor(client)
        before = {*client.run(os.getpid).values()}
        crash = executor.submit(ctypes.string_at, 0)
        slow = executor.submit_within(0.5, time.sleep, 60)
        with pytest.raises(TrialCrash, match="SIGSEGV"):
            crash.result(60)
        assert slow.exception(60).code == "E2215"
        assert executor.submit(pow, 2, 10).result(60) == 1024
        assert {*client.run(os.getpid).values()} == before
