"""The layouts that a matrix atom demands of a whole tile: its own digits, then warps along m and n,
then repeats.

Threads are the atom's own, then the units (warps, or groups of them) along m, then along n. Each
unit repeats the atom over its part of the tile in registers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tile_ir.layout import Digit, FragmentLayout, coalesce_digits, parse_layout

if TYPE_CHECKING:
    from tile_ir.layout import Digits
    from tile_ir.target.matrix import MatrixAtom


@dataclass(frozen=True, slots=True)
class Tiling:
    """An atom of fixed width over an m x n x k tile, shared by `along_m` x `along_n` units."""

    atom: MatrixAtom
    m: int
    n: int
    k: int
    along_m: int
    along_n: int

    def accumulator(self) -> FragmentLayout:
        """Of c, axes (m, n)."""
        own = self._own("accumulator")
        return self._made(own, ("m", "n"), (*self._rows(), *self._columns()))

    def a(self) -> FragmentLayout:
        """Of a in registers, axes (m, k); units along n hold copies.

        Steps along k come before repeats along m: so a result with one atom along n is already
        laid out as the operand of the next product.
        """
        own = self._own("a")
        return self._made(own, ("m", "k"), (*self._steps(), *self._rows()))

    def b(self) -> FragmentLayout:
        """Of b in registers, axes (k, n); units along m hold copies."""
        own = self._own("b")
        return self._made(own, ("k", "n"), (*self._steps(), *self._columns()))

    def _own(self, operand: str) -> FragmentLayout:
        layout = parse_layout(self.atom.layout(operand))  # type: ignore[arg-type]  # one of the three operands
        assert isinstance(layout, FragmentLayout)
        return layout

    def _rows(self) -> Digits:
        step = self.atom.m * self.along_m
        return (Digit(max(1, self.m // step), "m", step),)

    def _columns(self) -> Digits:
        return (Digit(max(1, self.n // (self.atom.n * self.along_n)), "n", self.atom.n),)

    def _steps(self) -> Digits:
        return (Digit(max(1, self.k // self.atom.k), "k", self.atom.k),)

    def _made(
        self, own: FragmentLayout, outputs: tuple[str, str], repeats: Digits
    ) -> FragmentLayout:
        units = (
            Digit(self.along_m, "m", self.atom.m) if "m" in outputs else Digit(self.along_m),
            Digit(self.along_n, "n", self.n // self.along_n)
            if "n" in outputs
            else Digit(self.along_n),
        )
        return FragmentLayout(
            thread=coalesce_digits([*own.thread, *units]),
            value=coalesce_digits([*own.value, *repeats]),
            outputs=outputs,
        )


def tiling(
    atom: MatrixAtom, shape: tuple[int, int, int], threads: int, policy: str
) -> Tiling | None:
    """Share a tile among the units that `threads` make, None when no split fits.

    `square` takes the split that reads the fewest operand elements per unit, `full_row` puts all
    units along m, `full_col` along n. An atom of variable width is taken as wide as divides a
    unit's columns. An asynchronous atom reads its operands from shared memory anew each time, a
    synchronous one keeps them in registers.
    """
    m, n, k = shape
    units = threads // atom.threads
    if threads % atom.threads or m % atom.m or k % atom.k:
        return None
    splits = []
    for along_m in range(1, units + 1):
        along_n = units // along_m
        if along_m * along_n != units or m % (atom.m * along_m) or n % along_n:
            continue
        width = max((w for w in atom.widths() if n // along_n % w == 0), default=0)
        if width:
            rows, columns = m // along_m, n // along_n
            cost = rows + columns
            if atom.engine == "async":
                cost = (rows // atom.m) * (columns // width) * (atom.m + width)
            splits.append((cost, -along_m, along_m, along_n, width))
    if policy == "full_row":
        splits = [s for s in splits if s[3] == 1] or splits
    if policy == "full_col":
        splits = [s for s in splits if s[2] == 1] or splits
    if not splits:
        return None
    _, _, along_m, along_n, width = min(splits)
    return Tiling(atom.at_n(width), m, n, k, along_m, along_n)
