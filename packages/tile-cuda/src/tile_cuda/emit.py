"""From a lowered function to CUDA C++: one `__global__` function for each of its kernels.

The text is header-free: the prelude functions that it mentions are pasted in front. A launch is one
dimension of blocks, whatever the rank of the tile loop (the second and third dimension of a grid
end at 65535), and the tile's indices are taken out of the block's number.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from tile_cuda.barriers import BARRIER_BYTES
from tile_cuda.captures import cluster_extents, parameters
from tile_cuda.dialect import DIALECT
from tile_cuda.engines import KernelPrinter
from tile_cuda.inline_source import texts_of
from tile_cuda.names import OWN, identifiers
from tile_cuda.places import summands
from tile_cuda.prelude.index import defined_names, mentioned, pieces_for
from tile_ir import build as b
from tile_ir.expr import Binary, Const, Expr, Var, free_vars, loads
from tile_ir.ops import Barriers, Claim, For, Kernel, RegisterLimit, Tiles, WaitDependency
from tile_ir.rewrite import declared, walk
from tile_ir.types import i32, u32
from tile_passes.emit import Writer
from tile_passes.emit.captures import loops_over_tiles
from tile_passes.emit.dialect import PRIMARY, UNARY
from tile_passes.emit.half_lanes import code_of_half, text_of_half
from tile_passes.emit.kernels import (
    DeviceExprPrinter,
    EmittedKernel,
    Source,
    arena_bytes,
    kernel_name,
)
from tile_passes.naming import Names

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tile_ir.core import Function
    from tile_ir.opdef import Stmt
    from tile_ir.target import TargetSpec

__all__ = ["emit_function"]


class CudaExprPrinter(DeviceExprPrinter):
    """Adds to an address last what the steps of unrolled loops do; keeps halves in words."""

    unrolled: frozenset[Var] = frozenset()
    """Variables of loops that are unrolled."""

    def value(self, e: Expr, least: int = 0) -> str:
        """The text of a value, in parentheses if it binds less than `least`."""
        if e not in self._values:
            text = text_of_half(self, e) or self._kept_and_set(e)
            if text is not None:
                self._values[e] = (text, PRIMARY)
        return super().value(e, least)

    def code(self, e: Expr) -> str | None:
        """The bits of a computed value where they are at hand."""
        return code_of_half(self, e)

    def _kept_and_set(self, e: Expr) -> str | None:
        """Some bits of a word kept and others set, which the compiler does in two steps where it
        knows both masks."""
        if not (isinstance(e, Binary) and e.op == "or" and e.dtype in (i32, u32)):
            return None
        kept = e.a
        if not (isinstance(kept, Binary) and kept.op == "and") or loads(kept.b) or loads(e.b):
            return None
        text = f"tile_keep_and_set({', '.join(map(self.value, (kept.a, kept.b, e.b)))})"
        return text if e.dtype is u32 else f"(int){text}"

    def wide_offset(self, starts: Sequence[Expr], strides: Sequence[Expr]) -> str:
        """The sum over the axes. What the steps of unrolled loops add comes last and apart: it
        becomes the constant of an access, and all steps share one address."""
        terms: list[str] = []
        steps: list[str] = []
        for start, stride in zip(starts, strides, strict=True):
            for part, to in zip(self._parted(start), (terms, steps), strict=True):
                if not (isinstance(part, Const) and part.value == 0):
                    to.append(self.wide_term(part, stride))
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


def emit_function(fn: Function, spec: TargetSpec, line_directives: bool = False) -> Source:
    """Print a lowered function for `spec`. Pure: equal functions give equal text."""
    buffers = declared(fn)
    barriers = [s.name for s in walk(fn.body) if isinstance(s, Barriers)]
    names = identifiers(fn, [*buffers, *barriers])
    taken = Names({*OWN, *names.values()})
    exprs = CudaExprPrinter(DIALECT, buffers, names, set())
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
    parts = (pieces_for(needs, wrappers), *texts_of(fn), body)
    text = "\n".join(part for part in parts if part)
    return Source(text=text, kernels=kernels, names=names)


def shared_bytes(kernel: Kernel) -> int:
    """The size of a block's arena: where the last buffer or barrier ends."""
    barriers = (s for s in walk(kernel.body) if isinstance(s, Barriers))
    return max([arena_bytes(kernel), *(s.offset + s.count * BARRIER_BYTES for s in barriers)])


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
        p.rules[Claim] = lambda _, s: _claim(p, kernel, s)
        p.body(kernel.body)
    p.out.line()
    return EmittedKernel(
        name=name,
        parameters=taken,
        threads=threads,
        shared_bytes=size,
        cluster=math.prod(kernel.cluster),
        dependent=any(isinstance(s, WaitDependency) for s in walk(kernel.body)),
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
    go_on = f"{number} = {p.exprs.name(tiles.next)}" if tiles.next else f"{number} += {step}"
    head = f"for (int {number} = {first}; {number} < {count}; {go_on})"
    with p.out.block(head), p.atoms.asynchronous.loop(tiles.body):
        if snake:
            p.out.line(f"const int tile = tile_snake(turn, {count}, {step});")
        _tile(p, kernel, tiles, "tile")


def _claim(p: KernelPrinter, kernel: Kernel, s: Stmt) -> None:
    """One draw from the counter of the launch; the first tiles are those of blocks or clusters."""
    assert isinstance(s, Claim)
    assert s.result is not None  # lowering has taken the channel's place
    together = math.prod(kernel.cluster)
    first = f"(int)gridDim.x / {together}" if together > 1 else "(int)gridDim.x"
    counter, tiles = p.exprs.name(s.counter), p.exprs.value(s.tiles)
    name = p.exprs.name(s.result.name)
    p.out.line(f"const int {name} = tile_claim({counter}, {tiles}, {first});")


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
