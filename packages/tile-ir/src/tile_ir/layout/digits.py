"""Mixed-radix digits: the atoms of every layout.

A list of digits, fastest first, reads a number in mixed radix and sends each digit somewhere. Any
extent is legal, so 80 columns or three groups need no special case; a digit that goes nowhere is a
replica: all its values mean the same.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from tile_ir.diag import TileError

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True, slots=True)
class Digit:
    """One digit: `extent` values, each a step of `stride` along the output axis `axis`.

    A replicated digit has no axis and stride 0. Positional on purpose: it is read as
    `extent:axis*stride`. Raises E0302 for an extent below 1, a negative stride, or a stride without
    an axis.
    """

    extent: int
    axis: str | None = None
    stride: int = 0

    def __post_init__(self) -> None:
        if self.extent < 1 or self.stride < 0 or (self.axis is None and self.stride):
            raise TileError(
                "E0302",
                f"digit with extent {self.extent}, axis {self.axis}, stride {self.stride}",
                notes=("a digit has an extent of at least 1 and a stride of at least 0",),
                help="write `extent:axis*stride`, or `extent:-` for a replicated digit",
            )
        if self.stride == 0:
            # One form for "does not move": equality must not depend on an axis without effect.
            object.__setattr__(self, "axis", None)

    @property
    def is_replica(self) -> bool:
        """Whether the digit moves nowhere."""
        return self.axis is None

    @property
    def reach(self) -> int:
        """How far the digit moves at most: (extent - 1) * stride."""
        return (self.extent - 1) * self.stride

    def head(self, extent: int) -> Digit:
        """Return the fast part, `extent` values long; `extent` must divide the digit's."""
        return Digit(extent, self.axis, self.stride)

    def tail(self, extent: int) -> Digit:
        """Return what is left above `head(extent)`."""
        return Digit(self.extent // extent, self.axis, self.stride * extent)

    def __str__(self) -> str:
        return (
            f"{self.extent}:-" if self.axis is None else f"{self.extent}:{self.axis}*{self.stride}"
        )


Digits: TypeAlias = "tuple[Digit, ...]"


def extent_of(digits: Sequence[Digit]) -> int:
    """Return how many numbers the list reads: the product of its extents (1 when empty)."""
    return math.prod(d.extent for d in digits)


def places(digits: Sequence[Digit]) -> tuple[int, ...]:
    """Return the weight of each digit in the number that is read: the product of those before."""
    out, place = [], 1
    for d in digits:
        out.append(place)
        place *= d.extent
    return tuple(out)


def coalesce_digits(digits: Sequence[Digit]) -> Digits:
    """Return the shortest list of the same meaning: without extent-1 digits, neighbours joined.

    The result is a normal form: two lists of one extent are the same function exactly when their
    results are equal.
    """
    out: list[Digit] = []
    for d in digits:
        if d.extent == 1:
            continue
        last = out[-1] if out else None
        if last and last.axis == d.axis and d.stride == last.stride * last.extent:
            out[-1] = Digit(last.extent * d.extent, d.axis, last.stride)
        else:
            out.append(d)
    return tuple(out)


def refine_digits(a: Sequence[Digit], b: Sequence[Digit]) -> tuple[Digits, Digits] | None:
    """Return both lists cut at each other's boundaries, so that their extents agree.

    None when they read different ranges or a boundary falls inside a digit that it does not divide
    (2*3 against 3*2).
    """
    left, right = list(coalesce_digits(a))[::-1], list(coalesce_digits(b))[::-1]
    out_a: list[Digit] = []
    out_b: list[Digit] = []
    while left and right:
        x, y = left.pop(), right.pop()
        extent = min(x.extent, y.extent)
        if x.extent % extent or y.extent % extent:
            return None
        out_a.append(x.head(extent))
        out_b.append(y.head(extent))
        if x.extent > extent:
            left.append(x.tail(extent))
        if y.extent > extent:
            right.append(y.tail(extent))
    return None if left or right else (tuple(out_a), tuple(out_b))


def cut_digits(digits: Sequence[Digit], extent: int) -> tuple[Digits, Digits] | None:
    """Return the fast digits that read `extent` values and the rest; None for a cut inside one."""
    low: list[Digit] = []
    rest = list(digits)
    for i, d in enumerate(digits):
        if extent == 1:
            return tuple(low), tuple(rest[i:])
        step = min(extent, d.extent)
        if extent % step or d.extent % step:
            return None
        low.append(d.head(step))
        extent //= step
        if step < d.extent:
            return (tuple(low), (d.tail(step), *rest[i + 1 :])) if extent == 1 else None
    return (tuple(low), ()) if extent == 1 else None
