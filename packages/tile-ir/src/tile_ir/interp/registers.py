"""What the registers of a matrix instruction hold, by its operand layouts."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from tile_ir.layout import parse_layout

if TYPE_CHECKING:
    from tile_ir.interp.storage import Array
    from tile_ir.target import MatrixAtom

__all__ = ["Which", "register_matrix", "register_places"]

Which = Literal["a", "b", "accumulator"]
_AXES: dict[Which, str] = {"a": "mk", "b": "kn", "accumulator": "mn"}


def register_matrix(registers: Array, known: MatrixAtom, which: Which) -> Array:
    """One matrix for each group of threads, from a row of registers of each thread."""
    rows, columns = register_places(known, which)
    shape = tuple(getattr(known, axis) for axis in _AXES[which])
    held = registers.reshape(-1, *rows.shape)
    found = np.zeros((len(held), *shape), held.dtype)
    found[:, rows, columns] = held
    return found


@lru_cache(maxsize=64)
def register_places(known: MatrixAtom, which: Which) -> tuple[Array, Array]:
    """Row and column of each (lane, register)."""
    layout = parse_layout(known.layout(which))
    lanes, values = layout.input_shape[-2:]
    point: tuple[Any, ...] = (np.arange(lanes)[:, None], np.arange(values)[None, :])
    by_axis = dict(zip(layout.output_names, layout.evaluate(point), strict=True))
    row, column = (np.broadcast_to(by_axis[a], (lanes, values)) for a in _AXES[which])
    return row, column
