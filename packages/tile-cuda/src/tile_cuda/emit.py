"""From a lowered function to CUDA C++: one `__global__` function for each of its kernels.

The text is header-free: the prelude functions that it mentions are pasted in front. A launch is one
dimension of blocks, whatever the rank of the tile loop (the second and third dimension of a grid
end at 65535), and the tile's indices are taken out of the block's number.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tile_cuda.atoms import AtomPrinter
from tile_cuda.captures import Parameter, loops_over_tiles, parameters, tiles_of
from tile_cuda.dialect import DIALECT
from tile_cuda.names import identifiers
from tile_cuda.prelude.index import defined_names, mentioned, pieces_for
from tile_cuda.statements import rules_for
from tile_ir import build as b
from tile_ir.diag import InternalError
from tile_ir.expr import Cast, Const, Expr, Ramp, Var
from tile_ir.ops import Alloc, Atom, Kernel, Tiles
from tile_ir.rewrite import declared, walk
from tile_ir.types import i32
from tile_passes.emit import ExprPrinter, StmtPrinter, Writer, c_name
from tile_passes.emit.addresses import element_strides
from tile_passes.emit.dialect import ADD, PRIMARY, UNARY

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tile_ir.core import Buffer, Function
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
    identifiers, for the host part."""

    text: str
    kernels: tuple[EmittedKernel, ...]
    names: dict[str, str]


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
    """Print a lowered function for `spec`. Pure: equal functions give equal text."""
    buffers = declared(fn)
    names = identifiers(fn, list(buffers))
    out, atoms = Writer(line_directives), AtomPrinter(spec)
    exprs = DeviceExprPrinter(DIALECT, buffers, names, set())
    printer = StmtPrinter(exprs, out, {**rules_for(spec), Atom: atoms.print})
    kernels = tuple(
        _kernel(printer, fn, kernel) for kernel in walk(fn.body) if isinstance(kernel, Kernel)
    )
    body = out.text()
    needs = [n for n in mentioned(body) if n in defined_names() or n in atoms.wrappers]
    text = "\n".join(part for part in (pieces_for(needs, atoms.wrappers), body) if part)
    return Source(text=text, kernels=kernels, names=names)


def kernel_name(fn: Function, kernel: Kernel) -> str:
    """The kernel's own name, and the function's where that does not say it yet."""
    own = kernel.name if kernel.name.startswith(fn.name) else f"{fn.name}_{kernel.name}"
    return c_name(own)


def shared_bytes(kernel: Kernel) -> int:
    """The size of a block's arena: where the last buffer ends."""
    shared = [
        s.buffer for s in walk(kernel.body) if isinstance(s, Alloc) and s.buffer.scope == "shared"
    ]
    return max(((b.offset or 0) + _bytes(b) for b in shared), default=0)


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
    name, taken, size = kernel_name(fn, kernel), parameters(p.exprs, kernel), shared_bytes(kernel)
    threads = 1
    for extent in kernel.threads:
        threads *= extent
    bounds = f"{threads}, {kernel.min_blocks}" if kernel.min_blocks else str(threads)
    arguments = ", ".join(parameter.declaration for parameter in taken)
    p.out.forget_place()
    head = f'extern "C" __global__ void __launch_bounds__({bounds}) {name}({arguments})'
    with p.out.block(head):
        if size:
            p.out.line("extern __shared__ __align__(1024) unsigned char arena[];")
        _body(p, kernel)
    p.out.line()
    return EmittedKernel(name=name, parameters=taken, threads=threads, shared_bytes=size)


def _body(p: StmtPrinter, kernel: Kernel) -> None:
    tiles = tiles_of(kernel)
    if tiles is None:
        p.body(kernel.body)
        return
    at = kernel.body.index(tiles)
    p.body(kernel.body[:at])
    if tiles.claim == "dynamic":
        raise InternalError("E9001", "a dynamic tile loop reached the emitter", span=tiles.span)
    if not loops_over_tiles(kernel, tiles):
        _tile(p, tiles, "(int)blockIdx.x")
        return
    count = " * ".join(p.exprs.value(e, 13) for e in tiles.extents) or "1"
    head = f"for (int tile = blockIdx.x; tile < {count}; tile += gridDim.x)"
    with p.out.block(head):
        _tile(p, tiles, "tile")


def _tile(p: StmtPrinter, tiles: Tiles, number: str) -> None:
    """The indices of tile `number`, the first one fastest, then the tile's body."""
    rest = number
    for n, (var, extent) in enumerate(zip(tiles.vars, tiles.extents, strict=True)):
        name = p.exprs.name(var.name)
        if n == len(tiles.vars) - 1:
            p.out.line(f"const int {name} = {rest};")
            break
        count = p.exprs.value(extent, 13)
        p.out.line(f"const int {name} = {rest} % {count};")
        rest = f"{rest} / {count}"
    p.body(tiles.body)
