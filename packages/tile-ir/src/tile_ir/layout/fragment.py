"""Who holds the elements of a tile in registers: (group, thread, value) -> tile coordinate."""

from __future__ import annotations

from dataclasses import dataclass

from tile_ir.diag import TileError
from tile_ir.layout.base import (
    GROUP,
    OFFSET,
    THREAD,
    VALUE,
    Axis,
    DigitLayout,
    check_names,
    default_outputs,
)
from tile_ir.layout.digits import Digits, extent_of, places


@dataclass(frozen=True, slots=True, kw_only=True)
class FragmentLayout(DigitLayout):
    """Thread and value digits -> coordinate: the accumulator of m64nNk16 is

        thread (4:n*2, 8:m*1, 4:m*16) value (2:n*1, 2:m*8, 32:n*8)

    A replicated digit of `thread` or `group` says that those threads hold copies of one value.
    `outputs` are the tile's axes in the order of its dimensions; left empty, the axis that moves
    fastest comes last. The order is printed as `-> (k, n)` only where it differs from that. Raises
    E0304 for axes that do not fit.
    """

    thread: Digits
    value: Digits
    group: Digits = ()
    outputs: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.outputs:
            object.__setattr__(self, "outputs", default_outputs(self.inputs))
        check_names(self.inputs, self.outputs)
        if self.outputs == (OFFSET,):
            raise TileError(
                "E0304",
                "a fragment's layout gives coordinates, not an offset",
                help="let its digits move along the tile's axes, as in `thread (32:n*1)`",
            )

    @property
    def inputs(self) -> tuple[Axis, ...]:
        lanes = (Axis(THREAD, self.thread), Axis(VALUE, self.value))
        return (Axis(GROUP, self.group), *lanes) if self.group else lanes

    @property
    def output_names(self) -> tuple[str, ...]:
        return self.outputs

    @property
    def groups(self) -> int:
        """How many groups of threads share the tile."""
        return extent_of(self.group)

    @property
    def threads(self) -> int:
        """How many threads a group has."""
        return extent_of(self.thread)

    @property
    def values(self) -> int:
        """How many values each thread holds: the length of its register array, in elements."""
        return extent_of(self.value)

    @property
    def replication(self) -> int:
        """How many threads hold each element."""
        return extent_of([d for d in (*self.group, *self.thread) if d.is_replica])

    def replica_terms(self) -> tuple[tuple[str, int, int], ...]:
        """Return (input, divisor, modulus) of each replicated digit.

        Memory is written by the copy for which all of them are 0.
        """
        found = []
        for name, digits in ((GROUP, self.group), (THREAD, self.thread)):
            for place, d in zip(places(digits), digits, strict=True):
                if d.is_replica and d.extent > 1:
                    found.append((name, place, d.extent))
        return tuple(found)

    def per_group(self) -> FragmentLayout:
        """Return the layout of the first group's part, without the group."""
        return FragmentLayout(thread=self.thread, value=self.value, outputs=self.outputs)
