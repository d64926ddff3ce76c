"""Roles as branches on the thread's number: those who compute first, so that their threads count
from 0, then those who serve them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from tile_ir import build as b
from tile_ir.ops import If, Let, RegisterLimit, Role, Sync
from tile_ir.rewrite import walk
from tile_passes.lower.threads.groups import group_threads
from tile_passes.lower.threads.pieces import Items, Nest, Piece

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tile_ir.expr import Expr, Var
    from tile_ir.opdef import Body
    from tile_ir.target import TargetSpec
    from tile_passes.lower.threads.context import ThreadContext

__all__ = [
    "group_sync",
    "register_limits",
    "role_sync",
    "role_threads",
    "roles_of",
    "split_by_roles",
]

LowerRole = Callable[[Role, "Var"], Items]
"""The items of a role's body, given the variable that counts the role's threads from 0."""


def roles_of(body: Body) -> list[Role]:
    """The roles of a kernel in the order of their threads."""
    found = [s for s in walk(body) if isinstance(s, Role)]
    return sorted(found, key=lambda r: bool(r.elect))


def role_threads(role: Role, target: TargetSpec) -> int:
    """The threads of a role that run its body."""
    return 1 if role.elect else role.warps * target.warp_width


def role_sync(role: Role, roles: Sequence[Role], target: TargetSpec) -> Sync | None:
    """The barrier of a role's threads, None for a role of one thread. Number 0 is the block's."""
    threads = role_threads(role, target)
    if threads == 1:
        return None
    number = 1 + [r.name for r in roles].index(role.name)
    return Sync(scope="role", id=number, threads=threads)


def group_sync(roles: Sequence[Role], target: TargetSpec) -> Sync:
    """The barrier of a group of warps; the block's groups are numbered on from its roles."""
    return Sync(scope="group", id=1 + len(roles), threads=group_threads(target))


def split_by_roles(
    roles: Sequence[Role], cx: ThreadContext, lower: LowerRole, limits: dict[str, Body]
) -> Items:
    """A branch into each role; `limits` has what its warps do first, all together."""
    starts, total = {}, 0
    for role in roles:
        starts[role.name] = total
        total += role.warps * cx.target.warp_width
    out: Items = ()
    last: Sync | None = None
    for role in reversed(roles):
        items = _role(role, starts[role.name], cx, lower)
        items = (Piece(limits[role.name]), *items) if limits.get(role.name) else items
        sync = role_sync(role, roles, cx.target)
        if role is not roles[-1]:
            end = starts[role.name] + role.warps * cx.target.warp_width
            head = If(cond=_before(end, cx, moved=bool(limits)), then=(), span=role.span)
            items = (Nest(head, (("then", items), ("orelse", out)), (sync, last)),)
            sync = None  # from here on a body of several roles
        out, last = items, sync
    return out


def _before(end: int, cx: ThreadContext, *, moved: bool) -> Expr:
    """Whether a thread comes before another one, which is the first of its warp.

    What the machine's compiler knows to be equal in a warp stays out of the threads' own registers.
    The number of the warp tells it; so does an instruction that hands registers on.
    """
    if moved:
        return b.lt(cx.thread, end)
    return b.lt(b.call("warp_index"), end // cx.target.warp_width)


def _role(role: Role, start: int, cx: ThreadContext, lower: LowerRole) -> Items:
    if role.elect:
        head = If(cond=b.eq(cx.thread, start), then=(), span=role.span)
        inner = lower(role, cx.names.var("one"))
        return (Nest(head, (("then", inner), ("orelse", ())), (None, None)),)
    if start == 0:
        return lower(role, cx.thread)
    own = cx.names.var(f"tid_{role.name}")
    let = Let(var=own, value=b.sub(cx.thread, start), span=role.span)
    return (Piece((let,)), *lower(role, own))


def register_limits(roles: Sequence[Role], threads: int, target: TargetSpec) -> dict[str, Body]:
    """What hands registers from the warps that serve to those that compute, where the machine can
    and some role asks for more than an equal share of a block of `threads`."""
    file = target.registers
    if file is None or not file.movable:
        return {}
    share = min(file.per_core // threads // file.unit * file.unit, file.per_thread)
    if not any(role.registers > share for role in roles):
        return {}
    return {
        role.name: (
            RegisterLimit(count=role.registers, grow=role.registers > share, span=role.span),
        )
        for role in roles
        if role.registers
    }
