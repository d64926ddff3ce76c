"""Tuning a GEMM on the CPU: what a search finds, and how long it takes beside trying everything.

The space has 200 members, of parameters and pins. All of them are built, checked and timed by the
exhaustive strategy; then the model-guided one searches from nothing, three times with other seeds,
each with an empty cache of kernels. At the end the winners run in turns with the exhaustive best.

    python benchmarks/tune_cpu.py --json FILE --check
"""

from __future__ import annotations

import os
import tempfile

import numpy as np
from cpu_kernels import matmul
from report import Row, finish, parser, versions

from tile_tune import Configuration, Result, Space, Tuner
from tile_tune.bench import measure
from tile_tune.intervals import interval, ratio_interval
from tile_tune.problem import problem_for

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
                progress="plain",
                **options,
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


def main() -> int:
    args = parser(__doc__).parse_args()
    assert len(SPACE.members) == 200
    everything = search(searcher="exhaustive", trials=200, cutoff=None)
    found = [search(searcher="guided", trials=TRIALS, seed=seed) for seed in SEEDS]
    medians = [t.median for t in everything.trials]
    near = sum(m <= min(medians) / QUALITY_BAR for m in medians)
    print(f"{near} of {len(medians)} candidates lie within 3% of the best", flush=True)
    times = compared([everything.best, *(r.best for r in found)])
    best = interval(times[0]).median
    rows = []
    for seed, result, mine in zip(SEEDS, found, times[1:], strict=True):
        ratio = ratio_interval(times[0], mine).median
        median = interval(mine).median
        count = len(result.trials)
        name = f"seed {seed}: {result.best} after {count} of 200"
        rows.append(Row(name, median, best, "exhaustive best", "ms", ratio, QUALITY_BAR))
        faster = everything.seconds / result.seconds
        rows.append(
            Row(
                f"seed {seed}: time",
                result.seconds,
                everything.seconds,
                "exhaustive",
                "s",
                faster,
                TIME_BAR,
            )
        )
    return finish(rows, args, versions("tile-tune", "tile-cpu", "numpy"))


if __name__ == "__main__":
    raise SystemExit(main())
