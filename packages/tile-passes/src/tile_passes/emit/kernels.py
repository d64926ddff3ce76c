"""What emitting a function gives, and what every device's emitter computes alike: names of kernels,
the size of a block's memory, subscripts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tile_ir import build as b
from tile_ir.expr import Cast, Const, Expr, Ramp, Var
from tile_ir.ops import Alloc, Kernel
from tile_ir.rewrite import walk
from tile_ir.types import i32
from tile_passes.emit.addresses import element_strides
from tile_passes.emit.captures import loops_over_tiles
from tile_passes.emit.dialect import ADD, PRIMARY, UNARY
from tile_passes.emit.exprs import ExprPrinter
from tile_passes.emit.names import c_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tile_ir.core import Buffer, Function
    from tile_ir.ops import Tiles
    from tile_passes.emit.captures import Parameter
    from tile_passes.emit.cfamily import StmtPrinter

__all__ = [
    "DeviceExprPrinter",
    "EmittedKernel",
    "Source",
    "arena_bytes",
    "kernel_name",
    "print_tiles",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class EmittedKernel:
    """One kernel: its name in the binary, what it takes, threads and bytes of shared memory of a
    block, blocks of a cluster, and whether it may begin before the kernel in front has ended."""

    name: str
    parameters: tuple[Parameter, ...]
    threads: int
    shared_bytes: int
    cluster: int = 1
    dependent: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """The text of one function and its kernels in launch order; `names` maps IR names to
    identifiers, for the host part; `matrix` says whether there are matrix instructions on
    registers."""

    text: str
    kernels: tuple[EmittedKernel, ...]
    names: dict[str, str]
    matrix: bool = False


class DeviceExprPrinter(ExprPrinter):
    """Indices are computed in their own type, 32 bits wide where the program proves that enough;
    products with the strides of global memory take 64."""

    def offset(self, buffer: Buffer, indices: Sequence[Expr]) -> str:
        """The element offset of `indices`; of the first lane where the last one is a ramp."""
        strides = element_strides(buffer)
        starts = [i.base if isinstance(i, Ramp) else i for i in indices]
        if buffer.scope == "global":
            return self.wide_offset(starts, strides)
        total: Expr = Const(0, i32)
        for start, stride in zip(starts, strides, strict=True):
            step = Const(int(stride.value), i32) if isinstance(stride, Const) else stride
            total = b.add(total, b.mul(b.cast(start, i32), step))
        return self.value(total)

    def wide_offset(self, starts: Sequence[Expr], strides: Sequence[Expr]) -> str:
        """The offset in global memory: the sum over the axes."""
        terms = [
            self.wide_term(start, stride)
            for start, stride in zip(starts, strides, strict=True)
            if not (isinstance(start, Const) and start.value == 0)
        ]
        return " + ".join(terms) or "0"

    def wide_term(self, start: Expr, stride: Expr) -> str:
        """A coordinate times its stride."""
        if isinstance(stride, Const) and stride.value == 1:
            return self.value(start, ADD)
        narrow = stride.a if isinstance(stride, Cast) else stride
        by = (
            self.value(narrow, UNARY)
            if isinstance(narrow, (Const, Var))
            else self.index(stride, PRIMARY)
        )
        return f"({self.dialect.index_type}){self.value(start, UNARY)} * {by}"


def print_tiles(p: StmtPrinter, kernel: Kernel, tiles: Tiles, block: str, blocks: str) -> None:
    """The tile of this block, or its tiles one after the other; `block` and `blocks` are the texts
    of the block's number and of how many there are."""
    if not loops_over_tiles(kernel, tiles):
        _print_tile(p, tiles, block)
        return
    count = " * ".join(p.exprs.value(e, UNARY) for e in tiles.extents) or "1"
    with p.out.block(f"for (int tile = {block}; tile < {count}; tile += {blocks})"):
        _print_tile(p, tiles, "tile")


def _print_tile(p: StmtPrinter, tiles: Tiles, number: str) -> None:
    """The indices of tile `number`, the first one fastest, then the tile's body."""
    rest = number
    for n, (var, extent) in enumerate(zip(tiles.vars, tiles.extents, strict=True)):
        last = n == len(tiles.vars) - 1
        count = p.exprs.value(extent, UNARY)
        index = rest if last else f"{rest} % {count}"
        p.out.line(f"const int {p.exprs.name(var.name)} = {index};")
        rest = f"{rest} / {count}"
    p.body(tiles.body)


def kernel_name(fn: Function, kernel: Kernel) -> str:
    """The kernel's own name, and the function's where that does not say it yet."""
    own = kernel.name if kernel.name.startswith(fn.name) else f"{fn.name}_{kernel.name}"
    return c_name(own)


def arena_bytes(kernel: Kernel) -> int:
    """The size of a block's arena: where the last buffer ends."""
    ends = [
        (s.buffer.offset or 0) + _bytes(s.buffer)
        for s in walk(kernel.body)
        if isinstance(s, Alloc) and s.buffer.scope == "shared"
    ]
    return max(ends, default=0)


def _bytes(buffer: Buffer) -> int:
    element = buffer.dtype.storage_bits
    count = buffer.slots
    if buffer.layout is not None:
        count *= buffer.layout.cosize(element)
    else:
        for extent in buffer.shape:
            assert isinstance(extent, Const)
            count *= int(extent.value)
    return -(-count * element // 8)
