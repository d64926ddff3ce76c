"""The entry that the runtime calls: unpack arguments, take workspaces, launch the kernels in
order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tile_cpu.captures import captured
from tile_cpu.job import dynamic_buffers, job_stem, static_scratch, tiles_of
from tile_cpu.sizes import buffer_bytes
from tile_ir import build as b
from tile_ir.expr import Const, Expr, Var
from tile_ir.ops import Alloc, Kernel, Let
from tile_ir.rewrite import substitute, walk
from tile_ir.types import f64, i64
from tile_passes.emit import StmtPrinter
from tile_passes.emit.dialect import ADD, MUL

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tile_ir.core import Function, Param
    from tile_ir.opdef import Stmt
    from tile_ir.types import DType
    from tile_passes.emit.cfamily import Rule

__all__ = ["print_entry"]


def print_entry(p: StmtPrinter, fn: Function, entry: str) -> None:
    """Print `int32_t ENTRY(args, rt)`."""
    p.out.forget_place()
    head = f"TILE_EXPORT int32_t {entry}(const uint64_t *args, const struct tile_rt *rt)"
    with p.out.block(head):
        for slot, param in enumerate(fn.params):
            p.out.line(_unpacked_param(p, param, slot))
        for slot, dim in enumerate(fn.dims, len(fn.params)):
            p.out.line(f"const int64_t {p.exprs.name(dim.name)} = (int64_t)args[{slot}];")
        _print_workspaces(p, fn)
        HostPrinter(p, fn).body(fn.body)
        p.out.line("return 0;")


def _unpacked_param(p: StmtPrinter, param: Param, slot: int) -> str:
    name = p.exprs.name(param.name)
    if param.buffer is not None:
        kind = p.exprs.dialect.storage(param.buffer.dtype)
        return f"{kind} *const {name} = ({kind} *)args[{slot}];"
    assert param.scalar is not None
    dtype = param.scalar.dtype
    carrier = p.exprs.dialect.carrier(dtype)
    return f"const {carrier} {name} = {_unpacked_scalar(dtype, carrier, slot)};"


def _unpacked_scalar(dtype: DType, carrier: str, slot: int) -> str:
    if dtype is f64:
        return f"tile_from_bits_f64(args[{slot}])"
    if dtype.is_float:
        return f"tile_from_bits_f32((uint32_t)args[{slot}])"
    return f"({carrier})args[{slot}]"


def _print_workspaces(p: StmtPrinter, fn: Function) -> None:
    """One piece of memory holds every global allocation: offsets are sums of sizes."""
    buffers = [
        s.buffer
        for s in _host_statements(fn.body)
        if isinstance(s, Alloc) and s.buffer.scope == "global"
    ]
    if not buffers:
        return
    known: dict[Var, Expr] = {}
    for s in _host_statements(fn.body):
        if isinstance(s, Let):
            known[s.var] = substitute(known)(s.value)
    outside = substitute(known)
    ends: Expr = Const(0, i64)
    starts = []
    for buffer in buffers:
        starts.append(ends)
        ends = b.add(ends, outside(buffer_bytes(buffer)))
    p.out.line(f"char *const workspace = rt->workspace(rt, {p.exprs.index(ends)});")
    p.out.line("if (!workspace) return 0;")
    for buffer, start in zip(buffers, starts, strict=True):
        kind = p.exprs.dialect.storage(buffer.dtype)
        place = p.exprs.index(start, ADD)
        p.out.line(f"{kind} *const {p.exprs.name(buffer.name)} = ({kind} *)(workspace + {place});")


def _host_statements(body: Sequence[Stmt]) -> list[Stmt]:
    """Every statement outside of kernels."""
    inside = {
        id(inner) for s in walk(tuple(body)) if isinstance(s, Kernel) for inner in walk(s.body)
    }
    return [s for s in walk(tuple(body)) if id(s) not in inside]


class HostPrinter(StmtPrinter):
    """Prints host statements: kernels are launches, global allocations were made at the start."""

    leave = "return 0;"

    def __init__(self, base: StmtPrinter, fn: Function) -> None:
        super().__init__(
            base.exprs, base.out, base.rules | {Kernel: _launch(fn), Alloc: _allocated}
        )


def _allocated(p: StmtPrinter, s: Stmt) -> None:
    pass


def _launch(fn: Function) -> Rule:
    """Hand the tiles of a kernel to the pool."""

    def rule(p: StmtPrinter, s: Stmt) -> None:
        assert isinstance(s, Kernel)
        name = job_stem(fn, s)
        fields = captured(p.exprs, s)
        with p.out.block(""):
            p.body(tuple(x for x in s.body if isinstance(x, Let)))
            values = ", ".join(["rt", *(f.name for f in fields)])
            p.out.line(f"struct {name}_ctx ctx = {{{values}}};")
            jobs = " * ".join(p.exprs.index(e, MUL) for e in tiles_of(s).extents) or "1"
            p.out.line(f"const int64_t njobs = {jobs};")
            p.out.line(f"rt->parallel_for(rt, njobs, {name}_job, &ctx, {_scratch_bytes(p, s)});")

    return rule


def _scratch_bytes(p: StmtPrinter, kernel: Kernel) -> str:
    """The worker's scratch: what the plan laid out, then the buffers whose size is known now."""
    static, more = static_scratch(kernel), dynamic_buffers(kernel)
    total: Expr = Const(static, i64)
    for buffer in more:
        total = b.add(total, buffer_bytes(buffer))
    return p.exprs.index(total)
