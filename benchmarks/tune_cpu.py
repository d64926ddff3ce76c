"""Tuning a GEMM on the CPU: what a search finds, and how long it takes beside trying everything.

The space has 200 members, of parameters and pins. All of them are built, checked and timed by the
exhaustive strategy; then the model-guided one searches from nothing, three times with other seeds,
each with an empty cache of kernels. The first of these is repeated on a Dask cluster of three
workers, one of which is killed while it has trials. At the end the winners run in turns with the
exhaustive best.

Then what must not harm a run: candidates that end their process, loop for ever or give wrong
values; and a second process, which has to find the choice in the database and measures nothing.

    python benchmarks/tune_cpu.py --json FILE --check
"""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from cpu_kernels import matmul
from report import Row, finish, parser, versions

import tile_frontend as tile
import tile_frontend.language as T
from tile_tune import Configuration, DaskExecutor, Database, Result, Space, Tuner, autotune
from tile_tune.autotuned import record_of
from tile_tune.bench import measure
from tile_tune.identity import key_for
from tile_tune.intervals import interval, ratio_interval
from tile_tune.problem import problem_for
from tile_tune.progress import Silent

N = 768
SPACE = Space.product(
    {
        "block_M": [14, 28, 56, 112, 224],
        "block_N": [32, 64, 128, 256, 512],
        "block_K": [64, 768],
    },
    # Two decisions that the planner takes well by itself: a search has to leave them to it.
    {"matmul.tiles.strip": [None, "none"], "matmul.k.merge": [None, 1]},
)
SEEDS = (0, 1, 2)
TRIALS = 40
COMPARED = 41
QUALITY_BAR = 0.97
TIME_BAR = 4.0
WORKERS = 3


def product(A, B):
    return A @ B


def arguments() -> dict[str, object]:
    a = np.ones((N, N), np.float32)
    return {"A": a, "B": a, "dtype": "float32"}


def search(**options: object) -> Result:
    """One search that finds no kernel in the cache."""
    with tempfile.TemporaryDirectory() as folder:
        before = os.environ.get("TILE_CACHE_DIR")
        os.environ["TILE_CACHE_DIR"] = folder
        try:
            found = Tuner(
                kernel=matmul,
                space=SPACE,
                arguments=arguments(),
                reference=product,
                **{"progress": "plain", **options},
            ).run()
        finally:
            del os.environ["TILE_CACHE_DIR"]
            if before is not None:
                os.environ["TILE_CACHE_DIR"] = before
    return found


def compared(winners: list[Configuration]) -> list[list[float]]:
    """Milliseconds of each, in turns."""
    problem = problem_for(matmul, arguments(), reference=product)
    return measure(problem.key, problem, winners, COMPARED, 1)


class Killer(Silent):
    """Kills a worker once some candidates have times."""

    def __init__(self, victim: int) -> None:
        self.victim, self.seen, self.killed = victim, 0, False

    def changed(self, trial: Any, best_ms: float, done: int) -> None:
        self.seen += trial.is_measured
        if self.seen >= TRIALS // 4 and not self.killed:
            os.kill(self.victim, signal.SIGKILL)
            self.killed = True


def on_a_cluster(seed: int) -> Result:
    """The search on three workers. All compile; one is tagged to check and to time, for they share
    the cores of this machine, and that one is lost."""
    from distributed import Client, LocalCluster

    options = {"n_workers": 0, "threads_per_worker": 1, "dashboard_address": None}
    with LocalCluster(processes=True, **options) as cluster, Client(cluster) as client:
        plain = cluster.new_spec
        tagged = {**plain["options"], "resources": {"timing": 1}}
        cluster.new_spec = {**plain, "options": tagged}
        cluster.scale(1)
        client.wait_for_workers(1)
        (victim,) = client.run(os.getpid).values()
        cluster.new_spec = plain
        cluster.scale(WORKERS)
        client.wait_for_workers(WORKERS)
        killer = Killer(victim)
        found = search(
            searcher="guided",
            trials=TRIALS,
            seed=seed,
            builders=DaskExecutor(client),
            executor=DaskExecutor(client, resources={"timing": 1}),
            progress=killer,
        )
    assert killer.killed
    return found


@tile.jit(target="cpu")
def broken(A, B, dtype, fault="wrong"):
    M, N, K = T.const("M, N, K")
    A: T.Tensor((M, K), dtype)
    B: T.Tensor((K, N), dtype)
    C = T.empty((M, N), dtype)
    if fault == "crash":
        ctypes.string_at(0)
    with T.Kernel(1):
        turns = T.alloc_var(T.int32)
        turns = 1
        if fault == "loop":
            while turns > 0:
                turns = 1 + M * 0
        for i, j in T.Parallel(M, N):
            C[i, j] = A[i, 0] * B[0, j]
    return C


def candidate(A, B, dtype, fault="none", **tiles):
    """The product, or one of the broken ones."""
    if fault == "none":
        return matmul.get_tir(A, B, dtype=dtype, **tiles)
    return broken.get_tir(A, B, dtype=dtype, fault=fault)


def harmless() -> Iterator[Row]:
    """Broken candidates among good ones: what is said of each, and that a good one is chosen."""
    good = [c.arguments for c in SPACE.members[:2]]
    found = Tuner(
        kernel=candidate,
        space=[*good, *({"fault": f} for f in ("crash", "loop", "wrong"))],
        arguments=arguments(),
        reference=product,
        searcher="exhaustive",
        timeout=3.0,
        progress="silent",
    ).run()
    assert found.best.arguments in good
    said = {t.configuration.arguments.get("fault"): t for t in found.trials}
    for fault, status in (("crash", "crashed"), ("loop", "timeout"), ("wrong", "wrong")):
        t = said[fault]
        held = float(t.status == status)
        yield Row(f"{fault}: {t.status}", held, 1.0, "survived", "", held, 1.0, t.reason[:60])


def remembered(result: Result) -> Row:
    """A process that calls the tuned kernel, with what this one found in the database."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "tuning.sqlite3"
        tuner = Tuner(kernel=matmul, space=(), arguments=arguments())
        key = key_for(matmul, tuner.arguments, tuner.chosen_target)
        Database(place).record(record_of(key, result))
        command = [sys.executable, __file__, "--second", str(place)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    wanted = f"{result.best}, 0 measured"
    held = float(done.stdout.strip() == wanted)
    note = (done.stdout or done.stderr).strip()[-80:]
    return Row("a second process", held, 1.0, "0 measured", "", held, 1.0, note)


def second(place: Path) -> None:
    """What that process does."""
    tuned = autotune(configs=SPACE, database=place, progress="silent")(matmul)
    a = arguments()["A"]
    got = tuned(a, a, dtype="float32")
    assert np.allclose(got, product(a, a))
    print(f"{tuned.best(a, a, dtype='float32')}, {len(tuned.results)} measured")


def found_rows(
    everything: Result, found: list[Result], clustered: Result, times: list[list[float]]
) -> Iterator[Row]:
    """What each search found and how long it took; `times` of the winners, in turns."""
    best = interval(times[0]).median
    for seed, result, mine in zip(SEEDS, found, times[1:], strict=False):
        ratio = ratio_interval(times[0], mine).median
        name = f"seed {seed}: {result.best} after {len(result.trials)} of 200"
        median = interval(mine).median
        yield Row(name, median, best, "exhaustive best", "ms", ratio, QUALITY_BAR)
        took, peer = result.seconds, everything.seconds
        yield Row(f"seed {seed}: time", took, peer, "exhaustive", "s", peer / took, TIME_BAR)
    ours, theirs = (interval(t).median for t in (times[-1], times[1]))
    ratio = ratio_interval(times[1], times[-1]).median
    name = f"Dask, 1 of {WORKERS} workers lost: {clustered.best}"
    yield Row(name, ours, theirs, f"seed {SEEDS[0]}", "ms", ratio, QUALITY_BAR)


def main() -> int:
    options = parser(__doc__)
    options.add_argument("--second", type=Path, help="be the second process, on this database")
    args = options.parse_args()
    if args.second:
        second(args.second)
        return 0
    assert len(SPACE.members) == 200
    everything = search(searcher="exhaustive", trials=200, cutoff=None)
    found = [search(searcher="guided", trials=TRIALS, seed=seed) for seed in SEEDS]
    medians = [t.median for t in everything.trials]
    near = sum(m <= min(medians) / QUALITY_BAR for m in medians)
    print(f"{near} of {len(medians)} candidates lie within 3% of the best", flush=True)
    clustered = on_a_cluster(SEEDS[0])
    times = compared([everything.best, *(r.best for r in found), clustered.best])
    rows = [*found_rows(everything, found, clustered, times), *harmless(), remembered(found[0])]
    return finish(rows, args, versions("tile-tune", "tile-cpu", "numpy", "distributed"))


if __name__ == "__main__":
    raise SystemExit(main())
