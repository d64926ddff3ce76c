"""Arguments of a call that share memory, one of which the kernel writes.

A program means what it says of each array by itself. Where one is written under another name too,
what is read depends on when: the compiler brings tiles early and writes them late. One array given
for two parameters of the same extents and strides is taken, as for operations in place; arrays that
overlap in part are refused, and so is an array that is read again behind a barrier of the whole
grid under a name that nobody writes.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from math import prod
from typing import TYPE_CHECKING, Any

from tile_frontend import argument_errors as wrong
from tile_frontend.adapters.base import row_major
from tile_ir.ops import Kernel
from tile_ir.rewrite import walk

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from tile_frontend.adapters import ArrayInfo
    from tile_ir.core import Function

__all__ = ["Pair", "check_apart", "pairs_of", "read_again"]

_MOST_WORK = 10_000
"""Steps of numpy's search for an element of two strided arrays in one place; what takes more is
not refused."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """Two arguments of the entry, by place, the first of which is written.

    They may share memory if the address of the second less that of the first is between `low` and
    `high`, both excluded. `same`: whether they may be one array.
    """

    first: int
    second: int
    low: int
    high: int
    same: bool
    infos: tuple[ArrayInfo, ArrayInfo]
    names: tuple[str, str]
    again: bool
    """Whether the second is read again behind a barrier of the whole grid."""

    def meet(self, addresses: Sequence[int]) -> bool:
        """Whether the call has to be refused; `addresses` are those of all arguments."""
        a, b = addresses[self.first], addresses[self.second]
        if not self.low < b - a < self.high or (self.same and a == b):
            return False
        return all(map(_dense, self.infos)) or _share(self.infos, (a, b))


def read_again(function: Function) -> frozenset[str]:
    """The parameters that a part behind a barrier of the whole grid reads again."""
    return frozenset(n for s in walk(function.body) if isinstance(s, Kernel) for n in s.unchanged)


def pairs_of(
    infos: Mapping[str, ArrayInfo | None],
    places: Mapping[str, int],
    written: Collection[str],
    again: Collection[str],
) -> tuple[Pair, ...]:
    """The pairs of arrays to look at, by name; `places` are those of arguments with an address."""
    known = {n: i for n, i in infos.items() if i is not None and n in places and 0 not in i.shape}
    found = []
    for a, b in product((n for n in known if n in written), known):
        if a == b or (b in written and b < a):
            continue
        one, other = known[a], known[b]
        (below, above), (under, over) = _reach(one), _reach(other)
        alike = (one.shape, one.strides, _size(one)) == (other.shape, other.strides, _size(other))
        pair = Pair(
            first=places[a],
            second=places[b],
            low=-(over + below),
            high=above + under,
            same=alike and b not in again,
            infos=(one, other),
            names=(a, b),
            again=b in again,
        )
        found.append(pair)
    return tuple(found)


def check_apart(pairs: Sequence[Pair], addresses: Sequence[Any]) -> None:
    """Raises `TileError` E2018 where two of the arguments share memory that they must not."""
    for pair in pairs:
        if pair.meet(addresses):
            at = (addresses[pair.first], addresses[pair.second])
            raise wrong.shared_memory(pair.names, pair.infos, at, pair.again)


def _size(info: ArrayInfo) -> int:
    return max(info.dtype.storage_bits // 8, 1)


def _reach(info: ArrayInfo) -> tuple[int, int]:
    """How many bytes of memory an array takes before its first element, and from that on."""
    size = _size(info)
    steps = [(n - 1) * s * size for n, s in zip(info.shape, _strides(info), strict=True)]
    return -sum(min(s, 0) for s in steps), sum(max(s, 0) for s in steps) + size


def _strides(info: ArrayInfo) -> tuple[int, ...]:
    return row_major(info.shape) if info.strides is None else info.strides


def _dense(info: ArrayInfo) -> bool:
    """Whether the array has all the memory from its first to its last element."""
    return sum(_reach(info)) == prod(info.shape) * _size(info)


def _share(infos: tuple[ArrayInfo, ArrayInfo], addresses: tuple[int, int]) -> bool:
    """Whether two strided arrays have a byte in common; their memory is not touched."""
    import numpy as np  # only strided arrays between each other ask for it

    a, b = (np.asarray(_Placed(i, at)) for i, at in zip(infos, addresses, strict=True))
    try:
        most: Any = _MOST_WORK  # the stub of numpy knows two numbers only
        return bool(np.shares_memory(a, b, max_work=most))
    except RuntimeError:  # too hard to say
        return False


class _Placed:
    """An array at an address, as numpy reads it."""

    def __init__(self, info: ArrayInfo, address: int) -> None:
        size = _size(info)
        self.__array_interface__ = {
            "version": 3,
            "data": (address, True),
            "shape": info.shape,
            "strides": tuple(s * size for s in _strides(info)),
            "typestr": f"|V{size}",
        }
