"""What bank conflicts a shared tile's layout costs, as the alternatives of a layout show them.

Matrix units, and the loads that feed them, read eight rows of 16 bytes at once; in rows that lie a
whole number of bank rows apart, all eight meet in the same banks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tile_ir.layout import BankModel, warp_cycles
from tile_passes.plan.model import Candidate

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tile_ir.layout import TileLayout
    from tile_ir.target import TargetSpec

_ROWS, _ROW_BYTES = 8, 16


def weighed(layouts: Iterable[TileLayout], bits: int, spec: TargetSpec) -> tuple[Candidate, ...]:
    """Each layout of a tile of two axes with the cycles of reading eight rows of it; none where the
    memory has no banks or the tile fewer rows.
    """
    scope = spec.scopes.get("shared")
    if scope is None or not scope.banks:
        return ()
    model = BankModel(banks=scope.banks, bank_bytes=scope.bank_bytes)
    out = []
    for layout in dict.fromkeys(layouts):
        rows = min(_ROWS, layout.axis("d0").extent)
        offsets = [layout.offset((row, 0), bits) * bits // 8 for row in range(rows)]
        cycles = warp_cycles(offsets, _ROW_BYTES, model).cycles
        text = f"cycles to read {rows} rows of {_ROW_BYTES} bytes"
        out.append(Candidate(str(layout), float(cycles), text))
    return tuple(out)
