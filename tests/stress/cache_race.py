"""Many processes race for the kernels of one cold cache, and some are killed as they build.

    python tests/stress/cache_race.py [--processes 64] [--kernels 50] [--limit-mb 20] [--kills 20]

Every process compiles every kernel in an order of its own and checks its results. Processes are
killed with SIGKILL at random times and started again. In the end: every result was right, the index
agrees with the folders, nothing but whole entries is left, and a second pass builds nothing that is
still there (all of it, unless the limit is smaller than the kernels).
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from typing import TYPE_CHECKING

import numpy as np

import tile_frontend as tile
import tile_frontend.language as T
from tile_frontend import cache_index, knobs

if TYPE_CHECKING:
    from pathlib import Path

COUNTED = "kernels {built} built, {found} found"


def kernel_of(number: int):
    """A program like no other."""

    @T.prim_func
    def scaled(A: T.Tensor((64,), T.float32), B: T.Tensor((64,), T.float32)):
        with T.Kernel(1):
            for i in T.Parallel(64):
                B[i] = A[i] * (number + 1)

    return scaled


def work(seed: int, kernels: int) -> int:
    """One process: compile and check every kernel; print how many were built."""
    order = list(range(kernels))
    random.Random(seed).shuffle(order)
    built = found = 0
    a = np.arange(64, dtype=np.float32)
    for number in order:
        kernel = tile.compile(kernel_of(number), target="cpu")
        b = np.full(64, np.nan, np.float32)
        kernel(a, b)
        if not (b == a * (number + 1)).all():
            print(f"kernel {number} is wrong: {b[:4]}", file=sys.stderr)
            return 1
        built, found = built + (not kernel.compiled.cached), found + kernel.compiled.cached
    print(COUNTED.format(built=built, found=found))
    return 0


def start(seed: int, kernels: int) -> subprocess.Popen[str]:
    """A process on its way."""
    command = [sys.executable, "-W", "error", __file__, "--seed", str(seed)]
    command += ["--kernels", str(kernels)]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True)


def race(options: argparse.Namespace) -> list[str]:
    """Run all processes, kill some, and return what went wrong."""
    rng = random.Random(options.random)
    running = {i: start(i, options.kernels) for i in range(options.processes)}
    killed, troubles = 0, []
    while running:
        if killed < options.kills:
            time.sleep(rng.uniform(0.0, 0.4))
            victim = rng.choice(list(running))
            running[victim].send_signal(signal.SIGKILL)
            killed += 1
        for seed, process in list(running.items()):
            if process.poll() is None:
                continue
            _, errors = process.communicate()
            del running[seed]
            if process.returncode == -signal.SIGKILL:
                running[seed] = start(seed, options.kernels)
            elif process.returncode:
                troubles.append(f"process {seed}: {errors.strip()[-800:]}")
        time.sleep(0.02)
    print(f"{options.processes} processes, {options.kernels} kernels, {killed} killed")
    return troubles


def left_over(root: Path, limit_mb: float) -> list[str]:
    """What the race should not have left. Rooms of killed processes go with the next build."""
    tile.compile(kernel_of(-1), target="cpu")
    troubles = [f"left: {p.name}" for p in root.iterdir() if p.name.startswith(".")]
    whole = [p for p in root.iterdir() if (p / cache_index.META).exists()]
    troubles += [f"no entry: {p}" for p in set(root.iterdir()) - set(whole)]
    size = sum(f.stat().st_size for p in whole for f in p.iterdir())
    if size > limit_mb * (1 << 20):
        troubles.append(f"{size} bytes are kept, more than {limit_mb} MB")
    known = cache_index.total_bytes(root)
    if known != size:
        troubles.append(f"the index knows of {known} bytes, the folders hold {size}")
    if len(cache_index.rows(root)) != len(whole):
        troubles.append("the index lists other entries than there are")
    print(f"{len(whole)} entries, {size / 1e6:.2f} MB")
    return troubles


def second_pass(kernels: int, here: int) -> list[str]:
    """One more process finds everything that is kept, and builds only what was evicted."""
    process = start(0, kernels)
    output, errors = process.communicate()
    expected = COUNTED.format(built=kernels - here, found=here)
    print(f"second pass: {output.strip()}")
    return [] if output.strip() == expected else [f"expected: {expected}", errors]


def main() -> int:
    """Run the race; 0 if nothing is wrong."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--processes", type=int, default=64)
    options.add_argument("--kernels", type=int, default=50)
    options.add_argument("--limit-mb", type=float, default=20.0)
    options.add_argument("--kills", type=int, default=20)
    options.add_argument("--random", type=int, default=0, help="seed of the kills")
    options.add_argument("--seed", type=int, help="be one of the processes")
    chosen = options.parse_args()
    if chosen.seed is not None:
        return work(chosen.seed, chosen.kernels)
    with tempfile.TemporaryDirectory() as folder:
        os.environ.update(TILE_CACHE_DIR=folder, TILE_CACHE_LIMIT_MB=str(chosen.limit_mb))
        os.environ["TILE_NUM_THREADS"] = "1"
        troubles = race(chosen)
        root = knobs.cache_dir()
        troubles += left_over(root, chosen.limit_mb)
        os.environ["TILE_CACHE_LIMIT_MB"] = "1024"
        troubles += second_pass(chosen.kernels, len(cache_index.rows(root)) - 1)
    print("\n".join(troubles) or "every result right, index consistent, nothing left behind")
    return 1 if troubles else 0


if __name__ == "__main__":
    raise SystemExit(main())
