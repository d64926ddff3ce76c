"""Bulk copies of boxes: which tensor maps a kernel takes, and the statements that use them.

A tensor map tells the copy engine of a global tensor and of the box that one copy moves. Each
distinct pair of tensor and box is a parameter of the kernel, which the host makes from the
argument's address, shape and strides.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tile_cuda.shared_tiles import element_offset, shared_box
from tile_ir.diag import InternalError, TileError
from tile_ir.expr import Const
from tile_ir.ops import BoxLoad, BoxStore
from tile_ir.rewrite import walk
from tile_passes.emit.addresses import element_strides
from tile_passes.emit.dialect import UNARY

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tile_ir.core import Buffer, Region
    from tile_ir.expr import Expr
    from tile_ir.opdef import Stmt
    from tile_ir.ops import Kernel
    from tile_passes.emit import StmtPrinter
    from tile_passes.naming import Names

__all__ = ["BoxMap", "BoxPrinter", "tensor_strides"]

MAX_RANK = 5
MAX_BOX = 256
HINTS = {"normal": "", "evict_normal": "", "evict_first": "_first", "evict_last": "_last"}
"""Eviction of a copy -> what the name of the function that copies ends with."""
GRANULARITY = 16
"""Bytes: of the box's contiguous extent, of the tensor's strides and of its address (CUDA Driver
API, cuTensorMapEncodeTiled)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BoxMap:
    """One tensor map: the global buffer, extents of the box innermost first, bytes of the
    exchanged row (16: no exchange), and the type of numbers that the engine adds, if it does."""

    buffer: str
    box: tuple[int, ...]
    row_bytes: int
    kind: str = ""


@dataclass(slots=True)
class BoxPrinter:
    """Prints bulk copies of one function; `maps` are those of the kernel at hand, with their
    names."""

    maps: dict[BoxMap, str] = field(default_factory=dict)

    def begin(self, kernel: Kernel, buffers: Mapping[str, Buffer], names: Names) -> None:
        """Find and name the tensor maps that a kernel takes."""
        self.maps.clear()
        for s in walk(kernel.body):
            if isinstance(s, (BoxLoad, BoxStore)):
                found = _map_of(s, buffers)
                if found not in self.maps:
                    self.maps[found] = names.fresh(f"{found.buffer}_box")

    def load(self, p: StmtPrinter, s: Stmt) -> None:
        """One thread brings a box to shared memory, of one block or of several."""
        assert isinstance(s, BoxLoad)
        tensor = self.maps[_map_of(s, p.exprs.buffers)]
        bar = f"&{p.exprs.name(s.barrier)}[{p.exprs.value(s.index)}]"
        at = _coordinates(p, s.src)
        arguments = [_shared_place(p, s.dst), f"&{tensor}", bar, *at]
        kind = "load"
        if s.multicast is not None:
            kind = "multicast"
            arguments.append(f"(unsigned short)({p.exprs.value(s.multicast)})")
        kind += HINTS[s.eviction]
        p.out.line(f"tile_box_{kind}_{len(at)}d({', '.join(arguments)});")

    def store(self, p: StmtPrinter, s: Stmt) -> None:
        """One thread takes a box from shared memory."""
        assert isinstance(s, BoxStore)
        tensor = self.maps[_map_of(s, p.exprs.buffers)]
        at = _coordinates(p, s.dst)
        arguments = (f"&{tensor}", _shared_place(p, s.src), *at)
        p.out.line(f"tile_box_{s.reduce or 'store'}_{len(at)}d({', '.join(arguments)});")


def tensor_strides(buffer: Buffer) -> tuple[Expr, ...]:
    """The strides of a global buffer in elements, outermost first."""
    return element_strides(buffer)


def _map_of(s: BoxLoad | BoxStore, buffers: Mapping[str, Buffer]) -> BoxMap:
    outside, inside = (s.src, s.dst) if isinstance(s, BoxLoad) else (s.dst, s.src)
    tensor, tile = buffers[outside.buffer], buffers[inside.buffer]
    box = shared_box(tile, inside)
    extents = []
    for r in outside.ranges:
        assert isinstance(r.extent, Const)  # equal to the extents in shared memory
        extents.append(int(r.extent.value))
    _check_box(tensor, extents, s)
    step = 1
    for pieces, extent in zip(reversed(box.axes), reversed(box.extents), strict=True):
        if pieces != ((extent, step),):
            raise InternalError("E9001", f"a box in {tile.name} is not contiguous", span=s.span)
        step *= extent
    bits = tensor.dtype.storage_bits
    inner = extents[-1] * bits // 8
    if box.row_bytes > GRANULARITY and inner != box.row_bytes and step * bits // 8 != inner:
        raise InternalError(
            "E9001", f"a box of {inner} bytes across in rows of {box.row_bytes}", span=s.span
        )
    in_bytes = bits // 8 or 1
    extents[-1] = inner // in_bytes
    kind = tensor.dtype.name if isinstance(s, BoxStore) and s.reduce else ""
    return BoxMap(
        buffer=tensor.name, box=tuple(reversed(extents)), row_bytes=box.row_bytes, kind=kind
    )


def _check_box(tensor: Buffer, extents: list[int], s: Stmt) -> None:
    """Raise for what the engine cannot do whatever the arguments are."""
    inner = extents[-1] * tensor.dtype.storage_bits // 8
    if tensor.rank > MAX_RANK or max(extents) > MAX_BOX or inner % GRANULARITY:
        raise InternalError("E9001", f"a box of {extents} elements of {tensor.dtype}", span=s.span)
    strides = tensor_strides(tensor)
    for n, stride in enumerate(strides):
        if not isinstance(stride, Const):
            continue
        size = int(stride.value) * tensor.dtype.storage_bits
        last = n == len(strides) - 1
        fits = stride.value == 1 if last else size % (8 * GRANULARITY) == 0
        if not fits:
            raise TileError(
                "E3017",
                f"{tensor.name} cannot be copied in boxes: stride {stride.value} of axis {n}",
                s.span,
                notes=(f"the last axis is contiguous, other strides are {GRANULARITY} bytes",),
                help="Compile the generic variant, which copies elements.",
            )


def _coordinates(p: StmtPrinter, region: Region) -> tuple[str, ...]:
    """Where the box starts, innermost axis first; of bytes where two elements share one."""
    buffer = p.exprs.buffers[region.buffer]
    starts = [p.exprs.value(r.start, UNARY) for r in reversed(region.ranges)]
    if buffer.dtype.storage_bits < 8:
        starts[0] = f"{starts[0]} / {8 // buffer.dtype.storage_bits}"
    return tuple(starts)


def _shared_place(p: StmtPrinter, region: Region) -> str:
    buffer = p.exprs.buffers[region.buffer]
    at = p.exprs.value(element_offset(buffer, [r.start for r in region.ranges]))
    if buffer.dtype.storage_bits < 8:
        at = f"({at}) / {8 // buffer.dtype.storage_bits}"
    return f"&{p.exprs.name(region.buffer)}[{at}]"
