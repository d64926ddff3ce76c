"""Apply the planned claim of tiles: where a block takes several, each role runs its own loop over
them.

Memory and channels are declared once for the block, before the roles; cursors run on from tile to
tile, so a producer is a tile ahead as soon as slots are free. The grid is what runs at once.

    pipeline: plan-tiles, plan-roles, plan-pipeline, expand-pipeline, warp-specialize, expand-tiles
    before:
        func @f(A: global f32[64, 64], B: global f32[64, 64]) {
          kernel @f {
            tiles (bx) in (4) claim = static {
              alloc s: shared f32[16, 64]
              for k in (0, 1, 1) pipelined num_stages = 1 {
                copy A[bx * 16 : +16, :] -> s[:, :]
                copy s[:, :] -> B[bx * 16 : +16, :]
              }
            }
          }
        }
    after:
        func @f(A: global f32[64, 64], B: global f32[64, 64]) {
          kernel @f threads = (256), blocks = min(4, device_workers()) {
            alloc s: shared f32[16, 64]
            channel s_ring: ring(1) carries (s) from engine box_load to role compute arrivals 4 bytes = 4096
            role producer warps = 4, elect = 1 {
              tiles (bx) in (4) claim = static {
                for k in (0, 1, 1) serial {
                  acquire s_ring
                  issue box_load onto = s_ring {
                    copy A[bx * 16 : +16, :] -> s@s_ring[:, :]
                  }
                  commit s_ring
                }
              }
            }
            role compute warps = 4 {
              tiles (bx) in (4) claim = static {
                for k in (0, 1, 1) serial {
                  wait s_ring
                  copy s@s_ring[:, :] -> B[bx * 16 : +16, :]
                  release s_ring
                }
              }
            }
          }
        }
"""  # noqa: E501 -- a channel is one line

from __future__ import annotations

from typing import TYPE_CHECKING

from tile_ir import build as b
from tile_ir.ops import Alloc, Channel, Kernel, Role, SettleCount, Tiles
from tile_ir.rewrite import map_stmts, replace, with_body
from tile_passes.base import Pass
from tile_passes.expand.rasters import rastered
from tile_passes.plan.plan_tiles import DYNAMIC, HARDWARE, IN_A_LOOP

if TYPE_CHECKING:
    from collections.abc import Collection

    from tile_ir.core import Function
    from tile_ir.expr import Expr
    from tile_ir.opdef import Body, Stmt
    from tile_passes.base import PassContext
    from tile_passes.plan.model import Plan


def blocks_of(tiles: Tiles) -> Expr:
    """The number of blocks to launch: the tiles, or the fewer that the device runs at once."""
    count: Expr = b.const(1)
    for extent in tiles.extents:
        count = b.mul(count, extent)
    return b.minimum(count, b.call("device_workers"))


Order = tuple[str, int, "Collection[str]", "Collection[str]"]
"""Raster, panel, the axes walked from their ends, and those that move slowest."""


def _looped(tiles: Tiles, order: Order) -> Body:
    """Declarations, then the tile loop in each role; without roles the loop itself."""
    joint = tuple(s for s in tiles.body if _is_joint(s))
    rest = tuple(s for s in tiles.body if not _is_joint(s))
    roles = [s for s in rest if isinstance(s, Role)]
    if not roles:
        return (*joint, *_around(tiles, order, rest))
    return (*joint, *(replace(r, body=_around(tiles, order, r.body)) for r in roles))


def _around(tiles: Tiles, order: Order, body: Body) -> Body:
    """The tile loop over a body, less the waits that are for the end of the block."""
    count = sum(1 for s in body if isinstance(s, SettleCount))
    inner, last = body[: len(body) - count], body[len(body) - count :]
    assert all(isinstance(s, SettleCount) for s in last)
    return (rastered(replace(tiles, body=inner), *order), *last)


def _is_joint(stmt: Stmt) -> bool:
    shared = isinstance(stmt, Alloc) and stmt.buffer.scope == "shared"
    return shared or isinstance(stmt, Channel)


def expand_tiles(fn: Function, cx: PassContext, plan: Plan) -> Function:
    """Set claim and raster, and move loops over tiles into the roles."""

    def kernel(stmt: Stmt) -> Stmt | None:
        if not isinstance(stmt, Kernel):
            return None
        base = f"{stmt.name}.tiles"
        body: list[Stmt] = []
        blocks = stmt.blocks
        for s in stmt.body:
            if not isinstance(s, Tiles):
                body.append(s)
                continue
            claim = str(plan.value(f"{base}.claim", HARDWARE))
            if claim == DYNAMIC and not any(isinstance(r, Role) for r in s.body):
                claim = HARDWARE  # nobody could draw ahead of the others
            raster = str(plan.value(f"{base}.raster", s.raster))
            panel = int(plan.value(f"{base}.panel", s.panel))  # type: ignore[arg-type]  # a number
            down = plan.value(f"{base}.descending", ())
            assert isinstance(down, tuple)
            last = plan.value(f"{base}.slowest", ())
            assert isinstance(last, tuple)
            order = (raster, panel, tuple(map(str, down)), tuple(map(str, last)))
            if claim in IN_A_LOOP:
                blocks = blocks if blocks is not None else blocks_of(s)
                deal = str(plan.value(f"{base}.deal", s.deal))
                body += _looped(replace(s, claim=claim, deal=deal), order)
            else:
                body.append(rastered(replace(s, claim=claim), *order))
        return replace(stmt, blocks=blocks, body=tuple(body))

    return with_body(fn, map_stmts(fn.body, kernel))


PASS = Pass(
    name="expand-tiles",
    phase="expand",
    rewrite=expand_tiles,
    requires=("tiles planned",),
    doc=__doc__,
)
