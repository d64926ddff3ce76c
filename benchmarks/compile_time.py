"""What compiling costs: milliseconds of each stage, the first call cold and warm, and how cost
grows.

Each figure is the median of several fresh processes. Imports are done before the clock starts; the
C compiler is counted in the first call and nowhere else.

    python benchmarks/compile_time.py --json FILE --check
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from report import Row, finish, parser, versions

RUNS = 5
BUDGET_MS = {"gemm": 150.0, "attention": 300.0}
"""Trace, passes, verification and emission together, cold process, beyond imports."""
FIRST_CALL_MS = 1000.0
WARM_CALL_MS = 100.0
STAGES = ("trace", "verify", "passes", "emit")
COUNTS = (8, 16, 32, 64, 128)
TILES = (32, 64, 128, 256)


def import_target() -> None:
    """Load what a first compilation would import, so that the clock sees work only."""
    import tile_frontend.language  # noqa: F401 -- the language imports on first use
    from tile_ir.plugin import load, resolve

    for ref in load("tile.targets", "cpu").factories().values():
        resolve(ref)


def kernels() -> dict[str, tuple[object, tuple[object, ...]]]:
    """The two programs of the budget with their arguments."""
    import numpy as np
    from cpu_kernels import attention, matmul

    import tile_frontend.language as T

    square = np.ones((1024, 1024), np.float32)
    heads = np.ones((2, 8, 1024, 64), np.float32)
    return {
        "gemm": (matmul, (square, square, T.float32)),
        "attention": (attention, (heads, heads, heads)),
    }


def measure(which: str) -> dict[str, float]:
    """Milliseconds of the stages and of the whole first call, in this process."""
    import_target()
    kernel, args = kernels()[which]
    start = time.perf_counter()
    kernel.get_tir(*args)  # type: ignore[attr-defined]  # a jit function
    trace = time.perf_counter() - start
    start = time.perf_counter()
    kernel(*args)  # type: ignore[operator]  # a jit function
    first = time.perf_counter() - start
    start = time.perf_counter()
    kernel(*args)  # type: ignore[operator]  # a jit function
    again = time.perf_counter() - start
    compiled = kernel.compile(*args)  # type: ignore[attr-defined]  # a jit function
    found = {k: v * 1e3 for k, v in compiled.timings.items()}
    return found | {"trace": trace * 1e3, "first": (first - again) * 1e3}


def trace_and_lower(build: Callable[[], object]) -> float:
    """Best of three: milliseconds of tracing, passes and emission of what `build` traces."""
    from tile_frontend.driver import lowered
    from tile_frontend.target_select import select

    target = select("cpu")

    def once() -> float:
        start = time.perf_counter()
        lowered(build().function, target)  # type: ignore[attr-defined]  # a traced function
        return (time.perf_counter() - start) * 1e3

    return min(once() for _ in range(3))


def many_statements(count: int) -> object:
    """A kernel of `count` elementwise loops."""
    import tile_frontend.language as T

    @T.prim_func
    def chain(A: T.Tensor((1024,), T.float32)):
        with T.Kernel(T.ceildiv(1024, 128)) as bx:
            x = T.alloc_fragment((128,), T.float32)
            T.copy(A[bx * 128], x)
            for step in range(count):
                for i in T.Parallel(128):
                    x[i] = x[i] * 2.0 + step
            T.copy(x, A[bx * 128])

    return chain


def one_tile(block: int) -> object:
    """A matrix product with square tiles of `block`."""
    import tile_frontend.language as T

    @T.prim_func
    def product(
        A: T.Tensor((1024, 1024), T.float32),
        B: T.Tensor((1024, 1024), T.float32),
        C: T.Tensor((1024, 1024), T.float32),
    ):
        with T.Kernel(1024 // block, 1024 // block) as (bx, by):
            A_s = T.alloc_shared((block, block), T.float32)
            B_s = T.alloc_shared((block, block), T.float32)
            C_l = T.alloc_fragment((block, block), T.float32)
            T.clear(C_l)
            for k in T.Pipelined(1024 // block, num_stages=2):
                T.copy(A[by * block, k * block], A_s)
                T.copy(B[k * block, bx * block], B_s)
                T.gemm(A_s, B_s, C_l)
            T.copy(C_l, C[by * block, bx * block])

    return product


def curves() -> dict[str, dict[str, float]]:
    """Milliseconds by number of statements and by tile size."""
    import_target()
    trace_and_lower(lambda: one_tile(64))
    return {
        "statements": {str(n): trace_and_lower(lambda n=n: many_statements(n)) for n in COUNTS},
        "tile": {str(n): trace_and_lower(lambda n=n: one_tile(n)) for n in TILES},
    }


def _fresh(what: str, cache: str) -> dict[str, float]:
    env = os.environ | {"TILE_CACHE_DIR": cache}
    here = str(Path(__file__).parent)
    done = subprocess.run(
        [sys.executable, __file__, "--worker", what],
        env=env,
        cwd=here,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def _median(samples: list[dict[str, float]], key: str) -> float:
    return statistics.median(s.get(key, 0.0) for s in samples)


def _budget(name: str, ours: float, limit: float) -> Row:
    return Row(name, ours, limit, "budget", "ms", limit / ours, 1.0)


def budget_rows(which: str) -> list[Row]:
    """Stage by stage, cold; then the whole first call, cold and from the disk cache."""
    cold, warm = [], []
    for _ in range(RUNS):
        with tempfile.TemporaryDirectory() as cache:
            cold.append(_fresh(which, cache))
            warm.append(_fresh(which, cache))
    stages = {stage: _median(cold, stage) for stage in STAGES}
    print(f"{which}: " + ", ".join(f"{k} {v:.1f} ms" for k, v in stages.items()))
    rows = [_budget(f"{which}: trace to source", sum(stages.values()), BUDGET_MS[which])]
    if which == "gemm":
        rows.append(_budget("gemm: first call, cold", _median(cold, "first"), FIRST_CALL_MS))
    rows.append(_budget(f"{which}: first call, disk cache", _median(warm, "first"), WARM_CALL_MS))
    return rows


def curve_rows(found: dict[str, dict[str, float]]) -> list[Row]:
    """Growth: linear in statements (allowing 40% over), flat in the tile's size (allowing 50%)."""
    for name, curve in found.items():
        print(f"{name}: " + ", ".join(f"{n} {ms:.1f} ms" for n, ms in curve.items()))
    by_count = found["statements"]
    low, high = COUNTS[1], COUNTS[-1]
    growth = by_count[str(high)] / by_count[str(low)]
    tiles = found["tile"].values()
    spread = max(tiles) / min(tiles)
    linear = 1.4 * high / low
    return [
        Row(f"statements {low} -> {high}", growth, linear, "linear", "x", linear / growth, 1.0),
        Row(f"tile {TILES[0]} -> {TILES[-1]}", spread, 1.5, "flat", "x", 1.5 / spread, 1.0),
    ]


def main() -> int:
    """Measure in fresh processes and print one table."""
    options = parser(__doc__)
    options.add_argument("--worker", help="measure this in this process")
    args = options.parse_args()
    if args.worker:
        print(json.dumps(curves() if args.worker == "curves" else measure(args.worker)))
        return 0
    rows = [row for which in BUDGET_MS if args.only in which for row in budget_rows(which)]
    if args.only in "curves":
        with tempfile.TemporaryDirectory() as cache:
            rows += curve_rows(_fresh("curves", cache))  # type: ignore[arg-type]  # two tables
    return finish(rows, args, versions("tile-frontend", "tile-cpu", "numpy"))


if __name__ == "__main__":
    raise SystemExit(main())
