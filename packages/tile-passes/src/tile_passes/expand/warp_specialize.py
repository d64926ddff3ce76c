"""Give the fillings of channels a role of their own: a producer that runs ahead, and the compute
role with all else.

Each role has its own copy of the control flow, less what it does not need. Only channels that an
elected thread fills move; their indices and the control around them are scalars, which planning
checked.

    pipeline: plan-roles, plan-pipeline, expand-pipeline, warp-specialize
    before:
        func @scale(A: global f32[64, 64], B: global f32[64, 64]) {
          kernel @scale {
            tiles (bx) in (1) {
              alloc s: shared f32[16, 64]
              for k in (0, 4, 1) pipelined num_stages = 2 {
                copy A[k * 16 : +16, :] -> s[:, :]
                copy s[:, :] -> B[k * 16 : +16, :]
              }
            }
          }
        }
    after:
        func @scale(A: global f32[64, 64], B: global f32[64, 64]) {
          kernel @scale threads = (256) {
            tiles (bx) in (1) {
              alloc s: shared f32[16, 64] slots 2
              channel s_ring: ring(2) carries (s) from engine box_load to role compute arrivals 4 bytes = 4096
              role producer warps = 4, elect = 1 {
                for k in (0, 4, 1) serial {
                  acquire s_ring
                  issue box_load onto = s_ring {
                    copy A[k * 16 : +16, :] -> s@s_ring[:, :]
                  }
                  commit s_ring
                }
              }
              role compute warps = 4 {
                for k in (0, 4, 1) serial {
                  wait s_ring
                  copy s@s_ring[:, :] -> B[k * 16 : +16, :]
                  release s_ring
                }
              }
            }
          }
        }
"""  # noqa: E501 -- a channel is one line

from __future__ import annotations

from typing import TYPE_CHECKING

from tile_ir.expr import free_vars
from tile_ir.opdef import Body, Stmt, bodies
from tile_ir.ops import (
    Acquire,
    Alloc,
    Assume,
    Channel,
    Commit,
    Issue,
    Kernel,
    Let,
    Parallel,
    Role,
    Tiles,
)
from tile_ir.rewrite import map_bodies, map_stmts, replace, stmt_exprs, walk, with_body
from tile_passes.base import Pass
from tile_passes.plan.plan_registers import NOT_MOVED, service_of
from tile_passes.plan.plan_roles import ROLES_APART, ROLES_ONE
from tile_passes.plan.survey import threads_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from tile_ir.core import Function
    from tile_ir.target import TargetSpec
    from tile_passes.base import PassContext
    from tile_passes.plan.model import Plan

PRODUCER, COMPUTE = "producer", "compute"


def _kept(body: Body, keep: Callable[[Stmt], bool]) -> Body:
    """The statements that `keep` wants, inside the control flow that leads to them."""
    out: list[Stmt] = []
    for stmt in body:
        inner = bodies(stmt)
        if not inner or isinstance(stmt, (Issue, Parallel)):
            if keep(stmt):
                out.append(stmt)
            continue
        made = map_bodies(stmt, lambda b: _kept(b, keep))
        if any(bodies(made)):
            out.append(made)
    return tuple(out)


def _without_unused(body: Body) -> Body:
    """The body less the scalar bindings that nothing in it uses."""
    used = {v for s in walk(body) for e in stmt_exprs(s) for v in free_vars(e)}
    made = map_stmts(body, lambda s: () if isinstance(s, Let) and s.var not in used else None)
    return body if made is body else _without_unused(made)


def split(body: Body, elected: frozenset[str]) -> tuple[Body, Body, Body]:
    """The declarations that both roles share, the producer's part and the compute role's part of a
    tile body.
    """

    def fills(stmt: Stmt) -> bool:
        if isinstance(stmt, Issue):
            return stmt.onto in elected
        return isinstance(stmt, (Acquire, Commit)) and stmt.channel in elected

    def shared(stmt: Stmt) -> bool:
        return isinstance(stmt, Channel) or (
            isinstance(stmt, Alloc) and stmt.buffer.scope == "shared"
        )

    joint = tuple(s for s in body if shared(s))
    rest = tuple(s for s in body if not shared(s))
    producer = _kept(rest, lambda s: fills(s) or isinstance(s, (Let, Assume)))
    producer = _without_unused(_pruned(producer))
    compute = _kept(rest, lambda s: not fills(s))
    return joint, producer, compute


def _pruned(body: Body) -> Body:
    """The body less control flow that holds no protocol operation."""

    def empty(stmt: Stmt) -> Body | None:
        inner = bodies(stmt)
        if not inner or isinstance(stmt, Issue):
            return None
        acts = any(isinstance(s, (Acquire, Issue)) for s in walk((stmt,)))
        return None if acts else ()

    return map_stmts(body, empty)


def _specialized(kernel: Kernel, spec: TargetSpec, plan: Plan) -> Kernel:
    channels = [s for s in walk(kernel.body) if isinstance(s, Channel)]
    elected = frozenset(
        c.name for c in channels if c.producer.kind == "engine" and spec.copy[c.producer.name].elect
    )
    warps = max(1, threads_of(kernel.threads) // spec.warp_width)
    service = service_of(plan, kernel.name, spec)
    shares = plan.value(f"{kernel.name}.registers", NOT_MOVED)
    assert isinstance(shares, tuple)
    left, most = (int(n) for n in shares)  # type: ignore[arg-type]  # numbers

    def roles(tiles: Stmt) -> Stmt:
        if not isinstance(tiles, Tiles):
            return tiles
        joint, producer, compute = split(tiles.body, elected)
        if not producer:
            return tiles
        pair = (
            Role(name=PRODUCER, warps=service, elect=1, registers=left, body=producer),
            Role(name=COMPUTE, warps=warps, registers=most, body=compute),
        )
        return replace(tiles, body=(*joint, *pair))

    body = tuple(map(roles, kernel.body))
    total = threads_of(kernel.threads) + service * spec.warp_width
    return replace(kernel, threads=(total,), body=body)


def warp_specialize(fn: Function, cx: PassContext, plan: Plan) -> Function:
    """Split the kernels whose plan has a producer role."""

    def kernel(stmt: Stmt) -> Stmt | None:
        if not isinstance(stmt, Kernel):
            return None
        if plan.value(f"{stmt.name}.roles", ROLES_ONE) != ROLES_APART:
            return None
        return _specialized(stmt, cx.target, plan)

    return with_body(fn, map_stmts(fn.body, kernel))


PASS = Pass(
    name="warp-specialize",
    phase="expand",
    rewrite=warp_specialize,
    requires=("scheduled",),
    ensures=("roles",),
    doc=__doc__,
)
