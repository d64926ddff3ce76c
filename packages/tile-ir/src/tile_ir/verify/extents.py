"""Comparing the shapes of regions: constants are compared, symbolic extents are taken as equal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tile_ir.expr import Const, Expr
from tile_ir.verify.report import shown

if TYPE_CHECKING:
    from tile_ir.core import Region

Extents = tuple[Expr, ...]


def extents(region: Region) -> Extents:
    """The extent of each axis."""
    return tuple([r.extent for r in region.ranges])


def is_unit(e: Expr) -> bool:
    """Whether an extent is the constant 1."""
    return type(e) is Const and e.value == 1


def without_units(shape: Extents) -> Extents:
    """The extents that are not the constant 1."""
    return tuple([e for e in shape if not is_unit(e)])


def differ(a: Expr, b: Expr) -> bool:
    """Whether two extents are constants and unequal."""
    return type(a) is Const and type(b) is Const and a.value != b.value


def unlike(a: Extents, b: Extents) -> bool:
    """Whether two shapes differ in rank or in a constant extent."""
    return len(a) != len(b) or any(map(differ, a, b))


def listed(shape: Extents) -> str:
    """A shape for a message."""
    return f"[{', '.join(map(shown, shape))}]"
