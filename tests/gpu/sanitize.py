"""A few kernels, small, under NVIDIA's compute-sanitizer: accesses out of bounds, races.

    python tests/gpu/sanitize.py [--tools memcheck racecheck] [CASE...]

Each array has an allocation of its own, so that its end is an end for the tool too. Results are
compared as well: a tool that says nothing of a kernel that did nothing proves nothing.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import time
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import tile_frontend as tile
import tile_frontend.language as T
from tile_cuda import MANIFEST, spec
from tile_cuda.host_arch import host_arch
from tile_frontend.target_select import Target
from tile_ir.target import TargetRequest
from tile_ir.testing.by_path import module_at

if TYPE_CHECKING:
    from collections.abc import Sequence

CLEAN = {
    "memcheck": "ERROR SUMMARY: 0 errors",
    "racecheck": "RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)",
}
"""Tool -> what it says when it watched a program and found nothing."""
FAILED = 17
"""Exit status by which the tool tells what it found from a crash of the program."""
HALF = {"dtype": T.float16, "out": T.float16, "accumulate": T.float32}


HERE = Path(__file__).parent
kernels = module_at(HERE / "kernels.py")
example = module_at(HERE.parents[1] / "examples" / "quickstart.py")


def of_older(arch: str) -> Target:
    """The description of an older device, with machine code for the one at hand."""
    described = spec.load(arch)
    here = spec.load(host_arch() or "sm_90a").toolchain.cpu
    made = replace(described, toolchain=replace(described.toolchain, cpu=here))
    return Target(MANIFEST, made, TargetRequest(name="cuda", arch=arch))


def normal(*shape: int) -> Any:
    """Repeatable numbers, exact in 16 bits."""
    rng = np.random.default_rng(len(shape))
    return (rng.integers(-64, 65, shape) / 64).astype(np.float16)


def product(M: int, N: int, K: int, block: tuple[int, int, int], target: Any = "cuda") -> Any:
    """A pipelined product; what target and block make of it differs widely."""
    func = kernels.matmul.get_tir(M=M, N=N, K=K, **HALF, block=block)
    a, b = normal(M, K), normal(K, N)
    yield tile.compile(func, target=target), (a, b)
    yield a.astype(np.float64) @ b.astype(np.float64), 1e-2


def attention(length: int, dim: int) -> Any:
    """Causal attention of one head."""
    sizes = {"batch": 1, "heads": 1, "length": length, "dim": dim}
    q, k, v = (normal(1, 1, length, dim) for _ in range(3))
    func = kernels.attention.get_tir(**sizes, dtype=T.float16, causal=True)
    yield tile.compile(func, target="cuda"), (q, k, v)
    q, k, v = (x[0, 0].astype(np.float64) for x in (q, k, v))
    score = np.where(np.tri(length) > 0, q @ k.T / dim**0.5, -np.inf)
    weight = np.exp(score - score.max(-1, keepdims=True))
    yield (weight / weight.sum(-1, keepdims=True) @ v)[None, None], 1e-2


def softmax(M: int, N: int) -> Any:
    """Rows in registers and shuffles."""
    x = normal(M, N).astype(np.float32)
    yield tile.compile(example.softmax.get_tir(M=M, N=N), target="cuda"), (x,)
    weight = np.exp(x - x.max(-1, keepdims=True))
    yield weight / weight.sum(-1, keepdims=True), 1e-5


def split(M: int, N: int, K: int) -> Any:
    """Blocks that add to one result."""
    func = kernels.matmul_split.get_tir(M=M, N=N, K=K, parts=4)
    a, b = normal(M, K), normal(K, N)
    yield tile.compile(func, target="cuda"), (a, b, np.zeros((M, N), np.float32))
    yield a.astype(np.float64) @ b.astype(np.float64), 1e-4


CASES = {
    "product": partial(product, 200, 136, 192, (128, 128, 64)),
    "product of an older device": lambda: product(129, 72, 160, (64, 64, 32), of_older("sm_80")),
    "product with odd rows": partial(product, 65, 33, 47, (64, 64, 32)),
    "attention": partial(attention, 130, 64),
    "softmax": partial(softmax, 5, 1000),
    "split product": partial(split, 70, 64, 256),
}


def run(names: Sequence[str]) -> None:
    """Run cases in this process and compare; raises AssertionError for a wrong result."""
    import cupy

    cupy.cuda.set_allocator(None)
    for name in names:
        steps = CASES[name]()
        kernel, args = next(steps)
        given = [cupy.asarray(x) for x in args]
        got = kernel(*given)
        got = (given[-1] if got is None else got).get().astype(np.float64)
        want, tolerance = next(steps)
        error = float(np.abs(got - want).max() / np.abs(want).max())
        assert error < tolerance, f"{name}: relative error {error:.3g}"


def main() -> int:
    """Run the tools; the exit status counts those that found something."""
    options = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    options.add_argument("cases", nargs="*", metavar="CASE", help=", ".join(CASES))
    options.add_argument("--tools", nargs="+", choices=CLEAN, default=[*CLEAN])
    options.add_argument("--inside", action="store_true", help="run the cases, without a tool")
    args = options.parse_args()
    names = args.cases or list(CASES)
    if args.inside:
        run(names)
        return 0
    program = shutil.which("compute-sanitizer")
    if program is None:
        print("compute-sanitizer is not on the PATH", file=sys.stderr)
        return 1
    inside = [sys.executable, __file__, "--inside", *names]
    subprocess.run(inside, check=True)  # compiles everything into the cache, and is faster to fail
    failed = 0
    for tool in args.tools:
        start = time.perf_counter()
        command = [program, "--tool", tool, "--error-exitcode", str(FAILED), *inside]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        said = done.stdout + done.stderr
        good = done.returncode == 0 and CLEAN[tool] in said
        failed += not good
        print(f"{tool}: {'clean' if good else 'FAILED'} in {time.perf_counter() - start:.0f} s")
        if not good:
            print("\n".join(said.splitlines()[:60]))
    return failed


if __name__ == "__main__":
    raise SystemExit(main())
