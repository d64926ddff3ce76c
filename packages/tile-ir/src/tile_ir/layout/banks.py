"""Counts bank conflicts of shared-memory accesses.

Model: a memory of `banks` banks of `bank_bytes` serves, in one cycle, one word of every bank. A
warp's access of wide vectors is served in phases of consecutive lanes that together ask for at most
banks * bank_bytes bytes; lanes that ask for the same word share it. A phase takes as many cycles as
the fullest bank has different words. This is how the vendors' programming guides describe it; how
many banks there are, and how wide, comes from the target description.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tile_ir.diag import TileError
from tile_ir.layout.algebra import compose
from tile_ir.layout.base import OFFSET, THREAD, VALUE, DigitLayout, Layout
from tile_ir.layout.kinds import coalesce
from tile_ir.layout.table import HOLE, digit_column

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


@dataclass(frozen=True, slots=True, kw_only=True)
class BankModel:
    """Banks of a memory scope: how many, and how many bytes each serves in a cycle."""

    banks: int
    bank_bytes: int

    def __post_init__(self) -> None:
        if self.banks < 1 or self.bank_bytes < 1:
            raise TileError(
                "E0316",
                f"{self.banks} banks of {self.bank_bytes} bytes",
                help="give both as numbers from 1 up; memory without banks needs no model",
            )


@dataclass(frozen=True, slots=True)
class BankCycles:
    """Cycles that accesses take, and those that they would take without conflicts."""

    cycles: int = 0
    ideal: int = 0

    @property
    def conflicts(self) -> int:
        """Cycles lost."""
        return self.cycles - self.ideal

    def __add__(self, other: BankCycles) -> BankCycles:
        return BankCycles(self.cycles + other.cycles, self.ideal + other.ideal)


def warp_cycles(offsets: Sequence[int | None], vector_bytes: int, model: BankModel) -> BankCycles:
    """Return the cycles of one access of a warp.

    `offsets` are the lanes' byte offsets, None for an inactive lane.
    """
    width = model.banks * model.bank_bytes
    lanes = max(1, width // vector_bytes)
    total = BankCycles()
    for start in range(0, len(offsets), lanes):
        active = [o for o in offsets[start : start + lanes] if o is not None]
        words = {w for o in active for w in _words(o, vector_bytes, model.bank_bytes)}
        total += BankCycles(_fullest(words, model.banks), -(-len(words) // model.banks))
    return total


def _words(offset: int, vector_bytes: int, bank_bytes: int) -> range:
    return range(offset // bank_bytes, (offset + vector_bytes - 1) // bank_bytes + 1)


def _fullest(words: set[int], banks: int) -> int:
    load: dict[int, int] = {}
    for word in words:
        load[word % banks] = load.get(word % banks, 0) + 1
    return max(load.values(), default=0)


def access_cycles(
    memory: Layout,
    fragment: Layout,
    *,
    element_bits: int,
    vector: int,
    warp_width: int,
    model: BankModel,
) -> BankCycles:
    """Return the cycles of moving a fragment to or from a buffer, `vector` elements an access.

    `vector` consecutive values of a thread are taken to lie side by side (see `vector_elements`);
    `memory` and `fragment` share axis names. Raises E0316 when `vector` does not divide the values,
    and what `compose` raises.
    """
    access = compose(memory, fragment)
    values = fragment.input_shape[-1]
    if vector < 1 or values % vector:
        raise TileError(
            "E0316",
            f"{values} values per thread cannot be moved {vector} at a time",
            help=f"choose a vector that divides {values}",
        )
    total = BankCycles()
    for lanes, times in _accesses(access, vector, warp_width, _period(access, element_bits, model)):
        offsets = [_byte(access, o, element_bits) for o in lanes]
        once = warp_cycles(offsets, max(1, vector * element_bits // 8), model)
        total += BankCycles(once.cycles * times, once.ideal * times)
    return total


def _byte(access: Layout, offset: int | None, element_bits: int) -> int | None:
    if offset is None:
        return None
    if access.swizzle is not None:
        offset = access.swizzle.apply_elements(offset, element_bits)
    return offset * element_bits // 8


def _period(access: Layout, element_bits: int, model: BankModel) -> int:
    """Return a distance in elements by which accesses can be shifted without changing their cycles.

    Multiples of a row of banks keep every bank; multiples of a swizzle's alignment keep the XOR.
    """
    xor = 1 if access.swizzle is None else access.swizzle.alignment
    return math.lcm(8 * xor, 8 * model.banks * model.bank_bytes, element_bits) // element_bits


def _accesses(
    access: Layout, vector: int, warp_width: int, period: int
) -> Iterator[tuple[tuple[int | None, ...], int]]:
    """Yield the lanes' offsets before the XOR, and how many accesses of a group are alike."""
    threads, values = access.input_shape[-2:]
    starts = range(0, values, vector)
    warps = [range(w, min(w + warp_width, threads)) for w in range(0, threads, warp_width)]
    if not isinstance(access, DigitLayout):
        zeros = (0,) * (len(access.input_shape) - 2)
        for warp, v in itertools.product(warps, starts):
            found = (access.evaluate((*zeros, t, v))[0] for t in warp)
            yield tuple(None if o == HOLE else o for o in found), 1
        return
    digits = {a.name: a.digits for a in access.inputs}
    by_thread = digit_column(digits[THREAD], {OFFSET: 1})
    by_value = digit_column(digits[VALUE], {OFFSET: 1})
    # Warps and vectors mostly repeat one pattern at shifted places: count each pattern once.
    alike: Counter[tuple[tuple[int, ...], int]] = Counter()
    for warp in warps:
        first = min(by_thread[t] for t in warp)
        pattern = tuple(by_thread[t] - first for t in warp)
        alike.update((pattern, (first + by_value[v]) % period) for v in starts)
    for (pattern, base), times in alike.items():
        yield tuple(base + step for step in pattern), times


def vector_elements(access: Layout, element_bits: int, most: int) -> int:
    """Return how many values of a thread lie side by side in memory: a divisor of `most`.

    `access` is a memory's layout composed with a fragment's: (thread, value) -> offset. The
    alignment of the runs is proved from the strides; a swizzle bounds a run to the chunks that it
    keeps whole. 1 for tables.
    """
    if not isinstance(access, DigitLayout) or access.output_names != (OFFSET,):
        return 1
    digits = coalesce(access).placed()
    unit = [p for p in digits if p.place == p.digit.stride == 1]
    unit = [p for p in unit if access.input_names[p.input] == VALUE]
    run = unit[0].digit.extent if unit else 1
    steps = [p.digit.stride for p in digits if p not in unit]
    chunk = most if access.swizzle is None else (8 << access.swizzle.base) // element_bits
    fits = (
        n
        for n in range(min(most, run), 0, -1)
        if most % n == 0 and run % n == 0 and chunk % n == 0 and all(s % n == 0 for s in steps)
    )
    return next(fits, 1)
