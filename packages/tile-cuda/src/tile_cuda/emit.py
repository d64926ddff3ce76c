"""From a lowered function to CUDA C++: one `__global__` function for each of its kernels.

The text is header-free: the prelude functions that it mentions are pasted in front. A launch is one
dimension of blocks, whatever the rank of the tile loop (the second and third dimension of a grid
end at 65535), and the tile's indices are taken out of the block's number.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tile_cuda.barriers import BARRIER_BYTES
from tile_cuda.captures import Parameter, cluster_extents, loops_over_tiles, parameters
from tile_cuda.dialect import DIALECT
from tile_cuda.engines import KernelPrinter
from tile_cuda.names import OWN, identifiers
from tile_cuda.places import summands
from tile_cuda.prelude.index import defined_names, mentioned, pieces_for
from tile_ir import build as b
from tile_ir.expr import Cast, Const, Expr, Ramp, Var, free_vars
from tile_ir.ops import Alloc, Barriers, For, Kernel, RegisterLimit, Tiles
from tile_ir.rewrite import declared, walk
from tile_ir.types import i32
from tile_passes.emit import ExprPrinter, Writer, c_name
from tile_passes.emit.addresses import element_strides
from tile_passes.emit.dialect import ADD, PRIMARY, UNARY
from tile_passes.naming import Names

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tile_ir.core import Buffer, Function
    from tile_ir.opdef import Stmt
    from tile_ir.target import TargetSpec

__all__ = ["EmittedKernel", "Source", "emit_function"]


@dataclass(frozen=True, slots=True, kw_only=True)
class EmittedKernel:
    """One kernel: its name in the binary, what it takes, threads and bytes of shared memory of a
    block, blocks of a cluster."""

    name: str
    parameters: tuple[Parameter, ...]
    threads: int
    shared_bytes: int
    cluster: int = 1


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

    unrolled: frozenset[Var] = frozenset()
    """Variables of loops that are unrolled."""

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
        """The sum over the axes. What the steps of unrolled loops add comes last and apart: it
        becomes the constant of an access, and all steps share one address."""
        terms: list[str] = []
        steps: list[str] = []
        for start, stride in zip(starts, strides, strict=True):
            for part, to in zip(self._parted(start), (terms, steps), strict=True):
                if not (isinstance(part, Const) and part.value == 0):
                    to.append(self._wide_term(part, stride))
        return " + ".join([*terms, *steps]) or "0"

    def _parted(self, start: Expr) -> tuple[Expr, Expr]:
        """A coordinate as what does not change in unrolled loops and what they add."""
        rest: Expr = Const(0, start.dtype)
        steps: Expr = rest
        for term in summands(start):
            names = free_vars(term)
            if names and names <= self.unrolled:
                steps = b.add(steps, term)
            else:
                rest = b.add(rest, term)
        return rest, steps

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
    barriers = [s.name for s in walk(fn.body) if isinstance(s, Barriers)]
    names = identifiers(fn, [*buffers, *barriers])
    taken = Names({*OWN, *names.values()})
    exprs = DeviceExprPrinter(DIALECT, buffers, names, set())
    exprs.unrolled = frozenset(
        s.var for s in walk(fn.body) if isinstance(s, For) and s.kind == "unroll"
    )
    printer = KernelPrinter(exprs, Writer(line_directives), spec)
    kernels = tuple(
        _kernel(printer, fn, kernel, taken)
        for kernel in walk(fn.body)
        if isinstance(kernel, Kernel)
    )
    body, wrappers = printer.out.text(), printer.atoms.wrappers
    needs = [n for n in mentioned(body) if n in defined_names() or n in wrappers]
    text = "\n".join(part for part in (pieces_for(needs, wrappers), body) if part)
    return Source(text=text, kernels=kernels, names=names)


def kernel_name(fn: Function, kernel: Kernel) -> str:
    """The kernel's own name, and the function's where that does not say it yet."""
    own = kernel.name if kernel.name.startswith(fn.name) else f"{fn.name}_{kernel.name}"
    return c_name(own)


def shared_bytes(kernel: Kernel) -> int:
    """The size of a block's arena: where the last buffer or barrier ends."""
    ends = [0]
    for s in walk(kernel.body):
        if isinstance(s, Alloc) and s.buffer.scope == "shared":
            ends.append((s.buffer.offset or 0) + _bytes(s.buffer))
        elif isinstance(s, Barriers):
            ends.append(s.offset + s.count * BARRIER_BYTES)
    return max(ends)


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


def _kernel(p: KernelPrinter, fn: Function, kernel: Kernel, names: Names) -> EmittedKernel:
    p.begin(kernel, p.exprs.buffers, names)
    name, size = kernel_name(fn, kernel), shared_bytes(kernel)
    taken = parameters(p.exprs, kernel, p.boxes.maps)
    threads = math.prod(kernel.threads)
    arguments = ", ".join(parameter.declaration for parameter in taken)
    p.out.forget_place()
    head = f'extern "C" __global__ void {_attributes(kernel, threads)} {name}({arguments})'
    with p.out.block(head):
        if size:
            p.out.line("extern __shared__ __align__(1024) unsigned char arena[];")
        p.rules[Tiles] = lambda _, s: _tiles(p, kernel, s)
        p.body(kernel.body)
    p.out.line()
    return EmittedKernel(
        name=name,
        parameters=taken,
        threads=threads,
        shared_bytes=size,
        cluster=math.prod(kernel.cluster),
    )


def _attributes(kernel: Kernel, threads: int) -> str:
    """What the assembler must know to bound registers, and the size of a cluster.

    Registers are handed over only where their number at the start is known: one block at least
    says it.
    """
    least = kernel.min_blocks
    if not least and any(isinstance(s, RegisterLimit) for s in walk(kernel.body)):
        least = 1
    text = f"__launch_bounds__({threads}{f', {least}' if least else ''})"
    blocks = math.prod(kernel.cluster)
    return f"{text} __cluster_dims__({blocks}, 1, 1)" if blocks > 1 else text


def _tiles(p: KernelPrinter, kernel: Kernel, tiles: Stmt) -> None:
    """The tile of this block, or its tiles one after the other. The blocks of a cluster are
    neighbours: together they take a box of `kernel.cluster` tiles.

    A block of its own for each tile is a dynamic claim too: the device starts the next one where a
    block has ended.
    """
    assert isinstance(tiles, Tiles)
    blocks = math.prod(kernel.cluster)
    first, step = "blockIdx.x", "gridDim.x"
    if blocks > 1:
        first, step = f"blockIdx.x / {blocks}", f"gridDim.x / {blocks}"
    extents = cluster_extents(kernel, tiles)
    if not loops_over_tiles(kernel, tiles):
        _tile(p, kernel, tiles, f"(int){first}" if blocks == 1 else f"(int)({first})")
        return
    count = " * ".join(p.exprs.value(e, UNARY) for e in extents) or "1"
    snake = tiles.deal == "snake"
    number = "turn" if snake else "tile"
    head = f"for (int {number} = {first}; {number} < {count}; {number} += {step})"
    with p.out.block(head), p.atoms.asynchronous.loop(tiles.body):
        if snake:
            p.out.line(f"const int tile = tile_snake(turn, {count}, {step});")
        _tile(p, kernel, tiles, "tile")


def _tile(p: KernelPrinter, kernel: Kernel, tiles: Tiles, number: str) -> None:
    """The indices of tile `number`, the first one fastest, then the tile's body."""
    rest, rank = number, "tile_cluster_rank()"
    extents = cluster_extents(kernel, tiles)
    for n, (var, extent) in enumerate(zip(tiles.vars, extents, strict=True)):
        name, last = p.exprs.name(var.name), n == len(tiles.vars) - 1
        count = p.exprs.value(extent, UNARY)
        index = rest if last else f"{rest} % {count}"
        along = kernel.cluster[n] if n < len(kernel.cluster) else 1
        if along > 1:
            index = f"({index}) * {along} + {rank} % {along}"
            rank = f"{rank} / {along}"
        p.out.line(f"const int {name} = {index};")
        rest = f"{rest} / {count}"
    p.body(tiles.body)
