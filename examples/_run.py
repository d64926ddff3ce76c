"""What the examples share: cases of a kernel, their check against float64, and the command line.

An example ends with `CASES = [Case(...), ...]` and `main(CASES)`; README.md describes both.
"""

import argparse
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np

import tile_frontend as tile


@dataclass(frozen=True, kw_only=True)
class Case:
    """A kernel with inputs, what it should compute, and how far it may be off.

    `|got - want| <= rtol * |want| + atol`, element by element; both are 0 where results are exact.
    """

    kernel: Any
    """A function under `@tile.jit` in the eager style."""
    inputs: Callable[[np.random.Generator], tuple[Any, ...]]
    """Makes the positional arguments of the kernel."""
    reference: Callable[..., Any]
    """The same arguments, floats in float64 -> the expected output, or a tuple of them."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """Python arguments of the kernel, given by keyword."""
    tiles: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """More of them, tile sizes, for architectures whose blocks have less memory or registers."""
    writes: tuple[int, ...] = ()
    """Positions of inputs that the kernel changes: outputs, after those that it returns."""
    rtol: float = 0.0
    atol: float = 0.0
    only: tuple[str, ...] = ()
    """The architectures that can have it; none: every one, and processors."""
    emulate: bool = True
    """Whether the tests run it in the emulator too: small cases that take other paths."""
    name: str = ""
    """What tells it from the other cases of the file."""

    def options_for(self, target: str) -> dict[str, Any]:
        """The options for a target, with its own tile sizes."""
        return {**self.options, **self.tiles.get(target.partition("-arch=")[2], {})}

    def runs_on(self, arch: str) -> bool:
        """Whether an architecture can have it, such as `sm_90a`, or `cpu`."""
        return not self.only or arch in self.only


def unit(dtype: Any) -> float:
    """The distance from 1 to the next number of a float type: twice the error of one rounding."""
    known = np.dtype(dtype)
    if known.isbuiltin == 1:
        return float(np.finfo(known).eps)
    import ml_dtypes  # only narrow floats ask for it

    return float(ml_dtypes.finfo(known).eps)


EPSILON = float(np.finfo(np.float32).eps)


def sum_error(terms: float, scale: float = 1.0, eps: float = EPSILON) -> float:
    """How far a sum of `terms` numbers of size `scale` and any sign may be off, which is kept with
    the precision `eps`, that of float32 if nothing is said.

    A partial sum of n terms is about sqrt(n), so each of n roundings errs by eps / 2 * sqrt(n) at
    most, and all together, being independent, by about eps / 4 * n. The largest of many such sums
    is some standard deviations away, so this is eight times that.
    """
    return 2 * eps * (terms + 8) * scale


def normal(rng: np.random.Generator, *shape: int, dtype: Any = np.float32) -> np.ndarray:
    """Numbers of mean 0 and variance 1."""
    return rng.standard_normal(shape, dtype=np.float32).astype(dtype)


@cache
def built_for(kernel: Any, target: str, device: str | None) -> Any:
    """The kernel for a target, and for what stands in for its device."""
    return tile.jit(target=target, device=device)(kernel.fn)


def check(case: Case, target: str, device: str | None = None) -> float:
    """Run a case and compare; return the largest error, as a part of what is allowed."""
    given = case.inputs(np.random.default_rng(0))
    wanted = case.reference(*(_widened(a) for a in given))
    on_host = target.startswith("cpu") or device is not None
    args = [_copied(a) if on_host else _sent(a) for a in given]
    result = built_for(case.kernel, target, device)(*args, **case.options_for(target))
    returned = [] if result is None else result if isinstance(result, (list, tuple)) else [result]
    got = [_fetched(a) for a in (*returned, *(args[i] for i in case.writes))]
    expected = wanted if isinstance(wanted, tuple) else (wanted,)
    assert len(got) == len(expected), f"{len(got)} outputs, {len(expected)} expected"
    return max(_error(case, g, w) for g, w in zip(got, expected, strict=True))


def _error(case: Case, got: np.ndarray, want: Any) -> float:
    got, want = _widened(got), np.asarray(want)
    assert got.shape == want.shape, f"{got.shape} where {want.shape} is expected"
    off = np.abs(got - want)
    allowed = case.rtol * np.abs(want) + case.atol
    off[(got == want)] = 0  # infinities
    worst = np.unravel_index(np.argmax(np.nan_to_num(off - allowed, nan=np.inf)), off.shape)
    assert off[worst] <= allowed[worst], (
        f"{case.kernel.__name__} {case.name}: {got[worst]} where {want[worst]} is expected, "
        f"at {tuple(map(int, worst))}; {(~(off <= allowed)).sum()} of {off.size} are off"
    )
    return float((off / np.maximum(allowed, np.finfo(np.float64).tiny)).max())


def _widened(a: Any) -> Any:
    """Floats in float64; integers as wide as they need for a difference."""
    if not isinstance(a, np.ndarray):
        return a
    return a.astype(np.int64 if a.dtype.kind in "iub" else np.float64)


def _copied(a: Any) -> Any:
    return a.copy() if isinstance(a, np.ndarray) else a


def _sent(a: Any) -> Any:
    """The same array in torch, on a GPU; torch takes narrow floats as bits."""
    if not isinstance(a, np.ndarray):
        return a
    import torch  # only a device asks for it

    if a.dtype.isbuiltin == 1:
        return torch.from_numpy(a).cuda()
    bits = torch.from_numpy(a.view(f"u{a.itemsize}")).cuda()
    return bits.view(getattr(torch, a.dtype.name))


def _fetched(a: Any) -> Any:
    if isinstance(a, np.ndarray):
        return a
    a = a.detach().cpu()
    return (a.double() if a.is_floating_point() else a).numpy()


def main(cases: Sequence[Case]) -> None:
    """Check every case on `--target` and print one line: what ran, its error, and the time."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--target", default="cpu", help='as in "cuda -arch=sm_90a"')
    parser.add_argument("--device", help='"emulator" runs the code of a GPU on this processor')
    given = parser.parse_args()
    start = time.perf_counter()
    worst = max(check(case, given.target, given.device) for case in cases)
    names = dict.fromkeys(case.kernel.__name__ for case in cases)
    took = time.perf_counter() - start
    print(
        f"{', '.join(names)} on {given.target}: {len(cases)} cases agree with float64, "
        f"{worst:.0%} of the tolerance, {took:.1f} s with compilation"
    )
