"""What a kernel takes: what every device's kernel does, and tensor maps for the copy engine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tile_ir import build as b
from tile_ir.ops import BoxLoad, BoxStore
from tile_passes.emit import captures as shared
from tile_passes.emit.captures import Parameter

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tile_cuda.boxes import BoxMap
    from tile_ir.core import Region
    from tile_ir.expr import Expr
    from tile_ir.opdef import Stmt
    from tile_ir.ops import Kernel, Tiles
    from tile_passes.emit import ExprPrinter

__all__ = ["TENSOR_MAP", "MapParameter", "cluster_extents", "parameters"]

TENSOR_MAP = "M"
"""A tensor map's letter; it has no format of its own in `struct`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MapParameter(Parameter):
    """A tensor map of the buffer of that name."""

    box: BoxMap


def parameters(
    exprs: ExprPrinter, kernel: Kernel, maps: Mapping[BoxMap, str]
) -> tuple[Parameter, ...]:
    """Tensor maps, then the buffers and variables that a kernel uses and does not declare, in order
    of first use."""
    rest = shared.parameters(exprs, kernel, elsewhere=_box_of)
    return (*(_tensor_map(box, name) for box, name in maps.items()), *rest)


def cluster_extents(kernel: Kernel, tiles: Tiles) -> tuple[Expr, ...]:
    """How many boxes of `kernel.cluster` tiles there are along each axis."""
    sizes = (*kernel.cluster, *(1 for _ in tiles.extents))
    return tuple(b.ceildiv(e, n) if n > 1 else e for e, n in zip(tiles.extents, sizes))  # noqa: B905 -- axes without an entry have single tiles


def _box_of(s: Stmt) -> Region | None:
    """The region of global memory that a statement reaches through a tensor map."""
    return s.src if isinstance(s, BoxLoad) else s.dst if isinstance(s, BoxStore) else None


def _tensor_map(box: BoxMap, name: str) -> Parameter:
    """The engine reads the map where the launch puts parameters, so it must stay there."""
    text = f"const __grid_constant__ tile_tensor_map {name}"
    return MapParameter(name=box.buffer, declaration=text, format=TENSOR_MAP, box=box)
