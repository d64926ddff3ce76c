"""From a lowered function to HIP C++: one kernel for each of its kernels.

The text is header-free: the prelude functions that it mentions are pasted in front. A launch is one
dimension of blocks, whatever the rank of the tile loop, and the tile's indices are taken out of the
block's number. Shared memory is one array of known size, so the compiler counts it.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from tile_ir.diag import InternalError
from tile_ir.ops import Kernel, Tiles
from tile_ir.rewrite import declared, walk
from tile_passes.emit import StmtPrinter, Writer
from tile_passes.emit.captures import parameters
from tile_passes.emit.kernels import (
    DeviceExprPrinter,
    EmittedKernel,
    Source,
    arena_bytes,
    kernel_name,
    print_tiles,
)
from tile_rocm.atoms import AtomPrinter
from tile_rocm.dialect import DIALECT
from tile_rocm.names import identifiers
from tile_rocm.prelude.index import defined_names, mentioned, pieces_for
from tile_rocm.statements import rules_for

if TYPE_CHECKING:
    from tile_ir.core import Function
    from tile_ir.opdef import Stmt
    from tile_ir.target import TargetSpec

__all__ = ["emit_function"]


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


def _kernel(p: StmtPrinter, fn: Function, kernel: Kernel) -> EmittedKernel:
    if math.prod(kernel.cluster) > 1:
        raise InternalError("E9001", f"{kernel.name}: a cluster of blocks", span=kernel.span)
    name, size = kernel_name(fn, kernel), arena_bytes(kernel)
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
    assert isinstance(tiles, Tiles)
    if tiles.claim == "dynamic":
        raise InternalError("E9001", "a dynamic tile loop reached the emitter", span=tiles.span)
    print_tiles(p, kernel, tiles, "tile_block()", "tile_blocks()")
