"""From a lowered function to Metal Shading Language: one kernel for each of its kernels.

The text includes the language's own library and nothing else: the prelude functions that it
mentions are pasted in front. A launch is one dimension of blocks, whatever the rank of the tile
loop, and the tile's indices are taken out of the block's number. Memory of a block is one array of
known size, because PyTorch has no way to ask for more at a launch.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from tile_ir.diag import InternalError, TileError
from tile_ir.opdef import Access
from tile_ir.ops import Kernel, Sync, Tiles
from tile_ir.rewrite import all_effects, declared, walk
from tile_metal.dialect import dialect_for
from tile_metal.functors import Functors
from tile_metal.limits import refuse_doubles
from tile_metal.memory_orders import is_ordered, with_coherent_pointers
from tile_metal.names import identifiers
from tile_metal.prelude.index import HEAD, defined_names, mentioned, pieces_for
from tile_metal.statements import rules_for, sync_rule
from tile_passes.emit import StmtPrinter, Writer
from tile_passes.emit.captures import Forms, parameters
from tile_passes.emit.kernels import (
    DeviceExprPrinter,
    EmittedKernel,
    Source,
    arena_bytes,
    kernel_name,
    print_tiles,
)
from tile_passes.launch.alignments import home_of, view_sources

if TYPE_CHECKING:
    from tile_ir.core import Function
    from tile_ir.opdef import Stmt
    from tile_ir.target import TargetSpec

__all__ = ["FORMS", "emit_function"]

FORMS = Forms(pointer="{const}device {kind} *{name}", scalar="constant {kind} &{name}")
"""How parameters are declared; each then says which argument of the launch it is."""

MOST_ARGUMENTS = 31
"""Entries of the table of buffers ("Metal Feature Set Tables")."""
STRICT = "#pragma METAL fp math_mode(safe)\n#pragma METAL fp contract(off)\n"
"""Products and sums keep their own roundings, whatever PyTorch asks of the compiler."""


def emit_function(fn: Function, spec: TargetSpec, line_directives: bool = False) -> Source:
    """Print a lowered function for `spec`. Pure: equal functions give equal text.

    Raises TileError E3101 for what no kernel of this target can do, InternalError E9001 for an
    operation that has to be gone by now.
    """
    refuse_doubles(fn)
    ordered = is_ordered(fn, spec)
    buffers, functors = declared(fn), Functors()
    names = identifiers(fn, buffers)
    printer = StmtPrinter(
        DeviceExprPrinter(dialect_for(functors), buffers, names, set()),
        Writer(line_directives),
        rules_for(spec, functors),
    )
    kernels = tuple(
        _kernel(printer, fn, kernel) for kernel in walk(fn.body) if isinstance(kernel, Kernel)
    )
    body, own = printer.out.text(), functors.definitions
    needs = [n for n in mentioned(body) if n in defined_names() or n in own]
    rounding = STRICT if fn.numerics == "strict" else ""
    text = "\n".join((pieces_for(needs, own), body))
    text = with_coherent_pointers(text) if ordered else text
    return Source(text=f"{HEAD}{rounding}\n{text}", kernels=kernels, names=names)


def _kernel(p: StmtPrinter, fn: Function, kernel: Kernel) -> EmittedKernel:
    if math.prod(kernel.cluster) > 1:
        raise InternalError("E9001", f"{kernel.name}: a cluster of blocks", span=kernel.span)
    name, size = kernel_name(fn, kernel), arena_bytes(kernel)
    taken = parameters(p.exprs, kernel, FORMS)
    if len(taken) > MOST_ARGUMENTS:
        raise _too_many_arguments(kernel, len(taken))
    threads = math.prod(kernel.threads)
    p.out.forget_place()
    p.out.line(f"TILE_KERNEL({threads}) {name}(")
    for n, parameter in enumerate(taken):
        p.out.line(f"    {parameter.declaration} [[buffer({n})]],")
    with p.out.block("    TILE_PLACE)"):
        if size:
            p.out.line(f"TILE_ARENA(arena, {size});")
        p.rules[Sync] = sync_rule(_talks_through_device_memory(fn, kernel, p))
        p.rules[Tiles] = lambda _, s: _tiles(p, kernel, s)
        p.body(kernel.body)
    p.out.line()
    return EmittedKernel(name=name, parameters=taken, threads=threads, shared_bytes=size)


def _too_many_arguments(kernel: Kernel, count: int) -> TileError:
    return TileError(
        "E3101",
        f"{kernel.name} takes {count} arrays, scalars and sizes",
        kernel.span,
        (f"a kernel of this target has at most {MOST_ARGUMENTS} arguments",),
        "Split the kernel, put arrays of one type into one, or make sizes constants.",
    )


def _talks_through_device_memory(fn: Function, kernel: Kernel, p: StmtPrinter) -> bool:
    """Whether an array of the device is both read and written, so that threads may see what others
    of their block wrote there."""
    sources = view_sources(fn)
    read: set[str] = set()
    written: set[str] = set()
    for effect in all_effects(kernel.body):
        name = home_of(effect.buffer, sources)
        if p.exprs.buffers[name].scope == "global":
            read |= {name} if effect.access & Access.READ else set()
            written |= {name} if effect.access & (Access.WRITE | Access.UPDATE) else set()
    return bool(read & written)


def _tiles(p: StmtPrinter, kernel: Kernel, tiles: Stmt) -> None:
    assert isinstance(tiles, Tiles)
    print_tiles(p, kernel, tiles, "(int)block_index", "(int)block_count")
