"""The control skeleton of a kernel: per role, only what waits, hands over, or touches memory that
something in flight uses, as flat instructions with jumps.

Loop bounds and conditions become functions of the loop variables and of *symbols*: the largest
subexpressions that are not sums, differences, comparisons or truth operations. A symbol has one
value in all roles, so loops that depend on the same one run equally often.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tile_ir.core import Region
from tile_ir.expr import Binary, Cast, Const, Expr, Load, Unary, Var
from tile_ir.opdef import Access, bodies
from tile_ir.ops import (
    Acquire,
    Alloc,
    Break,
    Channel,
    Commit,
    Continue,
    For,
    Group,
    If,
    Issue,
    Kernel,
    Let,
    Parallel,
    Release,
    Role,
    Settle,
    SettleCount,
    Store,
    Tiles,
    Wait,
    While,
)
from tile_ir.rewrite import effects, walk
from tile_ir.text import print_stmt
from tile_ir.types import Kind, i32
from tile_passes.analysis.dependence import aliases

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from tile_ir.diag import Span
    from tile_ir.expr import Slot
    from tile_ir.opdef import Body, Stmt

Env = dict[Expr, int]
Value = Callable[[Env], int]

Touch = tuple[str, "Slot | None"]
"""A buffer, and the slot of it that is meant."""


LARGE = 8
"""Constant trip counts beyond this are not run but stand for any number beyond the runs."""

_NEAR = 4


class NotCoveredError(Exception):
    """The skeleton has a form that is not explored; the argument says which."""


@dataclass(frozen=True, slots=True)
class Instr:
    """One instruction. `args` depend on `op`; `stmt` is what it came from."""

    op: str
    args: tuple[Any, ...]
    stmt: Stmt

    @property
    def span(self) -> Span | None:
        """The user's place."""
        return self.stmt.span

    @property
    def text(self) -> str:
        """The statement's first line."""
        head = self.stmt if not bodies(self.stmt) or isinstance(self.stmt, Issue) else None
        if head is None:
            return self.op
        return " ".join(print_stmt(head).split())


@dataclass(slots=True)
class Skeleton:
    """Programs by role ("" without roles), channels, and the symbols that decide control."""

    programs: dict[str, list[Instr]] = field(default_factory=dict)
    groups: dict[str, int] = field(default_factory=dict)
    channels: dict[str, Channel] = field(default_factory=dict)
    symbols: dict[Expr, None] = field(default_factory=dict)
    varying: dict[Expr, Var] = field(default_factory=dict)
    """Symbols that change with a loop variable of the skeleton."""
    reach: int = 0
    """The largest constant that a loop variable or symbol is compared with or moved by."""
    goes_on: bool = False
    """Whether a role still waits or hands over when its last tile is done."""
    ranges: dict[tuple[Expr, Expr], tuple[Value, Value]] = field(default_factory=dict)
    """Start and stop of loops that no other loop decides, as written and as evaluated."""
    large: dict[int, Var] = field(default_factory=dict)
    """Constant numbers of trips too large to run, with the symbols that stand for them."""


_TILE, TILES = Var("tile", i32), Var("tiles", i32)
"""Stand for a block's tiles by number, and for how many it takes."""

_ZERO, _ONE = Const(0, i32), Const(1, i32)

_PROTOCOL = (Acquire, Commit, Wait, Release, Issue, Group, Settle, SettleCount)
_ARITHMETIC: dict[str, Callable[[int, int], int]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "land": lambda a, b: bool(a and b),
    "lor": lambda a, b: bool(a or b),
}


class _Builder:
    """Builds the program of one role."""

    def __init__(
        self, skeleton: Skeleton, tracked: frozenset[str], homes: Mapping[str, str]
    ) -> None:
        self.skeleton, self.tracked, self.homes = skeleton, tracked, homes
        self.code: list[Instr] = []
        self.flags: dict[str, Load] = {}
        """Scalars of the role that only ever hold constants, and how they are read."""
        self.loops: list[Var] = []
        self.tile_vars: list[Var] = []

    def role(self, body: Body) -> None:
        """The program of a whole role."""
        self.flags = _flags(body)
        self.body(body)

    def emit(self, op: str, stmt: Stmt, *args: Any) -> int:
        self.code.append(Instr(op, args, stmt))
        return len(self.code) - 1

    def body(self, body: Body) -> None:
        for stmt in body:
            self.stmt(stmt)

    def stmt(self, stmt: Stmt) -> None:
        if isinstance(stmt, (Acquire, Commit, Wait, Release)):
            self.emit(type(stmt).__name__.lower(), stmt, stmt.channel)
        elif isinstance(stmt, Issue):
            self.emit("issue", stmt, stmt.engine, stmt.onto, *self.touched(stmt.body))
        elif isinstance(stmt, Group):
            self.emit("group", stmt, stmt.engine, stmt.token)
        elif isinstance(stmt, Settle):
            self.emit("settle", stmt, stmt.token, stmt.back, stmt.read)
        elif isinstance(stmt, SettleCount):
            self.emit("settle_count", stmt, stmt.engine, stmt.pending, stmt.read)
        elif bodies(stmt) and not isinstance(stmt, Parallel):
            self.nested(stmt)
        elif isinstance(stmt, (Store, Let)):
            self.scalar(stmt)
        else:
            self.access(stmt)

    def access(self, stmt: Stmt) -> None:
        reads, writes = self.touched((stmt,))
        if reads or writes:
            self.emit("access", stmt, reads, writes)

    def scalar(self, stmt: Store | Let) -> None:
        """Flags are followed; what is bound to something that changes, changes too."""
        if isinstance(stmt, Store) and stmt.buffer in self.flags:
            assert isinstance(stmt.value, Const)
            self.emit("set", stmt, self.flags[stmt.buffer], int(stmt.value.value))
            return
        if isinstance(stmt, Let) and any(
            _mentions(stmt.value, v) for v in (*self.loops, *self.tile_vars)
        ):
            self.tile_vars.append(stmt.var)
        self.access(stmt)

    def touched(self, body: Body) -> tuple[tuple[Touch, ...], tuple[Touch, ...]]:
        """The tracked memory that statements read and write."""
        reads: dict[Touch, None] = {}
        writes: dict[Touch, None] = {}
        for stmt in walk(body):
            for e in effects(stmt):
                home = self.homes.get(e.buffer, e.buffer)
                if home not in self.tracked:
                    continue
                assert isinstance(e.region, (Region, Load))
                key = (home, e.region.slot)
                if e.access & (Access.READ | Access.UPDATE):
                    reads[key] = None
                if e.access & (Access.WRITE | Access.UPDATE):
                    writes[key] = None
        return tuple(reads), tuple(writes)

    def nested(self, stmt: Stmt) -> None:
        acts = any(isinstance(s, _PROTOCOL) for s in walk((stmt,)))
        if isinstance(stmt, If):
            self.branch(stmt, acts)
        elif isinstance(stmt, For):
            self.leaves(stmt, acts)
            self.loop(stmt, stmt.var, stmt.start, stmt.stop, stmt.step, acts)
        elif isinstance(stmt, Tiles) and acts:
            self.tile_vars += stmt.vars
            self.loop(stmt, _TILE, _ZERO, TILES, _ONE, acts)
        elif isinstance(stmt, While) and acts:
            raise NotCoveredError("a while loop around channel operations")
        else:
            for inner in bodies(stmt):
                self.body(inner)

    def leaves(self, stmt: Stmt, acts: bool) -> None:
        if acts and any(isinstance(s, (Break, Continue)) for s in walk((stmt,))):
            raise NotCoveredError("a loop that is left early around channel operations")

    def branch(self, stmt: If, acts: bool) -> None:
        if not acts:  # whichever way it goes, nothing moves: its accesses count as made
            self.body(stmt.then)
            self.body(stmt.orelse)
            return
        at = self.emit("if", stmt, self.value(stmt.cond), 0)
        self.body(stmt.then)
        if stmt.orelse:
            skip = self.emit("jump", stmt, 0)
            self.patch(at, stmt, self.code[at].args[0], len(self.code))
            self.body(stmt.orelse)
            self.patch(skip, stmt, len(self.code))
        else:
            self.patch(at, stmt, self.code[at].args[0], len(self.code))

    def patch(self, at: int, stmt: Stmt, *args: Any) -> None:
        self.code[at] = Instr(self.code[at].op, args, stmt)

    def loop(self, stmt: Stmt, var: Var, start: Expr, stop: Expr, step: Expr, acts: bool) -> None:
        if not acts:  # one trip shows all of its accesses
            for inner in bodies(stmt):
                self.body(inner)
            return
        assert isinstance(step, Const)
        bounds = (self.value(start), self.value(stop), int(step.value))
        if not any(_mentions(e, v) for e in (start, stop) for v in self.loops):
            self.skeleton.ranges[start, stop] = bounds[:2]
        self.emit("enter", stmt, var, bounds[0])
        self.loops.append(var)
        fixed = all(isinstance(e, Const) and e.value <= LARGE for e in (start, stop))
        head = self.emit("head", stmt, var, bounds[1], bounds[2], fixed, 0)
        for inner in bodies(stmt):
            self.body(inner)
        self.emit("next", stmt, var, bounds[2], head)
        self.loops.pop()
        self.patch(head, stmt, var, bounds[1], bounds[2], fixed, len(self.code))

    # -- expressions

    def value(self, e: Expr) -> Value:
        """The evaluator of a bound or condition; what it cannot look into becomes a symbol."""
        if isinstance(e, Const):
            constant = int(e.value)
            base = next((n for n in self.skeleton.large if abs(constant - n) <= _NEAR), None)
            if base is not None and constant > LARGE:
                return self.large(base, constant - base)
            self.skeleton.reach = max(self.skeleton.reach, abs(constant))
            return lambda env: constant
        if isinstance(e, Var) and e in self.loops:
            return lambda env: env[e]
        if isinstance(e, Load) and e in self.flags.values():
            return lambda env: env[e]
        if isinstance(e, Binary) and e.op in _ARITHMETIC and e.a.dtype.kind is not Kind.FLOAT:
            apply, a, b = _ARITHMETIC[e.op], self.value(e.a), self.value(e.b)
            return lambda env: apply(a(env), b(env))
        if isinstance(e, Unary) and e.op in ("not", "neg"):
            inner, negate = self.value(e.a), e.op == "neg"
            return lambda env: -inner(env) if negate else int(not inner(env))
        if isinstance(e, Cast) and e.a.dtype.is_int and e.dtype.is_int:
            return self.value(e.a)
        self.skeleton.symbols.setdefault(e)
        for var in (*self.loops, *self.tile_vars):
            if _mentions(e, var):
                self.skeleton.varying.setdefault(e, var)
        return lambda env: env[e]

    def large(self, base: int, away: int) -> Value:
        """A number that no run comes near, by its distance from one that has a symbol."""
        symbol = self.skeleton.large[base]
        self.skeleton.symbols.setdefault(symbol)
        self.skeleton.reach = max(self.skeleton.reach, abs(away))
        return lambda env: env[symbol] + away


def _goes_on(code: list[Instr], channels: Mapping[str, Channel]) -> bool:
    last = max((k for k, i in enumerate(code) if isinstance(i.stmt, Tiles)), default=len(code))
    steps = ("acquire", "commit", "wait", "release")
    return any(
        i.op in steps and channels[i.args[0]].consumer.kind != "engine" for i in code[last + 1 :]
    )


def _flags(body: Body) -> dict[str, Load]:
    inner = tuple(walk(body))
    stored = [s for s in inner if isinstance(s, Store)]
    return {
        s.buffer.name: Load(s.buffer.name, (), s.buffer.dtype)
        for s in inner
        if isinstance(s, Alloc)
        and s.buffer.scope == "var"
        and s.buffer.dtype.is_int
        and all(isinstance(t.value, Const) for t in stored if t.buffer == s.buffer.name)
    }


def _large_trips(stmts: Iterable[Stmt]) -> dict[int, Var]:
    """The constant bounds of loops that are too far apart to be one symbol."""
    found: dict[int, Var] = {}
    bounds = {e for s in stmts if isinstance(s, For) for e in (s.start, s.stop)}
    for n in sorted(int(e.value) for e in bounds if isinstance(e, Const)):
        if n > LARGE and all(abs(n - m) > _NEAR for m in found):
            found[n] = Var(f"about {n}", i32)
    return found


def _mentions(e: Expr, var: Var) -> bool:
    return e is var or any(_mentions(c, var) for c in e.children())


def skeleton_of(kernel: Kernel) -> Skeleton:
    """The skeleton of a scheduled kernel.

    Raises:
        NotCoveredError: its control has a form that is not explored.
    """
    made = Skeleton()
    inner = tuple(walk(kernel.body))
    made.channels = {s.name: s for s in inner if isinstance(s, Channel)}
    carried = {n for c in made.channels.values() for n in c.carries}
    homes = aliases(kernel.body)
    asynchronous = {
        homes.get(e.buffer, e.buffer)
        for s in inner
        if isinstance(s, Issue)
        for t in s.body
        for e in effects(t)
    }
    tracked = frozenset(carried | asynchronous)
    made.large = _large_trips(inner)
    roles = [s for s in inner if isinstance(s, Role)]
    for role in roles:
        builder = _Builder(made, tracked, homes)
        builder.role(role.body)
        made.programs[role.name], made.groups[role.name] = builder.code, role.groups
    if not roles:
        builder = _Builder(made, tracked, homes)
        for stmt in kernel.body:
            apart = isinstance(stmt, Tiles) and kernel.blocks is None
            builder.body(stmt.body if apart else (stmt,))  # type: ignore[attr-defined]  # a Tiles
        made.programs[""], made.groups[""] = builder.code, 1
    made.goes_on = any(_goes_on(code, made.channels) for code in made.programs.values())
    return made
