"""The control skeleton of a kernel with barriers of its own: per role what waits, arrives, starts
copies or touches shared memory, as flat instructions with jumps.

Bounds, conditions, indices and parities become functions of loop variables, of scalars that the
role sets, and of *symbols*: what the kernel is launched with. What a role does to shared memory is
noted as boxes, so that slots of a ring are told apart.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import prod
from typing import TYPE_CHECKING, Any

from tile_ir.clusters import meets_peers
from tile_ir.core import Region
from tile_ir.expr import Binary, Cast, Const, Expr, Load, Select, Unary, Var
from tile_ir.opdef import Access, bodies
from tile_ir.ops import (
    Alloc,
    BarrierArrive,
    BarrierExpect,
    Barriers,
    BarrierWait,
    Break,
    CommitGroup,
    Continue,
    For,
    Group,
    If,
    Issue,
    Kernel,
    Let,
    Parallel,
    Role,
    Settle,
    SettleCount,
    Store,
    Sync,
    Tiles,
    While,
)
from tile_ir.rewrite import effects, walk
from tile_passes.analysis.dependence import aliases
from tile_passes.protocol.skeleton import Env, Instr, NotCoveredError, Value

if TYPE_CHECKING:
    from tile_ir.core import Buffer
    from tile_ir.opdef import Body, Stmt

__all__ = ["Program", "Touch", "program_of"]

Bounds = Callable[[Env], tuple[int, int]]
"""From where to where, the end excluded."""

ALL = ""
"""The one participant of a kernel without roles."""


@dataclass(frozen=True, slots=True)
class Touch:
    """A box of a shared buffer. `exact` says that it is no larger than what is touched."""

    buffer: str
    sides: tuple[Bounds, ...]
    exact: bool

    def box(self, env: Env) -> tuple[tuple[int, int], ...]:
        """The box for given values of the variables."""
        return tuple(side(env) for side in self.sides)


@dataclass(slots=True)
class Program:
    """The instructions of each role, the barriers, and what decides control from outside."""

    roles: dict[str, list[Instr]] = field(default_factory=dict)
    threads: dict[str, int] = field(default_factory=dict)
    barriers: dict[str, Barriers] = field(default_factory=dict)
    symbols: dict[Expr, None] = field(default_factory=dict)
    filled: frozenset[str] = frozenset()
    """Shared buffers that all threads write before the roles part."""


_PROTOCOL = (BarrierArrive, BarrierWait, CommitGroup, Group, Issue, Settle, SettleCount)
_ARITHMETIC: Mapping[str, Callable[[int, int], int]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "floordiv": lambda a, b: a // b if b else 0,
    "ceildiv": lambda a, b: -(-a // b) if b else 0,
    "floormod": lambda a, b: a % b if b else 0,
    "truncdiv": lambda a, b: int(a / b) if b else 0,
    "truncmod": lambda a, b: a - b * int(a / b) if b else 0,
    "min": min,
    "max": max,
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
    "shl": lambda a, b: a << b,
    "shr": lambda a, b: a >> b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "land": lambda a, b: bool(a and b),
    "lor": lambda a, b: bool(a or b),
}
_UNARY: Mapping[str, Callable[[int], int]] = {
    "neg": lambda a: -a,
    "not": lambda a: int(not a),
    "bnot": lambda a: ~a,
    "abs": abs,
}
_QUOTIENTS = frozenset({"ceildiv", "floordiv", "truncdiv"})
_MONOTONE = frozenset({"add", "sub", "mul"})


class _Unknown(Exception):
    """An expression that the skeleton cannot evaluate."""


def _protocol(body: Body) -> bool:
    return any(
        isinstance(s, _PROTOCOL) or (isinstance(s, Sync) and s.scope == "block") for s in walk(body)
    )


class _Builder:
    """Builds the instructions of one role."""

    def __init__(
        self, made: Program, buffers: Mapping[str, Buffer], homes: Mapping[str, str], body: Body
    ) -> None:
        self.made, self.buffers, self.homes = made, buffers, homes
        self.code: list[Instr] = []
        self.known: set[Expr] = set()
        """Variables and scalars that have a value when the instruction runs."""
        self.used: set[Expr] = set()
        self.lost: set[Expr] = set()
        """Scalars that some statement gives a value which nobody knows."""
        self.varying: set[Var] = set()
        """Variables of loops that are not run, and of what is bound in them."""
        self.ranges: dict[Var, int] = {}
        """How many values a variable of a loop that is not run has."""
        allocs = (s.buffer for s in walk(body) if isinstance(s, Alloc))
        self.scalars = {x.name for x in allocs if x.scope == "var" and x.dtype.is_int}

    # -- statements

    def body(self, body: Body) -> None:
        for s in body:
            self.stmt(s)

    def emit(self, op: str, stmt: Stmt, *args: Any) -> int:
        self.code.append(Instr(op, args, stmt))
        return len(self.code) - 1

    def patch(self, at: int, *args: Any) -> None:
        self.code[at] = Instr(self.code[at].op, args, self.code[at].stmt)

    def stmt(self, s: Stmt) -> None:
        if isinstance(s, BarrierWait):
            self.emit("wait", s, s.barrier, self.value(s.index), self.value(s.parity))
        elif isinstance(s, BarrierArrive):
            self.emit("arrive", s, s.barrier, self.value(s.index))
        elif isinstance(s, Issue):
            index = None if s.index is None else self.value(s.index)
            self.emit("issue", s, s.engine, s.onto, index, *self.touched(s.body))
        elif isinstance(s, (CommitGroup, Group, Settle, SettleCount, Sync)):
            self.settling(s)
        elif isinstance(s, Let):
            self.scalar(s, s.var, s.value)
        elif isinstance(s, Store) and s.buffer in self.scalars and not s.indices:
            self.scalar(s, Load(s.buffer, (), self.buffers[s.buffer].dtype), s.value)
        elif bodies(s) and not isinstance(s, (Issue, Parallel)):
            self.nested(s)
        else:
            self.access(s)

    def settling(self, s: CommitGroup | Group | Settle | SettleCount | Sync) -> None:
        if isinstance(s, CommitGroup):
            self.emit("commit", s, s.engine, "")
        elif isinstance(s, Group):
            self.emit("commit", s, s.engine, s.token)
        elif isinstance(s, Settle):
            self.emit("settle_token", s, s.token, s.back, s.read)
        elif isinstance(s, SettleCount):
            self.emit("settle", s, s.engine, s.pending, s.read)
        elif s.scope == "block":
            self.emit("meet", s)

    def scalar(self, s: Stmt, to: Expr, value: Expr) -> None:
        self.access(s)
        try:
            self.emit("set", s, to, self.evaluator(value))
        except _Unknown:
            if isinstance(to, Var):
                self.varying.add(to)
            else:
                self.lost.add(to)
            return
        self.known.add(to)

    def access(self, s: Stmt) -> None:
        reads, writes = self.touched((s,))
        if reads or writes:
            self.emit("access", s, reads, writes)

    def nested(self, s: Stmt) -> None:
        acts = _protocol((s,))
        sets = any(isinstance(t, Store) and t.buffer in self.scalars for t in walk((s,)))
        if isinstance(s, If) and (acts or sets):
            self.branch(s)
        elif isinstance(s, For) and (acts or sets):
            if any(isinstance(t, (Break, Continue)) for t in walk((s,))):
                raise NotCoveredError("a loop that is left early around barriers")
            self.loop(s)
        elif isinstance(s, While) and (acts or sets):
            raise NotCoveredError("a while loop around barriers, or of what they depend on")
        else:  # whichever way it goes, nothing waits: its accesses count as made
            if isinstance(s, For):
                self.varying.add(s.var)
            for inner in bodies(s):
                self.body(inner)

    def branch(self, s: If) -> None:
        at = self.emit("if", s, self.value(s.cond), 0)
        self.body(s.then)
        if s.orelse:
            skip = self.emit("jump", s, 0)
            self.patch(at, self.code[at].args[0], len(self.code))
            self.body(s.orelse)
            self.patch(skip, len(self.code))
        else:
            self.patch(at, self.code[at].args[0], len(self.code))

    def loop(self, s: For) -> None:
        start, stop, step = self.value(s.start), self.value(s.stop), self.value(s.step)
        self.emit("set", s, s.var, start)
        self.known.add(s.var)
        head = self.emit("head", s, s.var, stop, step, 0)
        self.body(s.body)
        self.emit("next", s, s.var, step, head)
        self.patch(head, s.var, stop, step, len(self.code))

    # -- expressions

    def value(self, e: Expr) -> Value:
        """The evaluator of what control, an index or a parity depends on."""
        try:
            return self.evaluator(e)
        except _Unknown:
            raise NotCoveredError(f"{e} is not known before the kernel runs") from None

    def evaluator(self, e: Expr) -> Value:
        if isinstance(e, Const):
            constant = int(e.value)
            return lambda env: constant
        if e in self.known:
            self.used.add(e)
            return lambda env: env[e]
        if self.is_count(e):
            self.made.symbols.setdefault(e)
            return lambda env: env[e]
        if isinstance(e, Binary) and e.op in _ARITHMETIC and not e.a.dtype.is_float:
            apply, a, b = _ARITHMETIC[e.op], self.evaluator(e.a), self.evaluator(e.b)
            return lambda env: int(apply(a(env), b(env)))
        if isinstance(e, Unary) and e.op in _UNARY:
            turn, x = _UNARY[e.op], self.evaluator(e.a)
            return lambda env: turn(x(env))
        if isinstance(e, Cast) and not e.a.dtype.is_float and not e.dtype.is_float:
            return self.evaluator(e.a)
        if isinstance(e, Select):
            cond, yes, no = (self.evaluator(x) for x in (e.cond, e.t, e.f))
            return lambda env: yes(env) if cond(env) else no(env)
        if self.is_symbol(e):
            self.made.symbols.setdefault(e)
            return lambda env: env[e]
        raise _Unknown

    def is_count(self, e: Expr) -> bool:
        """Whether an expression is a number of tiles: a quotient of what the kernel is launched
        with, small values of which would all make it 0 or 1."""
        quotient = isinstance(e, Binary) and e.op in _QUOTIENTS
        return quotient and self.is_symbol(e) and not any(map(_divides, e.children()))

    def is_symbol(self, e: Expr) -> bool:
        """Whether an expression has one value for the whole kernel."""
        if isinstance(e, Load) or e.dtype.is_float:
            return False
        if isinstance(e, Var):
            return e not in self.known and e not in self.varying and e not in self.ranges
        return all(isinstance(c, Const) or self.is_symbol(c) for c in e.children())

    # -- memory

    def touched(self, body: Body) -> tuple[tuple[Touch, ...], tuple[Touch, ...]]:
        """The boxes of shared memory that statements read and write."""
        reads: list[Touch] = []
        writes: list[Touch] = []
        outer = dict(self.ranges)
        for s in walk(body):
            if isinstance(s, Parallel):
                sizes = (n.value if isinstance(n, Const) else 0 for n in s.extents)
                self.ranges.update(zip(s.vars, map(int, sizes), strict=True))
            for e in effects(s):
                home = self.homes.get(e.buffer, e.buffer)
                if self.buffers[home].scope != "shared":
                    continue
                touch = self.touch(e.region, home)
                if e.access & (Access.READ | Access.UPDATE):
                    reads.append(touch)
                if e.access & (Access.WRITE | Access.UPDATE):
                    writes.append(touch)
        self.ranges = outer
        return tuple(reads), tuple(writes)

    def touch(self, where: Region | Load, home: str) -> Touch:
        shape = [int(n.value) if isinstance(n, Const) else 1 for n in self.buffers[home].shape]
        whole = tuple(_fixed(0, n) for n in shape)
        if where.buffer != home:  # a view: which part it is depends on both shapes
            return Touch(home, whole, exact=False)
        if isinstance(where, Region):
            pairs = [(r.start, r.extent) for r in where.ranges]
        else:
            pairs = [(i, Const(1, i.dtype)) for i in where.indices]
        sides, exact = [], True
        for (start, extent), full in zip(pairs, whole, strict=True):
            found = self.side(start, extent)
            exact = exact and found is not None
            sides.append(found or full)
        return Touch(home, tuple(sides), exact)

    def side(self, start: Expr, extent: Expr) -> Bounds | None:
        if not isinstance(extent, Const):
            return None
        size = int(extent.value)
        try:
            low, high = self.ends(start)
        except _Unknown:
            return None
        return lambda env: (low(env), high(env) + size)

    def ends(self, e: Expr) -> tuple[Value, Value]:
        """The least and the greatest value of an index over loops that are not run."""
        if isinstance(e, Var) and self.ranges.get(e, 0):
            last = self.ranges[e] - 1
            return (lambda env: 0), (lambda env: last)
        if isinstance(e, Binary) and e.op in _MONOTONE and self.varies(e):
            a, b, op = self.ends(e.a), self.ends(e.b), _ARITHMETIC[e.op]

            def corner(pick: Callable[[list[int]], int]) -> Value:
                return lambda env: pick([op(x(env), y(env)) for x in a for y in b])

            return corner(min), corner(max)
        exact = self.evaluator(e)
        return exact, exact

    def varies(self, e: Expr) -> bool:
        return e in self.ranges or any(self.varies(c) for c in e.children())


def _divides(e: Expr) -> bool:
    return (isinstance(e, Binary) and e.op in _QUOTIENTS) or any(map(_divides, e.children()))


def _fixed(low: int, high: int) -> Bounds:
    return lambda env: (low, high)


def program_of(kernel: Kernel, buffers: Mapping[str, Buffer]) -> Program:
    """The program of a kernel whose barriers are its own.

    Raises:
        NotCoveredError: its control has a form that is not followed.
    """
    if meets_peers(kernel.body):
        raise NotCoveredError("blocks of a cluster wait for each other")
    if any(isinstance(s, BarrierExpect) for s in walk(kernel.body)):
        raise NotCoveredError("the kernel announces bytes itself")
    made = Program()
    made.barriers = {s.name: s for s in walk(kernel.body) if isinstance(s, Barriers)}
    homes = aliases(kernel.body)
    tiles = next(s for s in walk(kernel.body) if isinstance(s, Tiles))
    roles = [s for s in tiles.body if isinstance(s, Role)]
    if not roles:
        made.roles[ALL] = _built(made, buffers, homes, tiles.body)
        made.threads[ALL] = prod(kernel.threads)
        return made
    shared = {n for n, x in buffers.items() if x.scope == "shared"}
    ahead = tiles.body[: tiles.body.index(roles[0])]
    written = {
        homes.get(e.buffer, e.buffer)
        for s in walk(ahead)
        for e in effects(s)
        if e.access & (Access.WRITE | Access.UPDATE)
    }
    made.filled = frozenset(written & shared)
    for role in roles:
        made.roles[role.name] = _built(made, buffers, homes, role.body)
        made.threads[role.name] = role.threads
    return made


def _built(
    made: Program, buffers: Mapping[str, Buffer], homes: Mapping[str, str], body: Body
) -> list[Instr]:
    builder = _Builder(made, buffers, homes, body)
    builder.body(body)
    for scalar in builder.used & builder.lost:
        raise NotCoveredError(f"{scalar} is not known before the kernel runs")
    return builder.code
