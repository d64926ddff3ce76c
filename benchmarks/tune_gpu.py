"""Tune the measured kernels on this GPU, shape by shape, and write the choices as a table to ship.

Candidates are those that the compiler takes without a spill on the architecture; the entry that the
target ships is one of them, so a run never makes things worse. They are compiled in as many
processes as there are cores, and checked and timed in one; two problems are under way at a time,
so that one is built while the other is measured. What the time does not suffice for keeps the
shipped entry. A row compares the new choice with the shipped one, both measured here.

    python benchmarks/tune_gpu.py --seconds 300 --table FILE --json FILE --check
"""

from __future__ import annotations

import os
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from time import monotonic
from typing import Any

from gpu import ATTENTION_CASES, GEMM_SHAPES, TOKENS, gpu
from report import Row, finish, parser, versions

import tile_tune
from tile_ir.diag import TileError
from tile_ir.plugin import load
from tile_tune import Configuration, Database, ProcessExecutor, export_table, import_table
from tile_tune.intervals import interval
from tile_tune.tables import shipped

sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))
from attention_tuned import attention
from gemm_tuned import matmul

ENOUGH = 0.98
"""A new choice may be measured this much slower than the shipped one: noise of the device."""
CUTOFF = 1.3
"""A candidate so many times slower than the best is not timed further."""


def products() -> Iterator[dict[str, Any]]:
    """Tiles of C, how deep, copies in flight; then other orders of the tiles on the device."""
    for m, n, k, stages, threads in (
        (128, 256, 64, 4, 256),
        (256, 128, 64, 4, 256),
        (128, 256, 32, 6, 256),
        (128, 256, 128, 2, 256),
        (256, 192, 64, 3, 256),
        (128, 192, 64, 5, 256),
        (192, 128, 64, 4, 384),
        (128, 128, 64, 6, 256),
        (64, 256, 64, 4, 128),
    ):
        yield {"block_M": m, "block_N": n, "block_K": k, "stages": stages, "threads": threads}
    largest = {"block_M": 128, "block_N": 256, "block_K": 64, "stages": 4, "threads": 256}
    for pins in (
        {"matmul.tiles.panel": 8},
        {"matmul.tiles.panel": 32},
        {"matmul.tiles.claim": "hardware"},
        {"matmul.tiles.cluster": ("by", 2, "B_s")},
    ):
        yield {**largest, "plan": pins}


def attentions(dim: int) -> Iterator[dict[str, Any]]:
    """Tiles of queries and keys, and who hands the tiles out. Where a head has 128 numbers, three
    groups of warps have too few registers for long tiles of keys."""
    for m, n, stages, threads in (
        (128, 128, 2, 256),
        (192, 128, 2, 384),
        (128, 176, 2, 256),
        (128, 160, 2, 256),
        (128, 96, 2, 256),
        (128, 64, 3, 256),
        (192, 80, 2, 384),
        (192, 64, 3, 384),
        (64, 128, 2, 128),
    ):
        if dim == 128 and (m, n) == (192, 128):
            continue
        tiles = {"block_M": m, "block_N": n, "stages": stages, "threads": threads}
        yield tiles
        if n == 128 and threads != 128:
            for claim in ("hardware", "static", "dynamic"):
                yield {**tiles, "plan": {"attention.tiles.claim": claim}}


def product(a: Any, b: Any) -> Any:
    return a @ b


def product_transposed(a: Any, b: Any) -> Any:
    return a @ b.T


def full(q: Any, k: Any, v: Any) -> Any:
    import torch

    return torch.nn.functional.scaled_dot_product_attention(q, k, v)


def causal(q: Any, k: Any, v: Any) -> Any:
    import torch

    return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)


@dataclass(frozen=True)
class Case:
    """One entry of the table; `work` in floating-point operations."""

    name: str
    kernel: Any
    space: tuple[dict[str, Any], ...]
    reference: Any
    shapes: tuple[tuple[int, ...], ...]
    dtype: str
    flag: bool
    work: float

    def arguments(self) -> tuple[Any, ...]:
        """Tensors that only show what they are like, and the rest."""
        import torch

        kind = getattr(torch, self.dtype)
        made = (torch.empty(shape, dtype=kind, device="cuda") for shape in self.shapes)
        return (*made, self.dtype, self.flag)


def cases() -> Iterator[Case]:
    """Every shape; small ones first, so that a short run has most of them."""
    for d, masked, s in ATTENTION_CASES:
        shape = (TOKENS // s, 2048 // d, s, d)
        work = 4 * TOKENS * 2048 * s / (2 if masked else 1)
        yield Case(
            *(f"attention d{d} {'causal' if masked else 'full'} {s}", attention),
            *(tuple(attentions(d)), causal if masked else full, (shape,) * 3, "float16"),
            *(masked, work),
        )
    for m, n, k in sorted(GEMM_SHAPES, key=lambda mnk: mnk[0] * mnk[1] * mnk[2]):
        for dtype in ("float16", "bfloat16"):
            for turned in (False, True):
                short = f"{dtype.replace('float', 'f')} {'NT' if turned else 'NN'}"
                shapes = ((m, k), (n, k) if turned else (k, n))
                reference = product_transposed if turned else product
                yield Case(
                    *(f"gemm {short} {m}x{n}x{k}", matmul, tuple(products()), reference),
                    *(shapes, dtype, turned, 2.0 * m * n * k),
                )


class Run:
    """One run: where trials go, what was found."""

    def __init__(self, database: Database, seconds: float, workers: int) -> None:
        self.database = database
        self.end = monotonic() + seconds
        self.builders = ProcessExecutor(workers)
        self.runner = ProcessExecutor(1)
        self.rows: list[Row] = []
        self.left_out: list[str] = []
        """Cases without a new choice, for want of time or of a candidate that works."""
        self.lock = threading.Lock()

    def tune(self, case: Case) -> None:
        """Tune one case, if there is time left."""
        if monotonic() > self.end:
            self.left_out.append(case.name)
            return
        kernel = tile_tune.autotune(
            configs=list(case.space),
            key=case.kernel.key,
            bucket=case.kernel.bucket,
            database=self.database.path,
            reference=case.reference,
            executor=self.runner,
            builders=self.builders,
            searcher="exhaustive",
            cutoff=CUTOFF,
            progress="silent",
        )(case.kernel.kernel)
        arguments = case.arguments()
        before = kernel.known(*arguments)
        old = Configuration() if before is None else before.configuration
        try:
            found = kernel.tune(*arguments)
        except TileError as error:  # the other shapes are tuned all the same
            self.left_out.append(f"{case.name} ({error})")
            return
        result = kernel.results[found.key]
        with self.lock:
            self.database.record(
                replace(found, provenance={**found.provenance, **where()}), replace_old=True
            )
            self.rows.append(row(case, result, old))
            print(f"{case.name}: {found.configuration}, {result.counts()}", flush=True)

    def close(self) -> None:
        """End the processes."""
        self.builders.kill()
        self.runner.kill()


def row(case: Case, result: Any, old: Configuration) -> Row:
    """The new choice beside the old one, where that was measured too."""
    ours = result.interval.median
    measured = {t.configuration: t.median for t in result.trials if t.is_measured}
    measured |= {c: interval(times).median for c, times in result.turns.items()}
    theirs = measured.get(old)
    rate, peer = (case.work / ms / 1e9 if ms else 0.0 for ms in (ours, theirs))
    ratio, bar = (1.0, 0.0) if theirs is None else (theirs / ours, ENOUGH)
    return Row(case.name, rate, peer, "shipped", "TFLOP/s", ratio, bar, note=str(result.best))


def where() -> dict[str, Any]:
    """What the numbers hold for besides the device's name."""
    return {"by": "benchmarks/tune_gpu.py", **gpu(), **versions("torch", "nvidia-cuda-nvrtc")}


def written(path: Path, database: Database) -> int:
    """Write the new choices and the shipped ones of other shapes; how many there are."""
    new = {r.key for r in database.records()}
    places = {(k.digest, k.bucket, k.target) for k in new}
    for table in shipped(load("tile.targets", "cuda")):
        import_table(table, database)
    return export_table(
        path,
        database,
        lambda r: r.key in new or (r.key.digest, r.key.bucket, r.key.target) not in places,
    )


def main(chosen: Sequence[str] | None = None) -> int:
    """Tune, write the table, print the rows."""
    options = parser(__doc__)
    options.add_argument("--seconds", type=float, default=300, help="begin no case after so many")
    options.add_argument("--table", type=Path, required=True, help="write the table here")
    options.add_argument("--workers", type=int, default=max(1, (os.cpu_count() or 2) - 2))
    args = options.parse_args(chosen)
    with tempfile.TemporaryDirectory() as folder:
        os.environ.setdefault("TILE_CACHE_DIR", str(Path(folder) / "kernels"))
        database = Database(Path(folder) / "tuning.sqlite3")
        run = Run(database, args.seconds, args.workers)
        try:
            with ThreadPoolExecutor(2) as pool:
                for _ in pool.map(run.tune, [c for c in cases() if args.only in c.name]):
                    pass
        finally:
            run.close()
        count = written(args.table, database)
    print(f"{args.table}: {count} entries")
    if run.left_out:
        print(f"as shipped: {', '.join(run.left_out)}")
    used = versions("tile-tune", "tile-cuda", "torch", "nvidia-cuda-nvrtc") | gpu()
    return finish(run.rows, args, used)


if __name__ == "__main__":
    raise SystemExit(main())
