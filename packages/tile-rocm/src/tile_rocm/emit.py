"""From a lowered function to HIP C++: one kernel for each of its kernels.

The text is header-free: the prelude functions that it mentions are pasted in front. A launch is one
dimension of blocks, whatever the rank of the tile loop, and the tile's indices are taken out of the
block's number. Shared memory is one array of known size, so the compiler counts it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tile_ir import build as b
from tile_ir.diag import InternalError
from tile_ir.expr import Cast, Const, Expr, Ramp, Var
from tile_ir.ops import Alloc, Kernel, Tiles
from tile_ir.rewrite import declared, walk
from tile_ir.types import i32
from tile_passes.emit import ExprPrinter, StmtPrinter, Writer, c_name
from tile_passes.emit.addresses import element_strides
from tile_passes.emit.dialect import ADD, PRIMARY, UNARY
from tile_rocm.atoms import AtomPrinter
from tile_rocm.captures import Parameter, loops_over_tiles, parameters
from tile_rocm.dialect import DIALECT
from tile_rocm.names import identifiers
from tile_rocm.prelude.index import defined_names, mentioned, pieces_for
from tile_rocm.statements import rules_for

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tile_ir.core import Buffer, Function
    from tile_ir.opdef import Stmt
    from tile_ir.target import TargetSpec

__all__ = ["EmittedKernel", "Source", "emit_function"]


@dataclass(frozen=True, slots=True, kw_only=True)
class EmittedKernel:
    """One kernel: its name in the binary, what it takes, threads and bytes of shared memory of a
    block."""

    name: str
    parameters: tuple[Parameter, ...]
    threads: int
    shared_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """The text of one function and its kernels in launch order; `names` maps IR names to
    identifiers, for the host part; `matrix` says whether there are matrix instructions."""

    text: str
    kernels: tuple[EmittedKernel, ...]
    names: dict[str, str]
    matrix: bool


class DeviceExprPrinter(ExprPrinter):
    """Indices are computed in their own type, 32 bits wide where the program proves that enough;
    products with the strides of global memory take 64."""

    def offset(self, buffer: Buffer, indices: Sequence[Expr]) -> str:
        """The element offset of `indices`; of the first lane where the last one is a ramp."""
        strides = element_strides(buffer)
        starts = [i.base if isinstance(i, Ramp) else i for i in indices]
        if buffer.scope == "global":
            return self._wide_offset(starts, strides)
        total: Expr = Const(0, i32)
        for start, stride in zip(starts, strides, strict=True):
            step = Const(int(stride.value), i32) if isinstance(stride, Const) else stride
            total = b.add(total, b.mul(b.cast(start, i32), step))
        return self.value(total)

    def _wide_offset(self, starts: Sequence[Expr], strides: Sequence[Expr]) -> str:
        terms = [
            self._wide_term(start, stride)
            for start, stride in zip(starts, strides, strict=True)
            if not (isinstance(start, Const) and start.value == 0)
        ]
        return " + ".join(terms) or "0"

    def _wide_term(self, start: Expr, stride: Expr) -> str:
        if isinstance(stride, Const) and stride.value == 1:
            return self.value(start, ADD)
        narrow = stride.a if isinstance(stride, Cast) else stride
        by = (
            self.value(narrow, UNARY)
            if isinstance(narrow, (Const, Var))
            else self.index(stride, PRIMARY)
        )
        return f"(long long){self.value(start, UNARY)} * {by}"


def emit_function(fn: Function, spec: TargetSpec, line_directives: bool = False) -> Source:
    """Print a lowered function for `spec`. Pure: equal functions give equal text.

    Raises TileError E3101 for what no kernel of this target can do, InternalError E9001 for an
    operation that has to be gone by now.
    """
    buffers = declared(fn)
    names = identifiers(fn, buffers)
    atoms = AtomPrinter(spec)
    printer = StmtPrinter(
        DeviceExprPrinter(DIALECT, buffers, names, set()),
        Writer(line_directives),
        rules_for(spec, atoms),
    )
    kernels = tuple(
        _kernel(printer, fn, kernel) for kernel in walk(fn.body) if isinstance(kernel, Kernel)
    )
    own = {**atoms.wrappers, "TILE_WAVE": f"#define TILE_WAVE {spec.warp_width}"}
    body = printer.out.text()
    needs = [n for n in mentioned(body) if n in defined_names() or n in own]
    text = "\n".join(part for part in (pieces_for(needs, own), body) if part)
    return Source(text=text, kernels=kernels, names=names, matrix=bool(atoms.wrappers))


def kernel_name(fn: Function, kernel: Kernel) -> str:
    """The kernel's own name, and the function's where that does not say it yet."""
    own = kernel.name if kernel.name.startswith(fn.name) else f"{fn.name}_{kernel.name}"
    return c_name(own)


def shared_bytes(kernel: Kernel) -> int:
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


def _kernel(p: StmtPrinter, fn: Function, kernel: Kernel) -> EmittedKernel:
    if math.prod(kernel.cluster) > 1:
        raise InternalError("E9001", f"{kernel.name}: a cluster of blocks", span=kernel.span)
    name, size = kernel_name(fn, kernel), shared_bytes(kernel)
    taken = parameters(p.exprs, kernel)
    threads = math.prod(kernel.threads)
    arguments = ", ".join(parameter.declaration for parameter in taken)
    p.out.forget_place()
    with p.out.block(f"{_head(kernel, threads)} {name}({arguments})"):
        if size:
            p.out.line(f"TILE_SHARED unsigned char arena[{size}];")
        p.rules[Tiles] = lambda _, s: _tiles(p, kernel, s)
        p.body(kernel.body)
    p.out.line()
    return EmittedKernel(name=name, parameters=taken, threads=threads, shared_bytes=size)


def _head(kernel: Kernel, threads: int) -> str:
    """What the compiler must know to bound registers: threads, and waves of a unit where more
    blocks are to run beside each other."""
    if not kernel.min_blocks:
        return f"TILE_KERNEL({threads}) void"
    return f"TILE_KERNEL({threads}) TILE_BLOCKS({threads}, {kernel.min_blocks}) void"


def _tiles(p: StmtPrinter, kernel: Kernel, tiles: Stmt) -> None:
    """The tile of this block, or its tiles one after the other."""
    assert isinstance(tiles, Tiles)
    if tiles.claim == "dynamic":
        raise InternalError("E9001", "a dynamic tile loop reached the emitter", span=tiles.span)
    if not loops_over_tiles(kernel, tiles):
        _tile(p, tiles, "tile_block()")
        return
    count = " * ".join(p.exprs.value(e, UNARY) for e in tiles.extents) or "1"
    with p.out.block(f"for (int tile = tile_block(); tile < {count}; tile += tile_blocks())"):
        _tile(p, tiles, "tile")


def _tile(p: StmtPrinter, tiles: Tiles, number: str) -> None:
    """The indices of tile `number`, the first one fastest, then the tile's body."""
    rest = number
    for n, (var, extent) in enumerate(zip(tiles.vars, tiles.extents, strict=True)):
        last = n == len(tiles.vars) - 1
        count = p.exprs.value(extent, UNARY)
        index = rest if last else f"{rest} % {count}"
        p.out.line(f"const int {p.exprs.name(var.name)} = {index};")
        rest = f"{rest} / {count}"
    p.body(tiles.body)
