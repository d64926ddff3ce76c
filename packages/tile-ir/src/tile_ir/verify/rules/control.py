"""Rules of kernels, loops and branches."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tile_ir import ops
from tile_ir.expr import Const
from tile_ir.opdef import Access, opdef
from tile_ir.ops.control import CLAIMS, DEALS, LOOP_KINDS
from tile_ir.rewrite import all_effects, walk
from tile_ir.types import i32
from tile_ir.verify.rules.peers import check_cluster

if TYPE_CHECKING:
    from collections.abc import Callable

    from tile_ir.expr import Expr, Var
    from tile_ir.opdef import Stmt
    from tile_ir.verify.context import Context

MAX_THREAD_AXES = 3

_IN_PARALLEL = (
    ops.CallExtern,
    ops.Native,
    ops.Alloc,
    ops.Let,
    ops.Store,
    ops.Atomic,
    ops.If,
    ops.For,
    ops.While,
    ops.Break,
    ops.Continue,
    ops.Assert,
    ops.Assume,
    ops.Print,
)
"""What one iteration of a parallel loop may do: anything that one thread can do alone."""


def _kernel(s: ops.Kernel, cx: Context) -> None:
    if not 1 <= len(s.threads) <= MAX_THREAD_AXES or min(s.threads) < 1:
        cx.report(
            "E0436", f"kernel {s.name} has threads {s.threads}", "one to three positive counts"
        )
    if s.min_blocks < 0 or any(n < 1 for n in s.cluster):
        cx.report("E0436", f"kernel {s.name} has cluster {s.cluster}, min_blocks {s.min_blocks}")
    if s.blocks is not None and not s.blocks.dtype.is_int:
        cx.report("E0436", f"kernel {s.name} launches {s.blocks.dtype} blocks, not an integer")
    check_cluster(s, cx)
    for name in s.unwritten:
        found = cx.buffer(name)
        if found is not None and (found.scope != "global" or not s.dependent):
            cx.report("E0436", f"kernel {s.name} reads {name} before it waits", _EARLY)
    if s.unwritten:
        _check_unwritten(s, cx)
    for name in s.unchanged:
        found = cx.buffer(name)
        if found is not None and found.scope != "global":
            cx.report("E0436", f"kernel {s.name} reads {name} again", "only global memory lasts")


def _check_unwritten(s: ops.Kernel, cx: Context) -> None:
    """What is read before the kernel in front has ended must not be written here either: this
    kernel may be in front of itself."""
    views = {v.buffer.name: v.source for v in walk(s.body) if isinstance(v, ops.View)}
    written = {e.buffer for e in all_effects(s.body) if e.access is not Access.READ}
    for name in sorted({views.get(n, n) for n in written} & {*s.unwritten}):
        cx.report("E0436", f"kernel {s.name} writes {name}, which it says nobody does", _EARLY)


_EARLY = "a dependent kernel reads global buffers early that it and the one in front do not write"


def _box(vars_: tuple[Var, ...], extents: tuple[Expr, ...], cx: Context) -> None:
    if len(vars_) != len(extents) or not vars_:
        cx.report("E0437", f"{len(vars_)} loop variables run over {len(extents)} extents")
    for var, extent in zip(vars_, extents, strict=False):
        if extent.dtype is not var.dtype or not var.dtype.is_int:
            cx.report("E0437", f"{var.name} is {var.dtype}, its extent is {extent.dtype}")


def _tiles(s: ops.Tiles, cx: Context) -> None:
    _box(s.vars, s.extents, cx)
    cx.choice(s.claim, CLAIMS, "the claim")
    cx.choice(s.deal, DEALS, "the deal")
    found = cx.buffer(s.next) if s.next else None
    if s.next and s.claim != "dynamic":
        cx.report("E0437", f"tiles claimed {s.claim} have their next one in {s.next}")
    if found is not None and (found.scope != "var" or found.dtype is not i32):
        cx.report("E0437", f"{s.next}, the number of the next tile, is no i32 scalar of its thread")


def _parallel(s: ops.Parallel, cx: Context) -> None:
    _box(s.vars, s.extents, cx)
    if cx.place.parallel:
        cx.report("E0430", "a parallel loop stands inside another", fix="give one loop both axes")
    for inner in walk(s.body):
        if not isinstance(inner, (*_IN_PARALLEL, ops.Parallel)):
            cx.report(
                "E0430",
                f"{opdef(inner).name} stands inside a parallel loop",
                "an iteration is run by one thread; an operation on tiles needs all of them",
                fix="move it out of the loop",
                span=inner.span,
            )


def _for(s: ops.For, cx: Context) -> None:
    cx.choice(s.kind, LOOP_KINDS, "the kind of loop")
    if type(s.step) is not Const or s.step.value == 0:
        cx.report("E0427", f"the step of loop {s.var.name} is not a constant other than 0")
    for bound in (s.start, s.stop, s.step):
        if bound.dtype is not s.var.dtype:
            cx.report("E0427", f"{s.var.name} is {s.var.dtype}, a bound of it is {bound.dtype}")
    if not s.var.dtype.is_int:
        cx.report("E0427", f"the loop variable {s.var.name} is {s.var.dtype}, not an integer")
    for name in ("order", "stage"):
        given = getattr(s, name)
        if given and len(given) != len(s.body):
            message = f"{name} has {len(given)} entries for {len(s.body)} statements"
            cx.report("E0435", message, fix="give one entry for each statement of the body")
    if s.order and sorted(s.order) != list(range(len(s.order))):
        message = f"order {s.order} is no permutation of its positions"
        cx.report("E0435", message, fix=f"use each of 0 to {len(s.order) - 1} once")
    if s.num_stages < 0 or s.unroll < 0:
        cx.report("E0435", f"loop {s.var.name} has num_stages {s.num_stages}, unroll {s.unroll}")


def _if(s: ops.If, cx: Context) -> None:
    cx.condition(s.cond, "the condition")


RULES: dict[type[Stmt], Callable[[Any, Context], None]] = {
    ops.Kernel: _kernel,
    ops.Tiles: _tiles,
    ops.Parallel: _parallel,
    ops.For: _for,
    ops.If: _if,
    ops.While: _if,
    ops.Assert: _if,
    ops.Assume: _if,
}
