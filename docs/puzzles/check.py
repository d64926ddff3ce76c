"""Checks a solution of a puzzle: `python docs/puzzles/check.py 4 my_transpose.py`.

A solution is a file with a function `kernel` under `@tile.jit`. It runs on this processor and is
compared with numpy; two puzzles also look at the code for a GPU, in the emulator.
"""

import argparse
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import tile_frontend as tile
from tile_ir.testing.by_path import module_at

HOPPER = "cuda -arch=sm_90a"
Inputs = Callable[[np.random.Generator], tuple[Any, ...]]


class WrongError(Exception):
    """What a solution does not do."""


@dataclass(frozen=True)
class Puzzle:
    """Inputs for the kernel, a list of sets of them, and what it should give.

    `atol` is the difference allowed. `writes` is the position of the argument that the kernel
    changes, where it returns nothing. `extra` looks at anything else and raises `WrongError`.
    """

    inputs: tuple[Inputs, ...]
    reference: Callable[..., Any]
    atol: float = 0.0
    writes: int | None = None
    extra: Callable[[Any], None] | None = None


def whole(*shape: int, dtype: str = "float32", low: int = -8, high: int = 9) -> Inputs:
    """One array of small whole numbers: their sums and products are exact."""
    return lambda rng: (rng.integers(low, high, shape).astype(dtype),)


def both(*makers: Inputs) -> Inputs:
    """The arrays of several makers."""
    return lambda rng: tuple(a for make in makers for a in make(rng))


def normal(*shape: int, dtype: str = "float32") -> Inputs:
    """One array of normal numbers."""
    return lambda rng: (rng.standard_normal(shape).astype(dtype),)


def softmax(x: Any) -> Any:
    """Softmax of rows, in float64."""
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def causal(q: Any, k: Any, v: Any) -> Any:
    """Causal attention of one head, in float64."""
    score = q @ k.T / np.sqrt(q.shape[1])
    return softmax(np.where(np.tri(len(q), len(k)) > 0, score, -np.inf)) @ v


def one_build(kernel: Any) -> None:
    """One build has served all lengths."""
    builds = len(kernel.variants().rows)
    if builds != 1:
        raise WrongError(f"{builds} builds were made for the lengths; one is enough")


def no_race(kernel: Any) -> None:
    """The code for a GPU has no race: the emulator reports any."""
    x = np.arange(128, dtype=np.int32)
    emulated = tile.jit(target=HOPPER, device="emulator")(kernel.fn)
    compare(emulated(x), np.append(x[1:], 0), 0.0)


def skips(kernel: Any) -> None:
    """The products of masked blocks are left out."""
    size, dim = 256, 64
    emulated = tile.jit(target=HOPPER, device="emulator")(kernel.fn).compile(S=size, D=dim)
    q, k, v = (np.zeros((size, dim), np.float16) for _ in range(3))
    emulated(q, k, v)
    done = sum(c["multiply_adds"] for c in emulated.counters().values())
    full = 2 * size * size * dim
    if done > 0.7 * full:
        raise WrongError(f"{done / full:.0%} of the products of full attention are computed")


PUZZLES = {
    1: Puzzle(
        (lambda rng: (*whole(1000)(rng), *whole(1000)(rng), 3.0),), lambda x, y, a: a * x + y
    ),
    2: Puzzle((both(whole(70), whole(45)),), lambda a, b: a[:, None] + b[None, :]),
    3: Puzzle(tuple(whole(13, n) for n in (5, 64, 200)), lambda x: x.sum(axis=1), extra=one_build),
    4: Puzzle((whole(100, 70),), lambda x: x.T),
    5: Puzzle((normal(9, 1000),), softmax, atol=1e-6),
    6: Puzzle(
        (both(whole(70, 40), whole(40, 90), whole(90)),), lambda a, b, c: np.maximum(a @ b + c, 0)
    ),
    7: Puzzle(
        (both(whole(500, 48), lambda rng: (np.zeros(48, np.float32),)),),
        lambda x, total: x.sum(axis=0),
        writes=1,
    ),
    8: Puzzle((whole(128, dtype="int32"),), lambda x: np.append(x[1:], 0), extra=no_race),
    9: Puzzle((whole(6, 300),), lambda x: np.cumsum(x, axis=1)),
    10: Puzzle((both(*(normal(256, 64, dtype="float16"),) * 3),), causal, atol=2e-3, extra=skips),
}


def compare(got: Any, want: Any, atol: float) -> None:
    """Raise `WrongError` where they differ, with the first place that does."""
    got, want = np.asarray(got, np.float64), np.asarray(want, np.float64)
    if got.shape != want.shape:
        raise WrongError(f"the shape is {got.shape}, not {want.shape}")
    off = ~(np.abs(got - want) <= atol)
    if off.any():
        at = tuple(map(int, np.argwhere(off)[0]))
        raise WrongError(f"{off.sum()} of {off.size} differ: {got[at]}, not {want[at]}, at {at}")


def check(number: int, path: Path) -> None:
    """Run the solution in `path`. Raises `WrongError`, or what the compiler refuses."""
    puzzle, kernel = PUZZLES[number], module_at(path).kernel
    rng = np.random.default_rng(number)
    for inputs in puzzle.inputs:
        given = inputs(rng)
        wide = [a.astype(np.float64) if hasattr(a, "astype") else a for a in given]
        want = puzzle.reference(*wide)
        got = kernel(*given)
        compare(got if puzzle.writes is None else given[puzzle.writes], want, puzzle.atol)
    if puzzle.extra:
        puzzle.extra(kernel)


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("number", type=int, choices=PUZZLES, help="of the puzzle")
    parser.add_argument("file", type=Path, help="with a function `kernel`")
    given = parser.parse_args()
    try:
        check(given.number, given.file)
    except (WrongError, tile.TileError) as error:
        print(f"not yet: {error}")
        return 1
    print("solved")
    return 0


if __name__ == "__main__":
    sys.exit(main())
