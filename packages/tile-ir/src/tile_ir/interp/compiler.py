"""From statements to steps: closures over an `Env`, one rule for each op, found by its class.

A step returns None, or the signal that a `break` or `continue` is on its way to its loop. A
*blocking* step is a generator function instead: it yields while it has to wait for another role.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from tile_ir import expr as ex
from tile_ir.diag import TileError
from tile_ir.interp.expressions import compile_expr
from tile_ir.interp.threads import CALLS, private
from tile_ir.opdef import Body, Stmt, opdef
from tile_ir.ops import Role
from tile_ir.rewrite import declared, walk

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tile_ir.core import Function
    from tile_ir.diag import Span
    from tile_ir.expr import Expr, Slot, Var
    from tile_ir.interp.channels import Protocol
    from tile_ir.interp.machine import Env, Eval
    from tile_ir.interp.scheduler import Blocked

BREAK, CONTINUE = "break", "continue"
Signal = str | None
Plain = Callable[[Any], Signal]
Waiting = Generator["Blocked", None, Signal]


@dataclass(frozen=True, slots=True)
class Step:
    """A compiled statement or body. `run(env)` gives its signal, or a generator of waits when
    `blocking`.
    """

    run: Callable[[Any], Any]
    blocking: bool = False


Rule = Callable[["Compiler", Any], "Step | Callable[[Env], Signal]"]
_RULES: dict[type[Stmt], Rule] = {}
R = TypeVar("R", bound=Rule)


def rule(op: type[Stmt]) -> Callable[[R], R]:
    """Register the meaning of an op: a function (compiler, statement) -> step, or plain function of
    an `Env`.
    """

    def register(fn: R) -> R:
        _RULES[op] = fn
        return fn

    return register


class Compiler:
    """What rules may ask while a function is compiled."""

    def __init__(self, fn: Function) -> None:
        self.fn = fn
        self.buffers = declared(fn)
        self.viewed = frozenset(
            name for s in walk(fn.body) if (name := getattr(s, "source", None)) is not None
        )
        self.lane_axes: dict[Var, int] = {}
        """The variables of the enclosing vectorised `parallel`, with their axes."""
        self.lane_values: set[Var] = set()
        """Variables bound to one value for each lane."""
        self.protocol: Protocol | None = None
        """Who takes part in the channels of the kernel being compiled."""
        self.role: str = ""
        self.party = 1
        """The threads that one thread of control stands for, in a kernel written for a block."""
        self.threads = 0
        """Threads of a block, in a kernel written for one of them."""
        self.tiles_are_blocks = True
        self.blocks_draw = False
        """Whether blocks of the kernel being compiled draw their tiles."""
        self.cluster: tuple[int, ...] = ()
        """The shape of a cluster of blocks, in a kernel written for one thread."""
        self._exprs: dict[Expr, Eval] = {}
        self._arrays: dict[Expr, bool] = {}

    def expr(self, e: Expr) -> Eval:
        """The evaluator of an expression."""
        found = self._exprs.get(e)
        if found is None:
            found = self._exprs[e] = compile_expr(self, e)
        return found

    def is_array(self, e: Expr) -> bool:
        """Whether the value of `e` is an array: it differs between lanes, or is a vector."""
        found = self._arrays.get(e)
        if found is None:
            if isinstance(e, ex.Var):
                found = e in self.lane_axes or e in self.lane_values
            elif self.threads and self._differs_by_thread(e):
                found = True
            else:
                found = e.dtype.lanes > 1 or any(self.is_array(c) for c in e.children())
            self._arrays[e] = found
        return found

    def _differs_by_thread(self, e: Expr) -> bool:
        if isinstance(e, ex.Call):
            return e.fn in CALLS
        return isinstance(e, ex.Load) and private(self, self.buffers[e.buffer])

    @contextmanager
    def fresh(self) -> Iterator[None]:
        """Forget what expressions compiled to: the same name may be uniform here and differ by lane
        there.
        """
        outer = self._exprs, self._arrays
        self._exprs, self._arrays = {}, {}
        try:
            yield
        finally:
            self._exprs, self._arrays = outer

    @contextmanager
    def lanes(self, variables: tuple[Var, ...]) -> Iterator[None]:
        """Compile the body of a vectorised `parallel` over `variables`."""
        self.lane_axes = {v: k for k, v in enumerate(variables)}
        self.lane_values = set()
        with self.fresh():
            try:
                yield
            finally:
                self.lane_axes, self.lane_values = {}, set()

    def bind_lanes(self, variable: Var) -> None:
        """From here on `variable` has a value of its own in each lane."""
        self.lane_values.add(variable)
        self._arrays[variable] = True

    def read_end(self, slot: Slot | None) -> str:
        """The end of a channel whose cursor a read means: the consumer's, unless this role only
        produces.
        """
        if slot is None or self.protocol is None:
            return "consumer"
        return self.protocol.read_end(slot.channel, self.role)

    def write_end(self, slot: Slot | None) -> str:
        """The end of a channel whose cursor a write means: the producer's, unless this role only
        consumes.
        """
        if slot is None or self.protocol is None:
            return "producer"
        return self.protocol.write_end(slot.channel, self.role)

    def _step(self, op: type[Stmt], group: list[Stmt]) -> Step:
        first = group[0]
        found = _RULES.get(op)
        if found is None:
            raise TileError(
                "E0504",
                f"the oracle has no rule for {opdef(first).name!r}",
                first.span,
                help="register one with tile_ir.interp.rule",
            )
        try:
            step = found(self, group if op is Role else first)
        except TileError as error:
            raise error.at(first.span) from None
        return step if isinstance(step, Step) else Step(step)

    def body(self, body: Body) -> Step:
        """The step of a sequence. Neighbouring roles run side by side, so their rule gets all of
        them.

        Raises:
            TileError: E0504 when an op has no rule.
        """
        steps = [(self._step(type(g[0]), g), g[0].span) for g in _by_roles(body)]
        if any(step.blocking for step, _ in steps):
            return Step(_sequence_waiting(steps), blocking=True)
        return Step(_sequence([(step.run, span) for step, span in steps]))


def _by_roles(body: Body) -> Iterator[list[Stmt]]:
    roles: list[Stmt] = []
    for s in body:
        if isinstance(s, Role):
            roles.append(s)
            continue
        if roles:
            yield roles
            roles = []
        yield [s]
    if roles:
        yield roles


def _sequence(steps: list[tuple[Plain, Span | None]]) -> Plain:
    def run(env: Env) -> Signal:
        span = None
        try:
            for step, span in steps:  # noqa: B007 -- the handler names the step that failed
                signal = step(env)
                if signal is not None:
                    return signal
        except TileError as error:
            raise error.at(span) from None
        return None

    return run


def _sequence_waiting(steps: list[tuple[Step, Span | None]]) -> Callable[[Env], Waiting]:
    def run(env: Env) -> Waiting:
        span = None
        try:
            for step, span in steps:  # noqa: B007 -- the handler names the step that failed
                signal = (yield from step.run(env)) if step.blocking else step.run(env)
                if signal is not None:
                    return signal  # type: ignore[no-any-return]  # blocking or not, a step gives a signal
        except TileError as error:
            raise error.at(span) from None
        return None

    return run
