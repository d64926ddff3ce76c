"""Bring an operand that a loop only reads into registers before it, where the Plan wants that.

Its slot of shared memory is read once and free again at once.

    pipeline: plan-roles, plan-tiles, plan-pipeline, plan-layout, plan-homes, keep-operands
    before:
        func @f(Q: global f16[64, 64], K: global f16[256, 64], O: global f32[64]) {
          kernel @f {
            tiles (bx) in (1) {
              alloc q: shared f16[64, 64]
              alloc t: shared f16[64, 64]
              alloc x: fragment f32[64, 64]
              alloc m: fragment f32[64]
              copy Q[:, :] -> q[:, :]
              fill m[:], 0.0
              for k in (0, 4, 1) pipelined num_stages = 2 {
                copy K[k * 64 : +64, :] -> t[:, :]
                gemm q[:, :], t[:, :] -> x[:, :] transpose_b, init = true
                reduce max x[:, :] -> m[:] dim = 1, clear = false
              }
              copy m[:] -> O[:]
            }
          }
        }
    after:
        func @f(Q: global f16[64, 64], K: global f16[256, 64], O: global f32[64]) {
          kernel @f {
            tiles (bx) in (1) {
              alloc q: shared f16[64, 64]
              alloc t: shared f16[64, 64]
              alloc x: fragment f32[64, 64]
              alloc m: fragment f32[64]
              copy Q[:, :] -> q[:, :]
              fill m[:], 0.0
              alloc q_regs: fragment f16[64, 64]
              copy q[:, :] -> q_regs[:, :]
              for k in (0, 4, 1) pipelined num_stages = 2 {
                copy K[k * 64 : +64, :] -> t[:, :]
                gemm q_regs[:, :], t[:, :] -> x[:, :] transpose_b, init = true
                reduce max x[:, :] -> m[:] dim = 1, clear = false
              }
              copy m[:] -> O[:]
            }
          }
        }
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tile_ir import build as b
from tile_ir.core import Buffer
from tile_ir.opdef import bodies, opdef
from tile_ir.ops import Alloc, Copy, Gemm, Kernel, Tiles
from tile_ir.rewrite import declared, map_stmts, replace, with_body
from tile_passes.base import Pass
from tile_passes.plan.homes import kept
from tile_passes.plan.survey import survey

if TYPE_CHECKING:
    from tile_ir.core import Function
    from tile_ir.opdef import Body, Stmt
    from tile_passes.base import PassContext
    from tile_passes.plan.keys import Path
    from tile_passes.plan.model import Plan
    from tile_passes.plan.survey import Keep


class _Move:
    """Rewrites one tile body."""

    def __init__(self, keeps: tuple[Keep, ...]) -> None:
        self.at_loop: dict[Path, list[Keep]] = {}
        for keep in keeps:
            self.at_loop.setdefault(keep.loop, []).append(keep)
        self.by_product = {k.product.path: k for k in keeps}

    def body(self, body: Body, at: Path) -> Body:
        out: list[Stmt] = []
        for i, stmt in enumerate(body):
            path = (*at, i)
            for keep in self.at_loop.get(path, ()):
                held = _fragment(keep)
                copy = Copy(src=b.whole(keep.buffer), dst=b.whole(held), span=stmt.span)
                out += [Alloc(buffer=held), copy]
            out.append(self.stmt(stmt, path))
        return tuple(out)

    def stmt(self, stmt: Stmt, path: Path) -> Stmt:
        keep = self.by_product.get(path)
        if keep is not None:
            assert isinstance(stmt, Gemm)
            return replace(stmt, a=b.whole(_fragment(keep)))
        fields = [f.name for f in opdef(stmt).of_kind("region")]
        inner = zip(fields, bodies(stmt), strict=True)
        return replace(stmt, **{n: self.body(x, (*path, k)) for k, (n, x) in enumerate(inner)})


def _fragment(keep: Keep) -> Buffer:
    return Buffer(
        name=keep.name,
        dtype=keep.buffer.dtype,
        shape=keep.buffer.shape,
        scope="fragment",
        span=keep.buffer.span,
    )


def keep_operands(fn: Function, cx: PassContext, plan: Plan) -> Function:
    """Read the operands that registers hold before their loops."""
    buffers = declared(fn)

    def kernel(stmt: Stmt) -> Stmt | None:
        if not isinstance(stmt, Kernel):
            return None
        body: list[Stmt] = []
        for s in stmt.body:
            made = s
            if isinstance(s, Tiles):
                keeps = kept(survey(s.body, buffers, cx.target), stmt.name, plan)
                made = replace(s, body=_Move(keeps).body(s.body, ())) if keeps else s
            body.append(made)
        return replace(stmt, body=tuple(body))

    return with_body(fn, map_stmts(fn.body, kernel))


PASS = Pass(
    name="keep-operands",
    phase="expand",
    rewrite=keep_operands,
    requires=("layouts planned",),
    doc=__doc__,
)
