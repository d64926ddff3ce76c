"""A launch for one set of dimensions, as code that a caller may put into its own function.

One foreign call is all that a launch needs; a Python function around it would cost a tenth more.
"""

from __future__ import annotations

from ctypes import c_char_p
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

__all__ = ["Launch", "Prepared"]

_REPORTED = ("if status:", "    report(status)")


class Launch(NamedTuple):
    """A kernel as it is launched: `foreign(address, arguments, threads)` gives a status, which
    `report` says aloud."""

    foreign: Callable[..., int]
    address: object
    pack: Callable[..., bytes]
    threads: object
    report: Callable[[int], None]


class Prepared:
    """The steps of a call as code in terms of p0, p1, ... (addresses and scalars), and what its
    other names stand for; also a function of them. The first step, `packing`, makes `packed` of
    them, whose bytes are the same for the same arguments."""

    def __init__(self, launch: Launch, count: int, dims: Sequence[int]) -> None:
        self._launch, self._dims = launch, tuple(dims)
        constants = {f"c{i}": d for i, d in enumerate(dims)}
        values = ", ".join([*(f"p{i}" for i in range(count)), *constants])
        self.packing = f"packed = pack({values})"
        self.lines = (self.packing, *Fixed.lines)
        self.names: Mapping[str, Any] = {**launch._asdict(), **constants}

    def __call__(self, *values: float) -> None:
        """Launch. Raises TileError E0805, E0806 as a kernel does."""
        launch = self._launch
        status = launch.foreign(launch.address, launch.pack(*values, *self._dims), launch.threads)
        if status:
            launch.report(status)

    def fixed(self, values: Sequence[float]) -> Fixed:
        """The same for addresses and scalars that stay as they are."""
        return Fixed(self._launch, self._launch.pack(*values, *self._dims))


class Fixed:
    """A call of which nothing is left but to make it."""

    lines = ("status = foreign(address, packed, threads)", *_REPORTED)

    def __init__(self, launch: Launch, packed: bytes) -> None:
        self.names: Mapping[str, Any] = {**launch._asdict(), "packed": c_char_p(packed)}
