"""Counted barriers in shared memory, and what else orders threads: named barriers, clusters,
fences, groups of copies, hand-over of registers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tile_cuda.places import place_of
from tile_ir.diag import InternalError
from tile_ir.ops import (
    AsyncCopy,
    BarrierArrive,
    BarrierExpect,
    Barriers,
    BarrierWait,
    CopyPeer,
    Fence,
    LaunchDependents,
    RegisterLimit,
    Sync,
    WaitDependency,
)
from tile_passes.emit.dialect import CONDITIONAL

if TYPE_CHECKING:
    from tile_ir.expr import Expr
    from tile_ir.opdef import Stmt
    from tile_ir.target import TargetSpec
    from tile_passes.emit import StmtPrinter
    from tile_passes.emit.cfamily import Rule

__all__ = ["BARRIER_BYTES", "RULES", "sync_rule"]

BARRIER_BYTES = 8


def _barriers(p: StmtPrinter, s: Stmt) -> None:
    """The barriers' place; one thread initialises them and tells the engines."""
    assert isinstance(s, Barriers)
    name = p.exprs.name(s.name)
    kind = "unsigned long long"
    p.out.line(f"{kind} *const {name} = ({kind} *)(arena + {s.offset});")
    with p.out.block("if (threadIdx.x == 0)"):
        for i, arrivals in enumerate(s.each):
            p.out.line(f"tile_phase_init(&{name}[{i}], {arrivals});")
        if not s.each:
            p.out.line("#pragma unroll")
            step = f"tile_phase_init(&{name}[i], {s.arrivals})"
            p.out.line(f"for (int i = 0; i < {s.count}; i++) {step};")
        p.out.line("tile_phase_init_fence();")


def _place(p: StmtPrinter, barrier: str, index: Expr) -> str:
    return f"&{p.exprs.name(barrier)}[{p.exprs.value(index)}]"


def _arrive(p: StmtPrinter, s: Stmt) -> None:
    assert isinstance(s, BarrierArrive)
    place = _place(p, s.barrier, s.index)
    if s.peer is None:
        p.out.line(f"tile_phase_arrive{'_wide' if s.wide else ''}({place});")
    else:
        at = "tile_phase_arrive_wide_at" if s.wide else "tile_phase_arrive_at"
        p.out.line(f"{at}({place}, {p.exprs.value(s.peer)});")


def _expect(p: StmtPrinter, s: Stmt) -> None:
    assert isinstance(s, BarrierExpect)
    call = "tile_phase_announce" if s.silent else "tile_phase_expect"
    p.out.line(f"{call}({_place(p, s.barrier, s.index)}, {s.bytes});")


def _wait(p: StmtPrinter, s: Stmt) -> None:
    assert isinstance(s, BarrierWait)
    place = _place(p, s.barrier, s.index)
    wide = "_wide" if s.wide else ""
    p.out.line(f"tile_phase_wait{wide}({place}, {p.exprs.value(s.parity)});")


def _copy_peer(p: StmtPrinter, s: Stmt) -> None:
    """A few bytes of this thread's into another block's memory."""
    assert isinstance(s, CopyPeer)
    (run,) = s.dst.ranges
    size = int(run.extent.value) * p.exprs.buffers[s.dst.buffer].dtype.storage_bits // 8  # type: ignore[attr-defined]  # constant by lowering
    places = ", ".join(place_of(p, region) for region in (s.dst, s.src))
    peer = p.exprs.value(s.peer)
    if s.index is None:
        p.out.line(f"tile_put_peer<{size}>({places}, {peer});")
    else:
        bar = _place(p, s.onto, s.index)
        own = p.exprs.buffers[s.src.buffer].scope == "local"
        call = "tile_send_words" if own else "tile_send_peer"
        p.out.line(f"{call}<{size}>({places}, {bar}, {peer});")


def _register_limit(p: StmtPrinter, s: Stmt) -> None:
    assert isinstance(s, RegisterLimit)
    p.out.line(f"tile_registers_{'more' if s.grow else 'less'}<{s.count}>();")


def _wait_dependency(p: StmtPrinter, s: Stmt) -> None:
    assert isinstance(s, WaitDependency)
    p.out.line("tile_wait_dependency();")


def _launch_dependents(p: StmtPrinter, s: Stmt) -> None:
    assert isinstance(s, LaunchDependents)
    p.out.line("tile_launch_dependents();")


def _async_copy(p: StmtPrinter, s: Stmt) -> None:
    """The thread's own few bytes; none are read where the condition does not hold."""
    assert isinstance(s, AsyncCopy)
    size = 1
    for r in s.dst.ranges:
        size *= int(r.extent.value)  # type: ignore[attr-defined]  # constant by the verifier's rule
    size = size * p.exprs.buffers[s.dst.buffer].dtype.storage_bits // 8
    places = [place_of(p, region) for region in (s.dst, s.src)]
    if s.where is not None:
        places.append(f"{p.exprs.value(s.where, CONDITIONAL + 1)} ? {size} : 0")
    p.out.line(f"tile_copy_async<{size}>({', '.join(places)});")


def _fence(p: StmtPrinter, s: Stmt) -> None:
    """Before matrix instructions that take registers just written, or engines that read shared
    memory."""
    assert isinstance(s, Fence)
    calls = {("generic", "async"): "tile_fence_async", ("registers", "mma"): "tile_wgmma_fence"}
    call = calls.get((s.before, s.after))
    if call is None:
        raise InternalError("E9001", f"fence {s.before} -> {s.after}", span=s.span)
    p.out.line(f"{call}();")


def sync_rule(spec: TargetSpec) -> Rule:
    """Barriers of the threads of a scope."""

    def rule(p: StmtPrinter, s: Stmt) -> None:
        assert isinstance(s, Sync)
        if s.id and s.scope == "group":
            p.out.line(f"tile_named_sync({s.id} + (int)threadIdx.x / {s.threads}, {s.threads});")
        elif s.id:
            p.out.line(f"tile_named_sync({s.id}, {s.threads});")
        elif s.scope == "block":
            p.out.line("__syncthreads();")
        elif s.scope == "cluster":
            for part in (s.part,) if s.part else ("arrive", "wait"):
                p.out.line(f"tile_cluster_{part}();")
        elif s.scope == "group" and spec.group_warps == 1:
            p.out.line("__syncwarp();")
        elif s.scope == "group":
            size = spec.group_warps * spec.warp_width
            p.out.line(f"tile_named_sync(1 + (int)threadIdx.x / {size}, {size});")
        else:
            raise InternalError("E9001", f"sync {s.scope} reached the emitter", span=s.span)

    return rule


RULES: dict[type[Stmt], Rule] = {
    AsyncCopy: _async_copy,
    BarrierArrive: _arrive,
    BarrierExpect: _expect,
    BarrierWait: _wait,
    Barriers: _barriers,
    CopyPeer: _copy_peer,
    Fence: _fence,
    LaunchDependents: _launch_dependents,
    RegisterLimit: _register_limit,
    WaitDependency: _wait_dependency,
}
