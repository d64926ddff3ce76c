"""Which function of the prelude each matrix atom of a description is."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from tile_ir.diag import InternalError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tile_ir.target import MatrixAtom, TargetSpec

__all__ = ["BF16_MATRIX", "matrix_function"]

BF16_MATRIX = "bf16_matrix"
"""The feature of a description whose unit takes bf16."""
SIDE = 8
"""Rows and columns of every matrix of a simdgroup."""
_TABLE: Mapping[tuple[str, str], str] = MappingProxyType(
    {
        # (type of a and b, of the accumulator)
        ("f16", "f32"): "tile_multiply<half, float>",
        ("f16", "f16"): "tile_multiply<half, half>",
        ("bf16", "f32"): "tile_multiply<bfloat, float>",
        ("f32", "f32"): "tile_multiply<float, float>",
    }
)


def matrix_function(atom: MatrixAtom, spec: TargetSpec) -> str:
    """The function that adds the product of two register arrays to a third.

    Raises InternalError E3090 where there is none.
    """
    key = (atom.a.dtype, atom.accumulator.dtype)
    square = (atom.m, atom.n, atom.k) == (SIDE, SIDE, SIDE) and atom.a.dtype == atom.b.dtype
    if not square or key not in _TABLE:
        raise InternalError("E3090", f"no instruction is known for {atom.name}")
    if key[0] == "bf16" and not spec.has(BF16_MATRIX):
        return "tile_multiply_widened"
    return _TABLE[key]
