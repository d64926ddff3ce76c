"""What all layouts are: total functions from named input axes to named output axes.

`Layout` is the interface that the rest of the compiler uses; `DigitLayout` is its body for layouts
made of digits, and `DigitMap` the general case (inverses, views). A tile's buffer layout and a
fragment's layout have classes of their own.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from tile_ir.diag import TileError
from tile_ir.layout.digits import Digit, Digits, extent_of, places

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tile_ir.layout.swizzle import Swizzle

OFFSET = "offset"
GROUP, THREAD, VALUE = "group", "thread", "value"
FRAGMENT_INPUTS = ((THREAD, VALUE), (GROUP, THREAD, VALUE))
RESERVED = frozenset({"swizzle", "map"})


class Layout(ABC):
    """A function from points below `input_shape` to points below `output_shape`, axes named."""

    __slots__ = ()

    @property
    @abstractmethod
    def input_names(self) -> tuple[str, ...]:
        """Names of the input axes, in the order in which `evaluate` takes them."""

    @property
    @abstractmethod
    def input_shape(self) -> tuple[int, ...]:
        """Extent of each input axis."""

    @property
    @abstractmethod
    def output_names(self) -> tuple[str, ...]:
        """Names of the output axes, in the order in which `evaluate` gives them."""

    @property
    @abstractmethod
    def output_shape(self) -> tuple[int, ...]:
        """The smallest box that holds all results."""

    @property
    def swizzle(self) -> Swizzle | None:
        """The exchange on the byte offset, for layouts that end in an offset."""
        return None

    @abstractmethod
    def evaluate(self, point: Sequence[Any]) -> tuple[Any, ...]:
        """Return the result of an input point, without the XOR. Raises E0304 for a wrong rank."""

    @abstractmethod
    def preimages(self, point: Sequence[int]) -> tuple[tuple[int, ...], ...]:
        """Return all input points that give the output point, in ascending order."""

    @property
    def size(self) -> int:
        """How many input points there are."""
        return math.prod(self.input_shape)

    @property
    def is_fragment(self) -> bool:
        """Whether the layout places a tile in registers: (group, thread, value) -> coordinate."""
        return self.input_names in FRAGMENT_INPUTS and self.output_names != (OFFSET,)

    @property
    def axes(self) -> tuple[str, ...]:
        """The tile's axes in the order of its dimensions: a fragment's outputs, else inputs."""
        return self.output_names if self.is_fragment else self.input_names

    @property
    def shape(self) -> tuple[int, ...]:
        """Extents of the tile's box along `axes`, padding included."""
        return self.output_shape if self.is_fragment else self.input_shape

    def check_rank(self, point: Sequence[object]) -> None:
        """Raise E0304 unless `point` has one coordinate for each input axis."""
        if len(point) != len(self.input_names):
            names = ", ".join(self.input_names)
            raise TileError(
                "E0304",
                f"{len(point)} coordinates for the axes ({names}) of a layout",
                help="give one coordinate for each of these axes, in this order",
            )

    def offset(self, coord: Sequence[int], element_bits: int | None = None) -> int:
        """Return where the element lies, counted in elements, with the XOR applied.

        `element_bits` is the element's width, needed only where there is a swizzle (E0305 without
        it). E0304 when the layout does not end in an offset.
        """
        self._check_offset()
        linear: int = self.evaluate(coord)[0]
        if self.swizzle is None:
            return linear
        return self.swizzle.apply_elements(linear, needed_bits(element_bits))

    def byte_offset(self, coord: Sequence[int], element_bits: int) -> int:
        """Return the byte in which the element starts, with the XOR applied."""
        return self.offset(coord, element_bits) * element_bits // 8

    def cosize(self, element_bits: int | None = None) -> int:
        """Return how many elements the buffer needs: the largest offset plus one.

        With a swizzle, the end of the last block that it exchanges (E0305 without `element_bits`).
        """
        self._check_offset()
        linear = self.output_shape[0]
        if self.swizzle is None:
            return linear
        element_bits = needed_bits(element_bits)
        used, unmoved = linear * element_bits, 8 << (self.swizzle.base + self.swizzle.shift)
        block = 8 * self.swizzle.block
        return linear if used <= unmoved else -(-used // block) * block // element_bits

    def _check_offset(self) -> None:
        if self.output_names != (OFFSET,):
            names = ", ".join(self.output_names)
            raise TileError(
                "E0304",
                f"`{self}` gives ({names}), not an offset",
                help="call `evaluate` for its results; only a buffer's layout gives offsets",
            )

    def coord(self, thread: int, value: int, group: int = 0) -> tuple[int, ...]:
        """Return the tile coordinate that a thread of a group holds in register `value`."""
        self._check_fragment("evaluate")
        grouped = len(self.input_names) == len(FRAGMENT_INPUTS[1])
        return self.evaluate((group, thread, value) if grouped else (thread, value))

    def owners(self, coord: Sequence[int]) -> tuple[tuple[int, ...], ...]:
        """Return all (thread, value), or (group, thread, value), that hold the tile coordinate."""
        self._check_fragment("preimages")
        return self.preimages(coord)

    def _check_fragment(self, general: str) -> None:
        if not self.is_fragment:
            raise TileError(
                "E0304",
                f"`{self}` does not start from threads and values",
                help=f"call `{general}`, which every layout has",
            )


@dataclass(frozen=True, slots=True)
class Axis:
    """An input axis and the digits that read it, fastest first."""

    name: str
    digits: Digits

    @property
    def extent(self) -> int:
        """How many coordinates the axis has, padding included."""
        return extent_of(self.digits)

    def __str__(self) -> str:
        return f"{self.name} ({', '.join(map(str, self.digits))})"


class Term(NamedTuple):
    """One summand: `(input // divisor) % modulus * stride`; no modulus for the slowest digit."""

    input: str
    divisor: int
    modulus: int | None
    output: str
    stride: int


class PlacedDigit(NamedTuple):
    """A digit with the number of its input axis and its weight there."""

    input: int
    place: int
    digit: Digit


class DigitLayout(Layout):
    """A layout made of digits. Beyond an axis's extent, its slowest digit runs on."""

    __slots__ = ()

    @property
    @abstractmethod
    def inputs(self) -> tuple[Axis, ...]:
        """The input axes with their digits."""

    @property
    def input_names(self) -> tuple[str, ...]:
        return tuple(a.name for a in self.inputs)

    @property
    def input_shape(self) -> tuple[int, ...]:
        return tuple(a.extent for a in self.inputs)

    @property
    def output_shape(self) -> tuple[int, ...]:
        reach = dict.fromkeys(self.output_names, 1)
        for axis in self.inputs:
            for d in axis.digits:
                if d.axis is not None:
                    reach[d.axis] += d.reach
        return tuple(reach.values())

    def evaluate(self, point: Sequence[Any]) -> tuple[Any, ...]:
        """Return the output coordinates; integer arrays work as well as integers."""
        self.check_rank(point)
        total: dict[str, Any] = dict.fromkeys(self.output_names, 0)
        for axis, x in zip(self.inputs, point, strict=True):
            rest, last = x, len(axis.digits) - 1
            for i, d in enumerate(axis.digits):
                here = rest if i == last else rest % d.extent
                if d.axis is not None:
                    total[d.axis] = total[d.axis] + here * d.stride
                rest = rest // d.extent
        return tuple(total.values())

    def terms(self) -> tuple[Term, ...]:
        """Return the summands of all outputs: what a lowering writes as index arithmetic."""
        out = []
        for axis in self.inputs:
            last = len(axis.digits) - 1
            for i, (place, d) in enumerate(zip(places(axis.digits), axis.digits, strict=True)):
                if d.axis is not None:
                    modulus = None if i == last else d.extent
                    out.append(Term(axis.name, place, modulus, d.axis, d.stride))
        return tuple(out)

    def placed(self) -> tuple[PlacedDigit, ...]:
        """Return all digits with their positions."""
        return tuple(
            PlacedDigit(i, place, d)
            for i, axis in enumerate(self.inputs)
            for place, d in zip(places(axis.digits), axis.digits, strict=True)
        )

    def preimages(self, point: Sequence[int]) -> tuple[tuple[int, ...], ...]:
        if len(point) != len(self.output_names):
            raise TileError(
                "E0304",
                f"{len(point)} coordinates for the results of `{self}`",
                help=f"give one coordinate for each of ({', '.join(self.output_names)})",
            )
        zero = (0,) * len(self.inputs)
        found = [zero]
        for name, target in zip(self.output_names, point, strict=True):
            on_axis = [p for p in self.placed() if p.digit.axis == name]
            on_axis.sort(key=lambda p: -p.digit.stride)
            found = [_add(p, q) for q in _solve(on_axis, target, zero) for p in found]
        for p in self.placed():
            if p.digit.is_replica:
                found = [_step(q, p, value) for value in range(p.digit.extent) for q in found]
        return tuple(sorted(found))

    def is_injective(self, *, up_to_replicas: bool = False) -> bool:
        """Whether no two input points share a result.

        `up_to_replicas` leaves replicated digits out of account.
        """
        moving = [p.digit for p in self.placed() if p.digit.extent > 1]
        if not up_to_replicas and any(d.is_replica for d in moving):
            return False
        # Every digit moves along one axis only, so the axes can be looked at one by one.
        return all(
            _sums_differ([d for d in moving if d.axis == name]) for name in self.output_names
        )

    def is_bijective(self) -> bool:
        """Whether every point of the output box is the result of exactly one input point."""
        return self.size == math.prod(self.output_shape) and self.is_injective()

    def __str__(self) -> str:
        text = " ".join(map(str, self.inputs))
        has_digits = any(axis.digits for axis in self.inputs)
        if has_digits and self.output_names == default_outputs(self.inputs):
            return text
        return f"{text} -> ({', '.join(self.output_names)})"


@dataclass(frozen=True, slots=True, kw_only=True)
class DigitMap(DigitLayout):
    """The general digit layout, between any axes; `make_layout` picks the class by the names.

    Raises E0304 for doubled or missing names, and for names that belong to a tile's or a fragment's
    layout.
    """

    inputs: tuple[Axis, ...]
    outputs: tuple[str, ...]

    def __post_init__(self) -> None:
        check_names(self.inputs, self.outputs)
        if self.outputs == (OFFSET,) or self.is_fragment:
            raise TileError("E0304", f"`{self}` has a class of its own", help="use make_layout")

    @property
    def output_names(self) -> tuple[str, ...]:
        return self.outputs


def needed_bits(element_bits: int | None) -> int:
    """Return the element's width, or raise E0305: a swizzle acts on bytes and cannot do without."""
    if element_bits is None:
        raise TileError(
            "E0305",
            "a swizzled layout needs the width of its elements",
            notes=("a swizzle exchanges bytes, not elements",),
            help="pass element_bits=, as in 16 for float16",
        )
    return element_bits


def default_outputs(inputs: Sequence[Axis]) -> tuple[str, ...]:
    """Return the outputs' order when none is given.

    The axis that moves fastest comes last, as in a row-major tile.
    """
    # Groups divide the slowest axis as a rule, so they have the last word on what is slow.
    ordered = sorted(inputs, key=lambda axis: axis.name == GROUP)
    seen = dict.fromkeys(d.axis for axis in ordered for d in axis.digits if d.axis is not None)
    return tuple(reversed(seen))


def check_names(inputs: Sequence[Axis], outputs: Sequence[str]) -> None:
    """Raise E0304 when names are doubled, reserved, or missing from `outputs`."""
    names = [a.name for a in inputs]
    for kind, listed in (("input", names), ("output", list(outputs))):
        doubled = sorted({n for n in listed if listed.count(n) > 1} | RESERVED.intersection(listed))
        if doubled:
            raise TileError(
                "E0304",
                f"{kind} axis `{doubled[0]}` is doubled or a reserved word",
                help=f"name each axis once, and none {' or '.join(sorted(RESERVED))}",
            )
    used = {d.axis for axis in inputs for d in axis.digits if d.axis is not None}
    unknown = sorted(used.difference(outputs))
    if unknown:
        raise TileError(
            "E0304",
            f"a digit moves along `{unknown[0]}`, which is no output axis",
            help=f"add `{unknown[0]}` to the outputs ({', '.join(outputs)}), or name one of them",
        )


def _add(p: tuple[int, ...], q: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(a + b for a, b in zip(p, q, strict=True))


def _step(point: tuple[int, ...], at: PlacedDigit, value: int) -> tuple[int, ...]:
    moved = point[at.input] + value * at.place
    return (*point[: at.input], moved, *point[at.input + 1 :])


def _solve(
    digits: Sequence[PlacedDigit], target: int, zero: tuple[int, ...]
) -> Iterator[tuple[int, ...]]:
    """Yield every choice with sum(value * stride) == target; `digits` by falling stride."""
    if not digits:
        if target == 0:
            yield zero
        return
    first, rest = digits[0], digits[1:]
    reach = sum(p.digit.reach for p in rest)
    stride = first.digit.stride
    lowest = max(0, -((reach - target) // stride))
    for value in range(lowest, min(first.digit.extent - 1, target // stride) + 1):
        for point in _solve(rest, target - value * stride, zero):
            yield _step(point, first, value)


def _sums_differ(digits: list[Digit]) -> bool:
    digits.sort(key=lambda d: d.stride)
    reach = 0
    for d in digits:
        if d.stride <= reach:
            break
        reach += d.reach
    else:
        return True
    sums = {0}
    for d in digits:
        sums = {s + value * d.stride for value in range(d.extent) for s in sums}
    return len(sums) == extent_of(digits)
