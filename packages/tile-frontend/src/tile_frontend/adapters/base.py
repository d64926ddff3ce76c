"""What an adapter tells of an array."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tile_ir.types import DType


@dataclass(frozen=True, slots=True)
class ArrayInfo:
    """An array as a launch sees it.

    `strides` are in elements, None where they are no whole number of them. `device` is the kind of
    memory, `index` which device of that kind has it.
    """

    dtype: DType
    shape: tuple[int, ...]
    strides: tuple[int, ...] | None
    device: str = "cpu"
    writable: bool = True
    index: int = 0


@dataclass(frozen=True, slots=True)
class ArrayCode:
    """What `describe` and `address` give of arrays of one kind, as code in which {0} is the array.

    `names` are those that the code uses. Where `address` `may_fail`, it raises one of `NO_ADDRESS`
    for an array with an equal key that is not of this kind after all. `alike` is the address of one
    that the adapter's `comparison` found to be like those that were checked.
    """

    key: str
    address: str
    names: Mapping[str, Any] = field(default_factory=dict)
    may_fail: bool = False
    alike: str = ""


NO_ADDRESS = (TypeError, ValueError, BufferError, RuntimeError)


class Adapter(Protocol):
    """One array library.

    An adapter may have `code`, which gives the `ArrayCode` of an array, or None; `comparison`,
    which makes of arrays a function that is true of arrays like them, in one call; `memory`, what
    keeps an array's memory where it is; and `obstacle`, which says why a kernel cannot read an
    array's memory, or "".
    """

    library: str

    def describe(self, x: Any) -> Any:
        """A hashable key of everything in `inspect`, cheap enough for every launch."""

    def inspect(self, x: Any) -> ArrayInfo:
        """Everything about the array but its data."""

    def address(self, x: Any) -> int:
        """The address of its first element."""

    def maker(self, shape: tuple[int, ...], dtype: DType, device: str) -> Callable[[], Any]:
        """What makes new arrays with undefined contents; `device` as in "cpu", "KIND" or
        "KIND:INDEX"."""


def row_major(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The strides, in elements, of an array without gaps whose last axis is fastest."""
    out, step = [], 1
    for extent in reversed(shape):
        out.append(step)
        step *= extent
    return tuple(reversed(out))


def packed_shape(shape: tuple[int, ...], dtype: DType) -> tuple[int, ...]:
    """The extents, in bytes, of an array of a type narrower than a byte: two elements share one
    along the last axis.
    """
    if dtype.storage_bits >= 8 or not shape:
        return shape
    per_byte = 8 // dtype.storage_bits
    return (*shape[:-1], -(-shape[-1] // per_byte))
