"""A kernel as the function that runs one of its tiles."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tile_cpu.c_statements import streamed_stores
from tile_cpu.captures import captured, needs_runtime
from tile_cpu.sizes import ALIGNMENT, is_dynamic, scratch_size
from tile_ir.diag import InternalError
from tile_ir.expr import Binary
from tile_ir.ops import Alloc, Kernel, Store, Tiles
from tile_ir.rewrite import walk
from tile_passes.emit import StmtPrinter, c_name

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tile_ir.core import Buffer, Function
    from tile_ir.expr import Expr


def tiles_of(kernel: Kernel) -> Tiles:
    """The tile loop of a kernel."""
    found = [s for s in kernel.body if isinstance(s, Tiles)]
    if len(found) != 1:
        raise InternalError("E9001", f"kernel {kernel.name} has {len(found)} tile loops")
    return found[0]


def static_scratch(kernel: Kernel) -> int:
    """The bytes of scratch that the plan laid out, at least one line."""
    ends = [
        s.buffer.offset + scratch_size(s.buffer)
        for s in walk(kernel.body)
        if isinstance(s, Alloc) and s.buffer.offset is not None
    ]
    return max([ALIGNMENT, *ends])


def dynamic_buffers(kernel: Kernel) -> list[Buffer]:
    """The buffers whose size is known at launch; they lie behind the others, in program order."""
    allocs = (s for s in walk(kernel.body) if isinstance(s, Alloc))
    return [s.buffer for s in allocs if is_dynamic(s.buffer)]


def job_stem(fn: Function, kernel: Kernel) -> str:
    """What the C names of a kernel begin with: its own name, and the function's where that does
    not say it yet.
    """
    own = kernel.name if kernel.name.startswith(fn.name) else f"{fn.name}_{kernel.name}"
    return c_name(own)


def print_job(
    p: StmtPrinter,
    kernel: Kernel,
    name: str,
    past: Mapping[str, Expr],
    opening: Sequence[str] = (),
) -> None:
    """Print a kernel's context structure and job function; their names begin with `name`. `past`:
    the tensors that are written past the caches, and when. `opening`: lines that come first."""
    fields = captured(p.exprs, kernel)
    with p.out.block(f"struct {name}_ctx", "};"):
        p.out.line("const struct tile_rt *rt;")
        for f in fields:
            p.out.line(f"{f.declaration};")
    p.out.line()
    p.out.forget_place()
    head = f"static void {name}_job(void *context, int64_t job, int32_t worker, char *scratch)"
    with p.out.block(head):
        for line in opening:
            p.out.line(line)
        p.out.line(f"const struct {name}_ctx *ctx = context;")
        if needs_runtime(kernel):
            p.out.line("const struct tile_rt *const rt = ctx->rt;")
        for f in fields:
            p.out.line(f"{f.local} = ctx->{f.name};")
        if dynamic_buffers(kernel):
            p.out.line(f"char *more = scratch + {static_scratch(kernel)};")
        _print_tile_indices(_streaming(p, past) if past else p, kernel)
    p.out.line()


def _streaming(p: StmtPrinter, past: Mapping[str, Expr]) -> StmtPrinter:
    """The printer for a job that writes past the caches."""
    flags = dict.fromkeys(past, "1")
    for name, large in past.items():
        if isinstance(large, Binary):
            flags[name] = f"tile_past_{p.exprs.name(name)}"
            text = f"{p.exprs.index(large.a)} >= {p.exprs.index(large.b)}"
            p.out.line(f"const int32_t {flags[name]} = {text};")
    return StmtPrinter(p.exprs, p.out, p.rules | {Store: streamed_stores(flags)})


def _print_tile_indices(p: StmtPrinter, kernel: Kernel) -> None:
    tiles = tiles_of(kernel)
    before = kernel.body[: kernel.body.index(tiles)]
    p.body(before)
    rest = "job"
    last = len(tiles.vars) - 1
    for n, (var, extent) in enumerate(zip(tiles.vars, tiles.extents, strict=True)):
        name = p.exprs.name(var.name)
        if n == last:
            p.out.line(f"const int64_t {name} = {rest};")
            break
        count = p.exprs.index(extent, 13)
        p.out.line(f"const int64_t {name} = {rest} % {count};")
        p.out.line(f"{'int64_t ' if n == 0 else ''}tile_rest = {rest} / {count};")
        rest = "tile_rest"
    p.body(tiles.body)
