"""The host part of a function: what every device's is, with clusters of blocks and tensor maps."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tile_cuda.boxes import tensor_strides
from tile_cuda.captures import MapParameter, cluster_extents
from tile_ir import build as b
from tile_ir.types import i64
from tile_passes.launch import host_code as shared

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tile_cuda.boxes import BoxMap
    from tile_ir.core import Function
    from tile_ir.expr import Expr
    from tile_ir.ops import Kernel, Tiles
    from tile_passes.emit.captures import Parameter
    from tile_passes.emit.kernels import Source

__all__ = ["host_source"]


def host_source(fn: Function, source: Source) -> str:
    """Python text that defines `bind(rt)`, which returns the function's host part.

    `rt` offers what it does for every device, and `tensor_map(name, bits, box, row_bytes)`, with
    one argument more for what the engine adds.
    """
    return shared.host_source(fn, source, _HostPrinter)


@dataclass(slots=True)
class _HostPrinter(shared.HostPrinter):
    maps: dict[tuple[BoxMap, int], str] = field(default_factory=dict)

    def bindings(self) -> list[str]:
        """What makes the tensor maps."""
        return [
            f"{name} = rt.tensor_map({box.buffer!r}, {bits}, {box.box}, {box.row_bytes}"
            + (f", {box.kind!r})" if box.kind else ")")
            for (box, bits), name in self.maps.items()
        ]

    def extents(self, kernel: Kernel, tiles: Tiles) -> Iterable[Expr]:
        """How many clusters there are along each axis."""
        return cluster_extents(kernel, tiles)

    def argument(self, p: Parameter) -> str:
        """A pointer or a scalar as it is; a tensor map made from address, extents and strides."""
        if not isinstance(p, MapParameter):
            return self.names[p.name]
        buffer = self.buffers[p.name]
        bits = buffer.dtype.storage_bits
        made = self.maps.setdefault((p.box, bits), f"map_{len(self.maps)}")
        extents, strides = list(reversed(buffer.shape)), tensor_strides(buffer)[-2::-1]
        sizes = [b.floordiv(b.mul(b.cast(s, i64), bits), 8) for s in strides]
        if bits < 8:
            extents[0] = b.ceildiv(b.mul(extents[0], bits), 8)
        shape, steps = (self._listed(es) for es in (extents, sizes))
        return f"{made}({self.names[p.name]}, {shape}, {steps})"

    def _listed(self, values: Iterable[Expr]) -> str:
        return "(" + "".join(f"{self.text(e)}, " for e in values).rstrip() + ")"
