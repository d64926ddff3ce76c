"""Make the width of a warp the target's, and refuse exchanges in warps that it cannot do and blocks
of more threads than it has.

A target without threads has no warps: there a warp is 32 elements of an axis, as for the oracle,
and exchanges are loops. It stands early, so that index arithmetic with the width is judged as what
it is.

    target: plain
    before:
        func @f(A: global i32[64]) {
          kernel @f threads = (64) {
            tiles (bx) in (1) {
              parallel (t) in (64) {
                store A[t] = t % warp_width()
              }
            }
          }
        }
    after:
        func @f(A: global i32[64]) {
          kernel @f threads = (64) {
            tiles (bx) in (1) {
              parallel (t) in (64) {
                store A[t] = t % 64
              }
            }
          }
        }
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from tile_ir import build as b
from tile_ir.diag import TileError
from tile_ir.expr import Call, Expr, rewrite
from tile_ir.ops import Kernel, Shuffle, WarpReduce
from tile_ir.rewrite import map_all_exprs, walk, with_body
from tile_ir.types import i32
from tile_passes.base import Pass

if TYPE_CHECKING:
    from tile_ir.core import Function
    from tile_ir.target import TargetSpec
    from tile_passes.base import PassContext
    from tile_passes.decisions import Plan

__all__ = ["PASS", "warp_width", "width_of"]

WITHOUT_WARPS = 32
"""The threads of a warp where the target has none: what most devices have."""


def width_of(spec: TargetSpec) -> int:
    """The threads of a warp on a target, 32 where it has none."""
    return spec.warp_width if spec.warp_width > 1 else WITHOUT_WARPS


def warp_width(fn: Function, cx: PassContext, plan: Plan) -> Function:
    """The function with the width as a number.

    Raises:
        TileError: E0613 for an exchange in warps that are not whole, or that the target lacks;
            E0614 for more threads than a block of the target has.
    """
    for kernel in (s for s in walk(fn.body) if isinstance(s, Kernel)):
        _check_count(kernel, cx.target)
        _check(kernel, cx.target)
    width = b.const(width_of(cx.target), i32)
    memo: dict[Expr, Expr] = {}

    def known(e: Expr) -> Expr | None:
        return width if isinstance(e, Call) and e.fn == "warp_width" else None

    return with_body(fn, map_all_exprs(fn.body, lambda e: rewrite(e, known, memo)))


def _check_count(kernel: Kernel, spec: TargetSpec) -> None:
    """A target without threads takes any number: there it only sizes what the kernel asks."""
    threads = prod(kernel.threads)
    if spec.max_threads > 1 and threads > spec.max_threads:
        raise TileError(
            "E0614",
            f"kernel {kernel.name} has blocks of {threads} threads, {spec} takes at most "
            f"{spec.max_threads}",
            kernel.span,
            notes=("all threads of a block are on one core at once",),
            help="launch fewer threads: a tile need not have a thread for each of its elements",
        )


def _check(kernel: Kernel, spec: TargetSpec) -> None:
    met = next((s for s in walk(kernel.body) if isinstance(s, (Shuffle, WarpReduce))), None)
    if met is None:
        return
    threads, width = prod(kernel.threads), width_of(spec)
    if spec.warp_width > 1 and not spec.has("shuffle"):
        raise TileError(
            "E0613",
            f"kernel {kernel.name} exchanges values in warps, which {spec} cannot",
            met.span,
            help="exchange them through shared memory, with T.sync_threads in between",
        )
    if threads % width:
        raise TileError(
            "E0613",
            f"kernel {kernel.name} exchanges values in warps and has {threads} threads",
            met.span,
            notes=(f"a warp of {spec} has {width} threads, and all of them take part",),
            help=f"launch it with a multiple of {width} threads",
        )


PASS = Pass(name="warp-width", phase="legalize", rewrite=warp_width, doc=__doc__)
