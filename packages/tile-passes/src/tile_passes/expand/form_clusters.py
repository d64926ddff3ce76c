"""Pair neighbouring blocks where the Plan lets them bring an operand together.

The blocks of a pair take tiles that follow each other, so they run the same loops; the operand that
both need is marked, and the slots that it fills belong to both.

    pipeline: plan-roles, plan-tiles, plan-pipeline, expand-pipeline, expand-tiles, form-clusters
    before:
        func @f(A: global f16[1024, 64], B: global f16[64, 64], C: global f32[1024, 64]) {
          kernel @f {
            tiles (bx) in (16) {
              alloc t: shared f16[16, 64]
              alloc x: fragment f32[16, 64]
              for k in (0, 4, 1) pipelined num_stages = 2 {
                copy B[k * 16 : +16, :] -> t[:, :]
                copy t[:, :] -> x[:, :]
              }
              copy x[:, :] -> C[bx * 64 : +16, :]
            }
          }
        }
    after:
        func @f(A: global f16[1024, 64], B: global f16[64, 64], C: global f32[1024, 64]) {
          kernel @f {
            tiles (bx) in (16) {
              alloc t: shared f16[16, 64] slots 2
              alloc x: fragment f32[16, 64]
              channel t_ring: ring(2) carries (t) from engine box_load to role compute arrivals 4 bytes = 2048
              for k in (0, 4, 1) serial {
                acquire t_ring
                issue box_load onto = t_ring {
                  copy B[k * 16 : +16, :] -> t@t_ring[:, :]
                }
                commit t_ring
                wait t_ring
                copy t@t_ring[:, :] -> x[:, :]
                release t_ring
              }
              copy x[:, :] -> C[bx * 64 : +16, :]
            }
          }
        }
"""  # noqa: E501 -- a channel is one line

from __future__ import annotations

from typing import TYPE_CHECKING

from tile_ir import build as b
from tile_ir.ops import Channel, Copy, Issue, Kernel, Tiles
from tile_ir.rewrite import map_stmts, replace, walk, with_body
from tile_passes.base import Pass

if TYPE_CHECKING:
    from tile_ir.core import Function
    from tile_ir.opdef import Body, Stmt
    from tile_passes.base import PassContext
    from tile_passes.plan.model import Plan


def form_clusters(fn: Function, cx: PassContext, plan: Plan) -> Function:
    """Set `cluster` of kernels, `multicast` of issues and `scope` of their channels."""

    def kernel(stmt: Stmt) -> Stmt | None:
        if not isinstance(stmt, Kernel):
            return None
        value = plan.value(f"{stmt.name}.tiles.cluster", ())
        assert isinstance(value, tuple)
        if not value:
            return None
        axis, count, operand = value
        return _clustered(stmt, str(axis), int(count), str(operand))  # type: ignore[arg-type]  # a number

    return with_body(fn, map_stmts(fn.body, kernel))


def _clustered(kernel: Kernel, axis: str, count: int, operand: str) -> Kernel:
    shared: set[str] = set()

    def issue(stmt: Stmt) -> Stmt | None:
        if not isinstance(stmt, Issue) or not stmt.onto:
            return None
        copy = stmt.body[0]
        if not isinstance(copy, Copy) or copy.dst.buffer != operand:
            return None
        shared.add(stmt.onto)
        return replace(stmt, multicast=count)

    body = map_stmts(kernel.body, issue)

    def channel(stmt: Stmt) -> Stmt | None:
        if isinstance(stmt, Channel) and stmt.name in shared:
            return replace(stmt, scope="cluster")
        return None

    blocks = kernel.blocks
    if blocks is not None:
        blocks = b.mul(b.floordiv(blocks, count), count)
    made = map_stmts(body, channel)
    return replace(kernel, cluster=_shape(made, axis, count), blocks=blocks, body=made)


def _shape(body: Body, axis: str, count: int) -> tuple[int, ...]:
    """The cluster along the axes of the tile loop; where tiles are taken by number, of numbers."""
    tiles = next(s for s in walk(body) if isinstance(s, Tiles))
    names = [v.name for v in tiles.vars]
    return (1,) * (names.index(axis) if axis in names else 0) + (count,)


PASS = Pass(
    name="form-clusters",
    phase="expand",
    rewrite=form_clusters,
    requires=("scheduled", "tiles planned"),
    doc=__doc__,
)
