"""Results beside the same program in float64, in units in the last place of their types.

One unit is the distance of the two numbers of the result's type around the exact value; a result
that is rounded correctly is at most half a unit away.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tile_ir.accuracy.double import in_double
from tile_ir.accuracy.order import Order, order_of
from tile_ir.interp import run
from tile_ir.numerics.array import convert_array
from tile_ir.types import DType, f64

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tile_ir.core import Function

__all__ = ["BOUNDS", "Accuracy", "Output", "accuracy"]

Array = np.ndarray[Any, np.dtype[Any]]

BOUNDS = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 64.0, 256.0, 1024.0)
"""Upper ends of the histogram's classes in units in the last place; one more has what is beyond."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """One result. `counts` has a number of elements for each class of `BOUNDS`, and one for those
    beyond or not finite where the exact value is (or the other way around); of integers the first
    has the equal ones, the last the others. `worst` is the greatest distance, at `index`, where the
    kernel gave `got` and float64 `want`; `mean` is over the finite elements. `relative` is the
    largest error over the root mean square of the exact values: where sums cancel, units in the
    last place say little.

    `skipped` counts elements that nothing wrote. `kind` is "float" or "whole".
    """

    name: str
    dtype: str
    kind: str
    shape: tuple[int, ...]
    counts: tuple[int, ...]
    worst: float
    mean: float
    index: tuple[int, ...]
    got: float
    want: float
    relative: float
    skipped: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Accuracy:
    """What is known of a kernel's numerics on some arguments."""

    name: str
    outputs: tuple[Output, ...]
    order: Order

    def to_json(self) -> dict[str, Any]:
        """The report as data for JSON; `bounds` are the upper ends of the histogram's classes."""
        return {**asdict(self), "bounds": list(BOUNDS)}

    def __str__(self) -> str:
        lines = [f"{self.name}: {self.order.kind}"]
        lines += [f"  {reason}" for reason in self.order.reasons]
        for out in self.outputs:
            lines += _told(out)
        return "\n".join(lines)


def _told(out: Output) -> list[str]:
    shape = "x".join(map(str, out.shape)) or "1"
    count = sum(out.counts)
    lines = [f"{out.name}: {out.dtype} {shape}, {count} elements against float64"]
    if out.skipped:
        lines.append(f"  {out.skipped} elements that nothing wrote")
    whole = out.kind != "float"
    labels = [f"<= {b:g} ulp" for b in BOUNDS] + [f"> {BOUNDS[-1]:g} ulp"]
    if whole:
        labels = ["equal", *labels[1:-1], "different"]
    for label, n in zip(labels, out.counts, strict=True):
        if n:
            share = n / count
            lines.append(f"  {label:>11} {n:>10} {share:7.2%} {'#' * round(40 * share)}".rstrip())
    if count and out.worst:
        place = ", ".join(map(str, out.index))
        far = "different" if whole else f"{out.worst:.4g} ulp"
        lines.append(f"  worst at [{place}]: {out.got!r}, exactly {out.want!r}, {far}")
    if count and not whole:
        lines.append(
            f"  mean {out.mean:.3g} ulp, largest error {out.relative:.2e} of the root mean square"
        )
    return lines


def accuracy(fn: Function, args: Mapping[str, Any], got: Mapping[str, Any]) -> Accuracy:
    """Measure results against the program in float64.

    Args:
        fn: a function at stage `tile`.
        args: the arguments as `tile_ir.interp.run` takes them, as they were before the call.
        got: results and buffers that the kernel wrote, by name, in the containers of their types.

    Raises:
        TileError: E0519 for a program that reads the bits of floats, and as `run` does.
    """
    types = {p.name: p.buffer.dtype for p in fn.params if p.buffer is not None}
    given = {n: _widened(v, types[n]) if n in types else v for n, v in args.items()}
    want = run(in_double(fn), given, lines=[])
    outputs = tuple(_output(n, got[n], exact, types[n]) for n, exact in want.items())
    return Accuracy(name=fn.name, outputs=outputs, order=order_of(fn))


def _widened(value: Any, dt: DType) -> Any:
    return convert_array(value, dt.scalar, f64) if dt.is_float else value


def _output(name: str, got: Any, want: Array, dt: DType) -> Output:
    seen = np.asarray(got)
    exact = np.asarray(want)
    relative = 0.0
    if dt.is_float:
        values = convert_array(seen, dt.scalar, f64)
        distance = _distance(values, exact, dt)
        written = ~np.isnan(exact) | ~np.isnan(values)
        relative = _relative(values, exact)
    else:
        values = seen
        distance = np.where(seen == exact, 0.0, np.inf)
        written = np.ones(seen.shape, np.bool_)
    far = distance[written]
    index = _worst(np.where(written, distance, -1.0))
    finite = far[np.isfinite(far)]
    return Output(
        name=name,
        dtype=dt.name,
        kind="float" if dt.is_float else "whole",
        shape=tuple(seen.shape),
        counts=_counts(far),
        worst=float(far.max()) if far.size else 0.0,
        mean=float(finite.mean()) if finite.size else 0.0,
        index=index,
        got=float(values[index]) if far.size else 0.0,
        want=float(exact[index]) if far.size else 0.0,
        relative=relative,
        skipped=int(written.size - far.size),
    )


def _relative(got: Array, want: Array) -> float:
    finite = np.isfinite(got) & np.isfinite(want)
    if not finite.any():
        return 0.0
    scale = float(np.sqrt(np.mean(np.square(want[finite]))))
    far = float(np.abs(got - want)[finite].max())
    return far / scale if scale else far


def _worst(distance: Array) -> tuple[int, ...]:
    if not distance.size:
        return ()
    return tuple(int(i) for i in np.unravel_index(int(distance.argmax()), distance.shape))


def _counts(distance: Array) -> tuple[int, ...]:
    places = np.searchsorted(np.asarray(BOUNDS), distance, side="left")
    return tuple(int(n) for n in np.bincount(places, minlength=len(BOUNDS) + 1))


def _distance(got: Array, want: Array, dt: DType) -> Array:
    """The distance of each element in units in the last place; 0 where both are the same infinity
    or NaN, or where the type's greatest number stands for what is beyond its range."""
    unit = units(want, dt)
    same = (got == want) | (np.isnan(got) & np.isnan(want))
    top = float(dt.scalar.max_value)
    # What is beyond the range is rounded to infinity, or to the greatest number.
    over = (np.abs(want) > top) & (np.abs(got) >= top) & (np.sign(got) == np.sign(want))
    with np.errstate(all="ignore"):
        far = np.abs(got - want) / unit
    far = np.where(np.isnan(far), np.inf, far)
    return np.where(same | over, 0.0, far)


def units(exact: Array, dt: DType) -> Array:
    """One unit in the last place of a type at each of some numbers."""
    form = dt.scalar.format
    assert form is not None  # a float
    smallest = float(form.smallest_positive)
    _, exponent = np.frexp(np.abs(exact))
    sizes = np.maximum(np.ldexp(1.0, exponent - 1 - form.mantissa_bits), smallest)
    return np.where(exact == 0, smallest, sizes)
