"""Judge what a kernel does by hand against what the target has, and do at once what it lacks.

Roles have no substitute: a target without barriers that count refuses the kernel. Where all threads
do the same, such barriers and what completes onto them mean no more than a copy that is done at
once; so do copies in short runs and products in flight on a target that has none, which only loses
speed. A hint about registers that do not move is left out, and a target without threads needs no
barrier of them.

    target: plain
    before:
        func @f(A: global f32[64], B: global f32[64]) {
          kernel @f {
            tiles (bx) in (1) {
              alloc s: shared f32[64]
              issue runs {
                copy A[:] -> s[:]
              }
              commit_group runs
              settle_count runs <= 0
              sync block
              copy s[:] -> B[:]
            }
          }
        }
    after:
        func @f(A: global f32[64], B: global f32[64]) {
          kernel @f {
            tiles (bx) in (1) {
              alloc s: shared f32[64]
              copy A[:] -> s[:]
              sync block
              copy s[:] -> B[:]
            }
          }
        }
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from tile_ir.clusters import of_peers
from tile_ir.diag import TileError
from tile_ir.ops import (
    BULK,
    MATRIX,
    RUNS,
    BarrierArrive,
    BarrierExpect,
    Barriers,
    BarrierWait,
    CallExtern,
    CommitGroup,
    CopyPeer,
    Issue,
    Kernel,
    Native,
    RegisterLimit,
    Role,
    SettleCount,
    Source,
    Sync,
)
from tile_ir.rewrite import declared, map_stmts, replace, walk, with_body
from tile_passes.analysis.manual import copy_of, engine_of, has_means
from tile_passes.base import Pass
from tile_passes.plan.refusals import accepts

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tile_ir.core import Buffer, Function
    from tile_ir.opdef import Body, Stmt
    from tile_ir.target import TargetSpec
    from tile_passes.base import PassContext
    from tile_passes.decisions import Plan

_BY_HAND = (
    BarrierArrive,
    BarrierExpect,
    Barriers,
    BarrierWait,
    CommitGroup,
    CopyPeer,
    Issue,
    Native,
    RegisterLimit,
    Role,
    SettleCount,
    Source,
    Sync,
)


def manual_means(fn: Function, cx: PassContext, plan: Plan) -> Function:
    """The function without what the target does not need.

    Raises:
        TileError: E0712 for what it cannot do.
    """
    if not any(isinstance(s, _BY_HAND) or _clustered(s) for s in walk(fn.body)):
        return fn
    fn = with_body(fn, map_stmts(fn.body, lambda s: _spoken(s, cx.target)))
    buffers = declared(fn)

    def kernel(s: Stmt) -> Stmt | Body | None:
        if isinstance(s, Kernel):
            _check(s, buffers, cx.target)
            return _apart(s, cx.target)
        return _done(s, cx.target)

    return with_body(fn, map_stmts(fn.body, kernel))


def _clustered(s: Stmt) -> bool:
    return isinstance(s, Kernel) and prod(s.cluster) > 1


def _apart(kernel: Kernel, spec: TargetSpec) -> Kernel | None:
    """Blocks that have nothing to do with each other, without clusters where there are none.

    Raises:
        TileError: E0712 for blocks that do.
    """
    blocks = prod(kernel.cluster)
    if blocks <= max(spec.cluster.blocks, 1):
        return None
    meets = next((s for s in walk(kernel.body) if of_peers(s)), None)
    if meets is None:
        return replace(kernel, cluster=())
    has = f"clusters of at most {spec.cluster.blocks} blocks" if spec.cluster.blocks else "none"
    raise TileError(
        "E0712",
        f"the blocks of kernel {kernel.name} see each other in clusters of {blocks}, and {spec} "
        f"has {has}",
        meets.span,
        help="let blocks share nothing but global memory, or compile this kernel for a device "
        "with such clusters",
    )


def _check(kernel: Kernel, buffers: Mapping[str, Buffer], spec: TargetSpec) -> None:
    for s in walk(kernel.body):
        if isinstance(s, Role) and not has_means(spec):
            raise TileError(
                "E0712",
                f"kernel {kernel.name} gives its threads different roles, and {spec} has no "
                "barriers by which they could wait for each other",
                s.span,
                help="write T.copy and T.gemm in a T.Pipelined loop, which every target carries "
                "out, or compile this kernel for a device with barriers that count arrivals",
            )
        if isinstance(s, Issue) and s.engine == BULK:
            _check_box(s, buffers, spec)


def _check_box(s: Issue, buffers: Mapping[str, Buffer], spec: TargetSpec) -> None:
    copy, loads = copy_of(s), s.index is not None
    engine = engine_of(BULK, spec, loads=loads)
    if engine is None:
        return
    source, target = buffers[copy.src.buffer], buffers[copy.dst.buffer]
    far, near = (source, target) if loads else (target, source)
    # Whether a box may go one way is the same question as whether it may come the other way.
    turned = copy if loads else replace(copy, src=copy.dst, dst=copy.src)
    if not accepts(engine, turned, far, near):
        raise TileError(
            "E0712",
            f"the box from {source.name} to {target.name} cannot be copied by one thread on {spec}",
            copy.span,
            notes=(
                f"rows of it are multiples of {engine.granularity} bytes, tensors and their strides"
                f" of {engine.alignment}, boxes in shared memory of {engine.shared_alignment}",
            ),
            help="use T.copy by all threads of the role, which then arrive at the barrier",
        )


def _done(s: Stmt, spec: TargetSpec) -> Body | None:
    """What stands for a statement; None: itself."""
    if isinstance(s, Sync):
        return () if spec.family == "cpu" else None
    if isinstance(s, RegisterLimit):
        return None if spec.registers is not None and spec.registers.movable else ()
    if isinstance(s, (Barriers, BarrierArrive, BarrierExpect, BarrierWait)):
        return None if has_means(spec) else ()
    if isinstance(s, (CommitGroup, Issue, SettleCount)) and not _has_engine(s, spec):
        return s.body if isinstance(s, Issue) else ()
    return None


def _spoken(s: Stmt, spec: TargetSpec) -> Body | None:
    """What stands for source text: the call where the target's language is its own.

    Raises:
        TileError: E0713 where nothing else does the same.
    """
    if isinstance(s, Source):
        return None if s.language == spec.name else ()
    if not isinstance(s, Native):
        return None
    if s.language == spec.name:
        return s.then
    if s.orelse:
        return s.orelse
    called = next(t.name for t in walk(s.then) if isinstance(t, CallExtern))
    raise TileError(
        "E0713",
        f"{called} is source text of the target {s.language}, and this is {spec}",
        s.span,
        help="pass reference=, a function in the tile language that does the same",
    )


def _has_engine(s: CommitGroup | Issue | SettleCount, spec: TargetSpec) -> bool:
    if s.engine == MATRIX:
        return any(atom.engine == "async" for atom in spec.matrix.values())
    if s.engine not in (BULK, RUNS):
        return True
    loads = s.engine == RUNS or (isinstance(s, Issue) and s.index is not None)
    return engine_of(s.engine, spec, loads=loads) is not None


PASS = Pass(
    name="manual-means",
    phase="legalize",
    rewrite=manual_means,
    doc=__doc__,
)
