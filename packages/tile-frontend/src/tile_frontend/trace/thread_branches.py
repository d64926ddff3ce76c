"""Branches on the number of a thread, made into what tile programs have: roles, and arrivals of
one thread.

A range of threads is a role. One thread of a role, or of the block, may arrive at barriers and
start copies. Branches in which single threads only compute and access elements stay.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tile_ir.diag import TileError
from tile_ir.expr import Binary, Call, Const, walk
from tile_ir.opdef import bodies
from tile_ir.ops import (
    Alloc,
    Assert,
    Assume,
    Atomic,
    BarrierArrive,
    BarrierExpect,
    Break,
    Continue,
    Copy,
    CopyPeer,
    Fill,
    For,
    If,
    Issue,
    Let,
    Print,
    Reduce,
    Role,
    Shuffle,
    Store,
    Sync,
    WarpReduce,
    While,
)
from tile_ir.rewrite import map_bodies, replace, stmt_exprs
from tile_ir.rewrite import walk as walk_stmts

if TYPE_CHECKING:
    from tile_ir.diag import Span
    from tile_ir.expr import Expr
    from tile_ir.opdef import Body, Stmt

__all__ = ["by_threads", "refuse_threads"]

Range = tuple[int, int]
"""From a thread to another, the end excluded."""

_TURNED = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le", "eq": "eq"}


def by_threads(body: Body, groups: dict[str, Range], threads: int) -> Body:
    """A tile body without branches on a thread's number; `groups` gets the roles that they make, as
    first thread and number of threads.

    Raises:
        TileError: E1511 for a condition on threads that is no range, or work that one thread cannot
            do.
    """
    made = (s.buffer for s in walk_stmts(body) if isinstance(s, Alloc))
    own = frozenset(x.name for x in made if x.scope in ("local", "var"))
    return _Branches(groups, own).body(body, (0, threads))


def refuse_threads(body: Body) -> None:
    """Raise E1501 where a statement still asks for the number of a thread."""
    for s in walk_stmts(body):
        if isinstance(s, (Shuffle, WarpReduce)) and not s.src.ranges:
            raise TileError(
                "E1501",
                "threads of a role exchange values by their lanes",
                s.span,
                help="write the work of the role with T.Parallel and tile operations",
            )
        if any(_asks(e) for e in stmt_exprs(s)):
            raise TileError(
                "E1501",
                "the number of a thread is used for more than to branch on it",
                s.span,
                notes=("in a role, elements are divided by layouts",),
                help="write the work with T.Parallel and tile operations, and let the compiler "
                "divide it",
            )


def _is_thread(e: Expr) -> bool:
    return isinstance(e, Call) and e.fn == "thread_index"


def _asks(e: Expr) -> bool:
    return any(map(_is_thread, walk(e)))


_ELEMENT_WORK = (
    Alloc, Assert, Assume, Atomic, Break, Continue, For, If, Let, Print, Shuffle, Store, Sync,
    WarpReduce, While,
)  # fmt: skip


def _by_elements(s: If, own: frozenset[str]) -> bool:
    """Whether single threads do all of a branch, so that it is no role; `own` are their arrays."""

    def is_small(t: Stmt) -> bool:
        if isinstance(t, (Copy, Fill)):
            return t.dst.buffer in own or any(_asks(e) for e in stmt_exprs(t))
        if isinstance(t, Reduce):
            return t.src.buffer in own
        return isinstance(t, _ELEMENT_WORK)

    return all(map(is_small, walk_stmts((s,))))


class _Branches:
    def __init__(self, groups: dict[str, Range], own: frozenset[str]) -> None:
        self.groups, self.own = groups, own

    def body(self, body: Body, here: Range) -> Body:
        """A body that the threads `here` run."""
        out: list[Stmt] = []
        for s in body:
            if isinstance(s, If) and _asks(s.cond) and not _by_elements(s, self.own):
                out += self.branch(s, here)
            elif isinstance(s, Role):
                start, count = self.groups[s.name]
                out.append(replace(s, body=self.body(s.body, (start, start + count))))
            else:
                out.append(map_bodies(s, lambda inner: self.body(inner, here)))
        return tuple(out)

    def branch(self, s: If, here: Range) -> Body:
        """What stands for a branch on threads."""
        if _one_of(s.cond, here):
            if s.orelse:
                raise _no_range(s.span)
            return tuple(self.single(t) for t in s.then)
        yes, no = _split(s.cond, here, s.span)
        if no is _NOBODY and s.orelse:
            raise _no_range(s.span)
        return (*self.arm(s.then, yes, here, s.span), *self.arm(s.orelse, no, here, s.span))

    def arm(self, body: Body, part: Range, here: Range, span: Span | None) -> Body:
        """What the threads of `part` do in one arm."""
        if not body or part[0] >= part[1]:
            return ()
        inner = self.body(body, part)
        if part == here or all(isinstance(s, Role) for s in inner):
            return inner
        if part[1] - part[0] == 1:
            return tuple(self.single(s) for s in body)
        if any(isinstance(s, Role) for s in walk_stmts(inner)):
            raise TileError(
                "E1511",
                "a branch on threads stands inside another role, beside work of that role",
                span,
                help="write one chain of if and elif, an arm for each role",
            )
        name = f"t{part[0]}_{part[1]}"
        self.groups[name] = (part[0], part[1] - part[0])
        return (Role(name=name, threads=part[1] - part[0], body=inner, span=span),)

    def single(self, s: Stmt) -> Stmt:
        """What one thread does."""
        if isinstance(s, (BarrierArrive, BarrierExpect)):
            return replace(s, one=True)
        if isinstance(s, (CopyPeer, Issue, Let)):
            return s
        if bodies(s):
            return map_bodies(s, lambda body: tuple(map(self.single, body)))
        raise TileError(
            "E1511",
            "one thread shall do a tile operation",
            s.span,
            notes=("one thread arrives at barriers and starts copies of boxes",),
            help="move it out of the branch: all threads of the role do it together",
        )


def _one_of(cond: Expr, here: Range) -> bool:
    """Whether a condition holds for one of the threads `here`, whichever."""
    if not isinstance(cond, Binary) or cond.op != "eq" or not isinstance(cond.b, Const):
        return False
    left, value = cond.a, int(cond.b.value)
    if _is_thread(left):
        return here[0] <= value < here[1]
    if isinstance(left, Binary) and left.op == "floormod" and isinstance(left.b, Const):
        count = int(left.b.value)
        return _is_thread(left.a) and sum(t % count == value for t in range(*here)) == 1
    return False


def _split(cond: Expr, here: Range, span: Span | None) -> tuple[Range, Range]:
    """The threads for which a condition holds, and the others; both are ranges."""
    found = _range(cond, span)
    yes = max(here[0], found[0]), min(here[1], found[1])
    if yes[0] >= yes[1]:
        return (here[0], here[0]), here
    if yes[0] == here[0]:
        return yes, (yes[1], here[1])
    if yes[1] == here[1]:
        return yes, (here[0], yes[0])
    return yes, _NOBODY


_FAR = 1 << 30
_NOBODY = (0, 0)
"""Threads on both sides of a range: no role."""


def _range(cond: Expr, span: Span | None) -> Range:
    if isinstance(cond, Binary) and cond.op == "land":
        a, c = _range(cond.a, span), _range(cond.b, span)
        return max(a[0], c[0]), min(a[1], c[1])
    if not isinstance(cond, Binary) or cond.op not in _TURNED:
        raise _no_range(span)
    op, left, right = cond.op, cond.a, cond.b
    if _is_thread(right):
        op, left, right = _TURNED[op], right, left
    if not _is_thread(left) or not isinstance(right, Const):
        raise _no_range(span)
    n = int(right.value)
    ranges = {
        "lt": (0, n),
        "le": (0, n + 1),
        "gt": (n + 1, _FAR),
        "ge": (n, _FAR),
        "eq": (n, n + 1),
    }
    return ranges[op]


def _no_range(span: Span | None) -> TileError:
    return TileError(
        "E1511",
        "a condition on threads is not a range of them",
        span,
        notes=("a role is a range of threads, such as tx < 128 or 128 <= tx < 256",),
        help="compare the thread's number with constants, by <, <=, >, >= and `and`; == and "
        "T.shuffle_elect mean one thread",
    )
