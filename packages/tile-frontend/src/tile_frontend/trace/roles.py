"""Role blocks as they are written, made into roles side by side that each have their own control
flow.

A kernel is written as one text: loops with blocks of several roles in them. Each role runs those
loops by itself. So its program is what lies between the first and the last block, less the blocks
of others; scalars and barriers that stand between blocks are everyone's. Buffers in registers
belong to the one role that uses them, and scalars that change exist once for each role.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from tile_ir.diag import TileError
from tile_ir.expr import Load, rewrite
from tile_ir.opdef import bodies
from tile_ir.ops import (
    Alloc,
    Assume,
    BarrierArrive,
    BarrierWait,
    Break,
    CommitGroup,
    Continue,
    For,
    Let,
    Role,
    SettleCount,
    Store,
    Sync,
)
from tile_ir.rewrite import effects, map_all_exprs, map_bodies, map_stmts, replace, stmt_exprs, walk

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tile_ir.diag import Span
    from tile_ir.expr import Expr
    from tile_ir.opdef import Body, Stmt

__all__ = ["GROUP_THREADS", "apart", "in_order"]

GROUP_THREADS = 128
"""Threads of the groups that `T.ws` counts: part of the language, whatever a device's warps are."""

WARP_THREADS = 32
"""What the threads of a role are a multiple of, on every device that has roles."""

_EVERYONES = (
    Assume,
    BarrierArrive,
    BarrierWait,
    Break,
    CommitGroup,
    Continue,
    Let,
    SettleCount,
    Sync,
)
"""What may stand between role blocks: each role does it for itself."""


def in_order(body: Body) -> Body:
    """Loops of a kernel with hand-written barriers run as they are written."""

    def plain(s: Stmt) -> Stmt | None:
        if not isinstance(s, For) or s.kind != "pipelined":
            return None
        return replace(s, kind="serial", num_stages=0, order=(), stage=())

    return map_stmts(body, plain)


def apart(body: Body, groups: Mapping[str, tuple[int, int]], threads: int) -> Body:
    """A tile body with its roles side by side.

    Raises:
        TileError: E1511 for roles that the block's threads do not hold or that overlap, E1512 for
            a statement or buffer between roles that belongs to none or several.
    """
    if not groups:
        return body
    order = _ordered(body, groups, threads)
    holds = [any(isinstance(s, Role) for s in walk((stmt,))) for stmt in body]
    first, last = holds.index(True), len(holds) - 1 - holds[::-1].index(True)
    owned = _Owned.of(body, order)
    before, middle, after = body[:first], body[first : last + 1], body[last + 1 :]
    own = {name: owned.taken(before, name) for name in order}
    left = tuple(s for s in before if owned.owner(s) is None and not owned.is_copied(s))
    rest = tuple(s for s in after if owned.owner(s) is None)
    _check_after(rest, owned)
    roles: list[Stmt] = []
    place = 0
    for name in order:
        start, count = groups[name]
        roles += _idle(place, start)
        place = start + count
        inner = _Part(name, owned).body(middle)
        tail = tuple(s for s in after if owned.owner(s) == name)
        whole = owned.renamed((*own[name], *inner, *tail), name)
        span = next(s.span for s in walk(body) if isinstance(s, Role) and s.name == name)
        roles.append(Role(name=name, threads=count, body=whole, span=span))
    roles += _idle(place, threads)
    return (*left, *roles, *rest)


def _idle(start: int, stop: int) -> list[Stmt]:
    """The threads between two roles do nothing."""
    if start >= stop:
        return []
    name = f"idle{start}"
    return [Role(name=name, threads=stop - start, body=())]


def _ordered(body: Body, groups: Mapping[str, tuple[int, int]], threads: int) -> list[str]:
    order = sorted(groups, key=groups.__getitem__)
    spans: dict[str, Span | None] = {}
    for s in walk(body):
        if isinstance(s, Role):
            spans.setdefault(s.name, s.span)
    end = 0
    for name in order:
        start, count = groups[name]
        if start < end:
            raise TileError(
                "E1511",
                "two roles share some of their threads, not all",
                spans[name],
                notes=("each thread has one role",),
                help="let blocks have the same threads or different ones",
            )
        end = start + count
        if start % WARP_THREADS or count % WARP_THREADS:
            raise TileError(
                "E1511",
                f"a role begins with thread {start} and has {count}",
                spans[name],
                notes=(f"the threads of a role are whole warps of {WARP_THREADS}",),
                help=f"let the numbers be multiples of {WARP_THREADS}",
            )
    if end > threads or threads % WARP_THREADS:
        raise TileError(
            "E1511",
            f"a role has thread {end - 1}, and the kernel is launched with {threads} threads",
            spans[order[-1]],
            help=f"launch it with threads={-(-end // GROUP_THREADS) * GROUP_THREADS}",
        )
    return order


def _buffers(s: Stmt) -> set[str]:
    found = {e.buffer for t in walk((s,)) for e in effects(t)}
    return found | {t.buffer.name for t in walk((s,)) if isinstance(t, Alloc)}


@dataclasses.dataclass(slots=True)
class _Owned:
    """Whose the buffers in registers are."""

    of_role: dict[str, str]
    """Fragments and arrays of threads, each with the role that uses it."""
    scalars: dict[str, Alloc]
    """Variables that roles use, of which each has its own copy."""
    users: dict[str, set[str]]

    @staticmethod
    def of(body: Body, order: list[str]) -> _Owned:
        made = _Owned({}, {}, {})
        allocs = {s.buffer.name: s for s in body if isinstance(s, Alloc)}
        for role in (s for s in walk(body) if isinstance(s, Role)):
            for inner in role.body:
                for name in _buffers(inner):
                    made.users.setdefault(name, set()).add(role.name)
        for s in body:  # a variable between blocks is everyone's
            if any(isinstance(t, Role) for t in walk((s,))):
                for name in _between(s):
                    made.users.setdefault(name, set()).update(order)
        for name, users in made.users.items():
            if name in allocs and allocs[name].buffer.scope not in ("shared", "global"):
                made.assign(allocs[name], users)
        return made

    def assign(self, alloc: Alloc, users: set[str]) -> None:
        """Note whose a buffer in registers is."""
        name = alloc.buffer.name
        if alloc.buffer.scope == "var":
            self.scalars[name] = alloc
        elif len(users) == 1:
            self.of_role[name] = next(iter(users))
        else:
            raise TileError(
                "E1512",
                f"{name} is in registers, and several roles use it",
                alloc.span,
                notes=(f"they are {', '.join(sorted(users))}",),
                help="give each role a buffer of its own, or pass it on in shared memory",
            )

    def owner(self, s: Stmt) -> str | None:
        """The role whose registers a statement outside of blocks touches."""
        owners = {self.of_role[n] for n in _buffers(s) if n in self.of_role}
        if len(owners) > 1:
            raise TileError(
                "E1512",
                "a statement uses registers of several roles",
                s.span,
                help="put it into one role, and pass values on in shared memory",
            )
        return next(iter(owners), None)

    def is_copied(self, s: Stmt) -> bool:
        """Whether a statement declares or sets a variable that each role has its own copy of."""
        if isinstance(s, Alloc):
            return s.buffer.name in self.scalars
        return isinstance(s, Store) and s.buffer in self.scalars

    def taken(self, before: Body, role: str) -> Body:
        """What a role takes over from before the blocks."""

        def mine(s: Stmt) -> bool:
            if self.is_copied(s):
                return role in self.users[s.buffer if isinstance(s, Store) else s.buffer.name]  # type: ignore[attr-defined]  # an Alloc, then
            return self.owner(s) == role

        return tuple(s for s in before if mine(s))

    def renamed(self, body: Body, role: str) -> Body:
        """The program of a role with its own copies of variables."""
        inside = {s.buffer.name: s.buffer for s in walk(body) if isinstance(s, Alloc)}
        names = {n: f"{n}_{role}" for n in self.scalars if n in inside}
        if not names:
            return body

        def load(e: Expr) -> Expr | None:
            if isinstance(e, Load) and e.buffer in names:
                return Load(names[e.buffer], e.indices, e.dtype, e.slot)
            return None

        def one(s: Stmt) -> Stmt | None:
            if isinstance(s, Alloc) and s.buffer.name in names:
                buffer = dataclasses.replace(s.buffer, name=names[s.buffer.name])
                return replace(s, buffer=buffer)
            if isinstance(s, Store) and s.buffer in names:
                return replace(s, buffer=names[s.buffer])
            return None

        memo: dict[Expr, Expr] = {}
        return map_stmts(map_all_exprs(body, lambda e: rewrite(e, load, memo)), one)


def _between(s: Stmt) -> set[str]:
    """The scalars that control flow around blocks reads, and that stand between blocks set."""
    found = {x.buffer for e in stmt_exprs(s) for x in _loads(e)}
    for inner in bodies(s):
        for t in inner:
            if isinstance(t, Role):
                continue
            found |= _between(t)
            if isinstance(t, Store):
                found.add(t.buffer)
    return found


def _loads(e: Expr) -> list[Load]:
    found = [e] if isinstance(e, Load) else []
    for child in e.children():
        found += _loads(child)
    return found


def _check_after(rest: Body, owned: _Owned) -> None:
    for s in rest:
        used = sorted(n for n in _buffers(s) if n in owned.scalars)
        if used:
            raise TileError(
                "E1512",
                f"{used[0]} is read after the roles, of which each has its own",
                s.span,
                help="use a variable of its own after the T.ws blocks",
            )


@dataclasses.dataclass(frozen=True, slots=True)
class _Part:
    """What of the text between the first and the last block is one role's."""

    role: str
    owned: _Owned

    def body(self, body: Body) -> Body:
        out: list[Stmt] = []
        for s in body:
            out += self.stmt(s)
        return tuple(out)

    def stmt(self, s: Stmt) -> Body:
        if isinstance(s, Role):
            return s.body if s.name == self.role else ()
        if bodies(s) and any(isinstance(t, Role) for t in walk((s,))):
            made = map_bodies(s, self.body)
            idle = (Assume, Break, Continue, Let)
            acts = any(not bodies(t) and not isinstance(t, idle) for t in walk((made,)))
            return (made,) if acts else ()
        if isinstance(s, _EVERYONES) or self.owned.is_copied(s):
            return (s,)
        owner = self.owned.owner(s)
        if isinstance(s, Alloc) and owner is None and s.buffer.scope == "shared":
            return self._misplaced(s, "a buffer of the block is made between T.ws blocks")
        if owner is not None or isinstance(s, Alloc):
            return (s,) if owner in (None, self.role) else ()
        return self._misplaced(s, "a statement between T.ws blocks belongs to no role")

    @staticmethod
    def _misplaced(s: Stmt, why: str) -> Body:
        raise TileError(
            "E1512",
            why,
            s.span,
            notes=("each role runs the loops around its blocks by itself",),
            help="put it into a T.ws block, or before the first or after the last one",
        )
