"""Start the next tile's first product beside the last one of this tile.

Where iterations of a tile's loop overlap, a tile begins with a product that nothing runs beside,
and ends with another. In a loop over tiles the two belong together: behind the last product of a
tile stands the first of the next one, which is in flight while this tile's result is finished and
leaves. The first tile's stands before the loop. After the last tile one more is started, whose
result nobody reads: so the matrix engine sees the same on all paths, and no role asks whether there
is another tile. Its operands are those of tile 0.

    pipeline: plan-roles, plan-tiles, plan-pipeline, plan-layout, plan-homes, plan-stores, plan-crossing, keep-operands, expand-pipeline, simplify, insert-settles, simplify, warp-specialize, expand-tiles, cross-tiles
    pins: {"f.tiles.cross": true}
    before:
        func @f(Q: global f16[4096, 64], K: global f16[256, 64], V: global f16[256, 64], O: global f32[4096, 64]) {
          kernel @f {
            tiles (bx) in (1024) {
              alloc q: shared f16[64, 64]
              alloc t: shared f16[64, 64]
              alloc v: shared f16[64, 64]
              alloc x: fragment f32[64, 64]
              alloc p: fragment f16[64, 64]
              alloc o: fragment f32[64, 64]
              copy Q[bx * 4 : +64, :] -> q[:, :] clip
              for k in (0, 4, 1) pipelined num_stages = 2 {
                copy K[k * 64 : +64, :] -> t[:, :]
                gemm q[:, :], t[:, :] -> x[:, :] transpose_b, init = true
                parallel (i, j) in (64, 64) {
                  store x[i, j] = x[i, j] + 1.0
                }
                copy x[:, :] -> p[:, :]
                copy V[k * 64 : +64, :] -> v[:, :]
                gemm p[:, :], v[:, :] -> o[:, :] init = k == 0
              }
              copy o[:, :] -> O[bx * 4 : +64, :] clip
            }
          }
        }
    after:
        func @f(Q: global f16[4096, 64], K: global f16[256, 64], V: global f16[256, 64], O: global f32[4096, 64]) {
          kernel @f threads = (256), blocks = min(1024, device_workers()) {
            alloc q: shared f16[64, 64]
            alloc t: shared f16[64, 64] slots 2
            alloc v: shared f16[64, 64] slots 2
            alloc O_stage: shared f32[64, 32] slots 2 layout [d0 (64:32) d1 (32:1) swizzle<3,4,3>]
            channel q_ring: ring(1) carries (q) from engine box_load to role compute arrivals 4 bytes = 8192
            channel t_ring: ring(2) carries (t) from engine box_load to role compute arrivals 4 bytes = 8192
            channel v_ring: ring(2) carries (v) from engine box_load to role compute arrivals 4 bytes = 8192
            channel O_stage_ring: ring(2) carries (O_stage) from role compute arrivals 4 to engine box_store
            role producer warps = 4, elect = 1 {
              tiles (bx) in (1024) claim = static {
                acquire q_ring
                issue box_load onto = q_ring {
                  copy Q[bx * 4 : +64, :] -> q@q_ring[:, :] clip
                }
                commit q_ring
                acquire t_ring
                issue box_load onto = t_ring {
                  copy K[0 : +64, :] -> t@t_ring[:, :]
                }
                commit t_ring
                for k in (1, 4, 1) serial {
                  acquire t_ring
                  issue box_load onto = t_ring {
                    copy K[k * 64 : +64, :] -> t@t_ring[:, :]
                  }
                  commit t_ring
                  acquire v_ring
                  issue box_load onto = v_ring {
                    copy V[k * 64 - 64 : +64, :] -> v@v_ring[:, :]
                  }
                  commit v_ring
                }
                acquire v_ring
                issue box_load onto = v_ring {
                  copy V[192 : +64, :] -> v@v_ring[:, :]
                }
                commit v_ring
              }
              acquire q_ring
              issue box_load onto = q_ring {
                copy Q[0 * 4 : +64, :] -> q@q_ring[:, :] clip
              }
              commit q_ring
              acquire t_ring
              issue box_load onto = t_ring {
                copy K[0 : +64, :] -> t@t_ring[:, :]
              }
              commit t_ring
            }
            role compute warps = 4 {
              alloc x: fragment f32[64, 64]
              alloc q_regs: fragment f16[64, 64]
              wait q_ring
              copy q@q_ring[:, :] -> q_regs[:, :]
              release q_ring
              wait t_ring
              issue mma {
                gemm q_regs[:, :], t@t_ring[:, :] -> x[:, :] transpose_b, init = true
              }
              group mma -> t_x
              settle t_x
              release t_ring
              tiles (bx) in (1024) claim = static {
                alloc p: fragment f16[64, 64]
                alloc o: fragment f32[64, 64]
                parallel (i, j) in (64, 64) {
                  store x[i, j] = x[i, j] + 1.0
                }
                copy x[:, :] -> p[:, :]
                for k in (1, 4, 1) serial {
                  wait t_ring
                  issue mma {
                    gemm q_regs[:, :], t@t_ring[:, :] -> x[:, :] transpose_b, init = true
                  }
                  group mma -> t_x
                  wait v_ring
                  issue mma {
                    gemm p[:, :], v@v_ring[:, :] -> o[:, :] init = k - 1 == 0
                  }
                  group mma -> t_o
                  settle t_x
                  release t_ring
                  parallel (i, j) in (64, 64) {
                    store x[i, j] = x[i, j] + 1.0
                  }
                  settle t_o
                  release v_ring
                  copy x[:, :] -> p[:, :]
                }
                wait v_ring
                issue mma {
                  gemm p[:, :], v@v_ring[:, :] -> o[:, :] init = false
                }
                group mma -> t_o
                wait q_ring
                copy q@q_ring[:, :] -> q_regs[:, :]
                release q_ring
                wait t_ring
                issue mma {
                  gemm q_regs[:, :], t@t_ring[:, :] -> x[:, :] transpose_b, init = true
                }
                group mma -> t_x
                acquire O_stage_ring
                settle t_o
                release v_ring
                copy o[:, 0 : +32] -> O_stage@O_stage_ring[:, :]
                issue box_store {
                  copy O_stage@O_stage_ring[:, :] -> O[bx * 4 : +64, 0 : +32] clip
                }
                commit O_stage_ring
                acquire O_stage_ring
                copy o[:, 32 : +32] -> O_stage@O_stage_ring[:, :]
                issue box_store {
                  copy O_stage@O_stage_ring[:, :] -> O[bx * 4 : +64, 32 : +32] clip
                }
                commit O_stage_ring
                settle t_x
                release t_ring
              }
              settle_count box_store <= 0 read
            }
          }
        }
"""  # noqa: E501 -- a channel is one line

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from tile_ir import build as b
from tile_ir.expr import free_vars
from tile_ir.ops import (
    MATRIX,
    Acquire,
    Alloc,
    Assume,
    Commit,
    Copy,
    For,
    Gemm,
    Group,
    Issue,
    Kernel,
    Let,
    Release,
    Role,
    Settle,
    Tiles,
    Wait,
)
from tile_ir.rewrite import (
    effects,
    map_all_exprs,
    map_stmts,
    replace,
    stmt_exprs,
    substitute,
    walk,
    with_body,
)
from tile_passes.analysis.dependence import touches
from tile_passes.base import Pass
from tile_passes.plan.plan_tiles import IN_A_LOOP

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tile_ir.core import Function
    from tile_ir.expr import Expr, Var
    from tile_ir.opdef import Body, Stmt
    from tile_passes.base import PassContext
    from tile_passes.plan.model import Plan


@dataclass(frozen=True, slots=True)
class _Parts:
    """A tile's body taken apart at its first and its last product."""

    lead: Body
    """What comes first and stays."""
    head: Body
    """Waiting for the first product's operands, and starting it."""
    settle: Body
    """Waiting for it, and giving its operands back."""
    rest: Body
    """Up to the start of the last product."""
    tail: Body
    """What is left when that is under way."""

    @property
    def channels(self) -> tuple[str, ...]:
        """The channels that the head waits for."""
        return tuple(s.channel for s in self.head if isinstance(s, Wait))

    @property
    def held(self) -> tuple[str, ...]:
        """Those of them whose slots are given back in the middle of the tile."""
        free = {s.channel for s in (*self.head, *self.settle) if isinstance(s, Release)}
        return tuple(c for c in self.channels if c not in free)


def _parts(body: Body) -> _Parts | None:
    """A tile's body taken apart, None when it has not the form for it."""
    pairs = enumerate(pairwise(body))
    starts = [i for i, (s, then) in pairs if _is_product(s) and isinstance(then, Group)]
    if len(starts) < 2:
        return None
    first, last = starts[0], starts[-1]
    lead, head = _slice(body[:first], body[first])
    group = body[first + 1]
    assert isinstance(group, Group)
    at = _settled(body, first + 2, group.token)
    if at is None:
        return None
    end = at + 1
    while end < len(body) and isinstance(body[end], Release):
        end += 1
    if end > last:
        return None
    rest, tail = _early((*body[first + 2 : at], *body[end : last + 2]), body[last + 2 :])
    head = (*head, *body[first : first + 2])
    return _Parts(lead=lead, head=head, settle=body[at:end], rest=rest, tail=tail)


def _early(rest: Body, tail: Body) -> tuple[Body, Body]:
    """Slots that only the loop reads are given back right behind it, before the last product."""
    at = max((i for i, s in enumerate(rest) if isinstance(s, For)), default=None)
    if at is None:
        return rest, tail
    loop = rest[at]
    assert isinstance(loop, For)
    later = (*rest[at + 1 :], *tail)
    moved = [s for s in tail if isinstance(s, Release) and _only_in(loop, s.channel, later)]
    keep = tuple(s for s in tail if not any(s is m for m in moved))
    return (*rest[: at + 1], *moved, *rest[at + 1 :]), keep


def _only_in(loop: For, channel: str, later: Body) -> bool:
    """Whether the products of a loop are all that reads a channel's slot, and done when it ends."""
    if any(_reads(s, channel) for s in later if not isinstance(s, Release)):
        return False
    users = [i for i, s in enumerate(loop.body) if _reads(s, channel)]
    if not users or not all(_is_product(loop.body[i]) for i in users):
        return False
    group = loop.body[users[-1] + 1]
    return isinstance(group, Group) and any(
        isinstance(s, Settle) and s.token == group.token and not s.back
        for s in loop.body[users[-1] + 2 :]
    )


def _reads(stmt: Stmt, channel: str) -> bool:
    """Whether a statement touches a slot of the channel, or steps to another one."""
    for s in walk((stmt,)):
        if isinstance(s, (Acquire, Commit, Wait, Release)) and s.channel == channel:
            return True
        for e in effects(s):
            slot = getattr(e.region, "slot", None)
            if slot is not None and slot.channel == channel:
                return True
    return False


def _is_product(s: Stmt) -> bool:
    return isinstance(s, Issue) and s.engine == MATRIX


def _settled(body: Body, start: int, token: str) -> int | None:
    found = (
        i for i, s in enumerate(body) if i >= start and isinstance(s, Settle) and s.token == token
    )
    return next(found, None)


def _slice(before: Body, issue: Stmt) -> tuple[Body, Body]:
    """What stands before a product, in two: what it does not need, and what it does: waiting for
    channels, and copies from their slots."""
    gemm = issue.body[0]  # type: ignore[attr-defined]  # an Issue
    assert isinstance(gemm, Gemm)
    needed = {r.buffer for r in (gemm.a, gemm.b)}
    slots = {r.slot.channel for r in (gemm.a, gemm.b) if r.slot is not None}
    copies = [s for s in before if isinstance(s, Copy) and s.dst.buffer in needed]
    slots |= {s.src.slot.channel for s in copies if s.src.slot is not None}
    head = tuple(
        s
        for s in before
        if (isinstance(s, (Wait, Release)) and s.channel in slots) or any(s is c for c in copies)
    )
    return tuple(s for s in before if not any(s is h for h in head)), head


def _touched(body: Iterable[Stmt]) -> set[str]:
    return {n for s in body if not isinstance(s, Alloc) for n in touches(s)}


def _may_cross(parts: _Parts, tiles: Tiles) -> bool:
    """Whether the head can run before the tail, and before the next tile's lead."""
    own = {*tiles.vars, *(s.var for s in walk(tiles.body) if isinstance(s, Let))}
    if any(free_vars(e) & own for s in walk(parts.head) for e in stmt_exprs(s)):
        return False
    tokens = {s.token for s in walk(parts.tail) if isinstance(s, Settle)}
    if {s.token for s in parts.head if isinstance(s, Group)} & tokens:
        return False
    skipped = (*parts.tail, *parts.lead, *_named(parts.rest, tokens))
    ends = (Acquire, Commit, Wait, Release)
    meets = (s.channel for s in walk(skipped) if isinstance(s, ends))
    return not set(meets) & set(parts.channels) and not _touched(parts.head) & _touched(skipped)


def _named(body: Body, tokens: set[str]) -> Body:
    """The products in a body whose groups have one of these names."""
    out: list[Stmt] = []
    before: Stmt | None = None
    for s in walk(body):
        if isinstance(s, Group) and s.token in tokens and before is not None:
            out.append(before)
        before = s if _is_product(s) else before
    return tuple(out)


def _compute(role: Role, parts: _Parts, tiles: Tiles) -> Role:
    """The compute role with the head before its tile loop and behind each tile's last product."""
    names = _touched(parts.head)
    moved = tuple(s for s in parts.lead if isinstance(s, Alloc) and s.buffer.name in names)
    lead = tuple(s for s in parts.lead if not any(s is m for m in moved))
    body = (*lead, *parts.rest, *parts.head, *parts.tail, *parts.settle)
    at = next(i for i, s in enumerate(role.body) if s is tiles)
    free = tuple(Release(channel=c, span=tiles.span) for c in parts.held)
    return replace(
        role,
        body=(
            *role.body[:at],
            *moved,
            *parts.head,
            *parts.settle,
            replace(tiles, body=body),
            *free,
            *role.body[at + 1 :],
        ),
    )


def _fillings(tiles: Tiles, channels: tuple[str, ...]) -> Body | None:
    """The producer's first fillings in a tile, of exactly these channels; None where others come
    between."""
    out: list[Stmt] = []
    left = set(channels)
    for s in tiles.body:
        if isinstance(s, (Let, Assume)):
            continue
        if isinstance(s, (Acquire, Commit)) and s.channel not in left:
            return None
        if not isinstance(s, (Acquire, Commit, Issue)):
            return None
        out.append(s)
        if isinstance(s, Commit):
            left.discard(s.channel)
        if not left:
            return tuple(out)
    return None


def _producer(role: Role, tiles: Tiles, fillings: Body) -> Role:
    """The producer with one more of these fillings after its tiles."""
    env: dict[Var, Expr] = {v: b.const(0, v.dtype) for v in tiles.vars}
    for s in tiles.body:
        if isinstance(s, Let):
            env[s.var] = substitute(dict(env))(s.value)
    more = map_all_exprs(fillings, substitute(env))
    at = next(i for i, s in enumerate(role.body) if s is tiles)
    return replace(role, body=(*role.body[: at + 1], *more, *role.body[at + 1 :]))


def _crossed(kernel: Kernel) -> Kernel:
    """A kernel whose tiles overlap, the same one where they cannot."""
    found: dict[str, tuple[Role, Tiles]] = {}
    for role in kernel.body:
        if isinstance(role, Role):
            loops = [s for s in role.body if isinstance(s, Tiles) and s.claim in IN_A_LOOP]
            if len(loops) == 1:
                found["producer" if role.elect else "compute"] = (role, loops[0])
    if len(found) < 2:
        return kernel
    (user, tiles), (filler, ahead) = found["compute"], found["producer"]
    parts = _parts(tiles.body)
    if parts is None or not _may_cross(parts, tiles):
        return kernel
    fillings = _fillings(ahead, parts.channels)
    if fillings is None:
        return kernel
    made = {
        user.name: _compute(user, parts, tiles),
        filler.name: _producer(filler, ahead, fillings),
    }
    body = tuple(made[s.name] if isinstance(s, Role) else s for s in kernel.body)
    return replace(kernel, body=body)


def cross_tiles(fn: Function, cx: PassContext, plan: Plan) -> Function:
    """Let the tiles overlap of the kernels whose plan says so."""

    def kernel(stmt: Stmt) -> Stmt | None:
        if not isinstance(stmt, Kernel) or not plan.value(f"{stmt.name}.tiles.cross", False):
            return None
        return _crossed(stmt)

    return with_body(fn, map_stmts(fn.body, kernel))


PASS = Pass(
    name="cross-tiles",
    phase="expand",
    rewrite=cross_tiles,
    requires=("roles", "tiles planned"),
    doc=__doc__,
)
