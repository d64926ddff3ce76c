"""The meaning of branches, loops and of what a kernel tells its user.

Loops and branches exist twice: as plain steps, and as generators where something inside may wait
for another role.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tile_ir.core import Region
from tile_ir.diag import TileError
from tile_ir.interp.compiler import BREAK, CONTINUE, Signal, Step, Waiting, rule
from tile_ir.interp.regions import reading
from tile_ir.interp.scheduler import Thread, enter, start, together
from tile_ir.interp.threads import leave, loop_lanes, remaining
from tile_ir.numerics.array import to_numpy_dtype
from tile_ir.ops import Assert, Assume, Break, Continue, For, If, Print, While
from tile_ir.rewrite import walk

if TYPE_CHECKING:
    from collections.abc import Callable

    from tile_ir.diag import Span
    from tile_ir.interp.compiler import Compiler
    from tile_ir.interp.machine import Env, Eval
    from tile_ir.opdef import Body


@rule(Break)
def break_(cx: Compiler, s: Break) -> Callable[[Env], Signal]:
    """Leave the innermost loop."""
    return leave(loop=True) if cx.threads else lambda env: BREAK


@rule(Continue)
def continue_(cx: Compiler, s: Continue) -> Callable[[Env], Signal]:
    """Go to the next trip of the innermost loop."""
    return leave(loop=False) if cx.threads else lambda env: CONTINUE


@rule(If)
def if_(cx: Compiler, s: If) -> Step:
    """One of two bodies; where lanes disagree both, each with its lanes."""
    cond, then, orelse = cx.expr(s.cond), cx.body(s.then), cx.body(s.orelse)
    if cx.is_array(s.cond):
        if then.blocking or orelse.blocking:
            return Step(_if_apart(cond, then, orelse), blocking=True)
        return Step(_if_lanes(cond, then, orelse))
    if then.blocking or orelse.blocking:
        return Step(_if_waiting(cond, then, orelse), blocking=True)
    yes, no = then.run, orelse.run
    return Step(lambda env: yes(env) if cond(env) else no(env))


def _if_lanes(cond: Eval, then: Step, orelse: Step) -> Callable[[Env], None]:
    def run(env: Env) -> None:
        outer = env.mask
        taken = np.asarray(cond(env))
        for where, body in ((taken, then), (np.logical_not(taken), orelse)):
            mask = where if outer is None else outer & where
            if np.any(mask):
                env.mask = mask
                body.run(env)
        env.mask = remaining(env, outer)

    return run


def _if_apart(cond: Eval, then: Step, orelse: Step) -> Callable[[Env], Waiting]:
    """Threads that wait for each other may be on either side: both run side by side."""

    def run(env: Env) -> Waiting:
        outer = env.mask
        taken = np.asarray(cond(env))
        sides = []
        for number, (where, body) in enumerate(((taken, then), (np.logical_not(taken), orelse))):
            mask = where if outer is None else outer & where
            if np.any(mask):
                inner = enter(env, env.thread)
                inner.thread, inner.mask = (f"branch {number}", 0), mask
                sides.append(Thread(inner.thread, start(body, inner)))
        yield from together(sides)
        env.mask = remaining(env, outer)
        return None

    return run


def _if_waiting(cond: Eval, then: Step, orelse: Step) -> Callable[[Env], Waiting]:
    def run(env: Env) -> Waiting:
        body = then if cond(env) else orelse
        signal: Signal = (yield from body.run(env)) if body.blocking else body.run(env)
        return signal

    return run


def trips(cx: Compiler, s: For) -> Callable[[Env], range]:
    """The values of a loop's variable, evaluated on entry."""
    start, stop, step = cx.expr(s.start), cx.expr(s.stop), cx.expr(s.step)
    return lambda env: range(start(env), stop(env), step(env))


@rule(For)
def for_(cx: Compiler, s: For) -> Step:
    """A counted loop; every kind means the serial one."""
    differs = any(cx.is_array(e) for e in (s.start, s.stop, s.step))
    if cx.threads and (differs or _leaves(s.body)):
        return _for_lanes(cx, s, differs=differs)
    values, body, name = trips(cx, s), cx.body(s.body), s.var.name
    if body.blocking:
        return Step(_for_waiting(values, name, body), blocking=True)
    inner = body.run

    def run(env: Env) -> Signal:
        variables = env.vars
        for i in values(env):
            variables[name] = i
            if inner(env) is BREAK:
                break
        return None

    return Step(run)


def _leaves(body: Body) -> bool:
    return any(isinstance(t, (Break, Continue)) for t in walk(body))


def _for_lanes(cx: Compiler, s: For, *, differs: bool) -> Step:
    """A loop whose trips are counted for each thread."""
    start, stop, name = cx.expr(s.start), cx.expr(s.stop), s.var.name
    step, container = cx.expr(s.step), to_numpy_dtype(s.var.dtype)
    if differs:
        cx.bind_lanes(s.var)
    body = cx.body(s.body).run

    def begin(env: Env) -> list[Any]:
        return [start(env), stop(env), step(env)]

    def again(env: Env, state: list[Any]) -> Any:
        at, end, by = state
        state[0] = at + by
        env.vars[name] = np.asarray(at, container) if differs else at
        return at < end if by > 0 else at > end

    return Step(loop_lanes(cx.threads, begin, again, body))


def _for_waiting(values: Callable[[Env], range], name: str, body: Step) -> Callable[[Env], Waiting]:
    def run(env: Env) -> Waiting:
        for i in values(env):
            env.vars[name] = i
            if (yield from body.run(env)) is BREAK:
                break
        return None

    return run


@rule(While)
def while_(cx: Compiler, s: While) -> Step:
    """Repeat while the condition holds."""
    cond, body = cx.expr(s.cond), cx.body(s.body)
    if cx.threads:
        return Step(
            loop_lanes(cx.threads, lambda env: None, lambda env, state: cond(env), body.run)
        )
    if body.blocking:
        return Step(_while_waiting(cond, body), blocking=True)
    inner = body.run

    def run(env: Env) -> Signal:
        while cond(env):
            if inner(env) is BREAK:
                break
        return None

    return Step(run)


def _while_waiting(cond: Eval, body: Step) -> Callable[[Env], Waiting]:
    def run(env: Env) -> Waiting:
        while cond(env):
            if (yield from body.run(env)) is BREAK:
                break
        return None

    return run


@rule(Assert)
def assert_(cx: Compiler, s: Assert) -> Callable[[Env], None]:
    """Stop where the condition fails in an active lane."""
    return _hold(cx.expr(s.cond), s.message or "assertion failed", s.span)


@rule(Assume)
def assume(cx: Compiler, s: Assume) -> Callable[[Env], None]:
    """A promise is kept, or the arguments are wrong."""
    return _hold(cx.expr(s.cond), "an assumption does not hold for these arguments", s.span)


_KEEP_PROMISE = "pass arguments for which the condition holds, or correct the condition"


def _hold(cond: Eval, message: str, span: Span | None) -> Callable[[Env], None]:
    def run(env: Env) -> None:
        holds = cond(env)
        good = holds if env.mask is None else np.logical_or(holds, ~env.mask)
        if not np.all(good):
            raise TileError("E0506", message, span, help=_KEEP_PROMISE)

    return run


@rule(Print)
def print_(cx: Compiler, s: Print) -> Callable[[Env], None]:
    """One line: the message, then each value, tiles as numpy shows them."""
    values = [_shown(cx, v) for v in s.values]

    def run(env: Env) -> None:
        line = s.message
        for v in values:
            line = _with_value(line, str(v(env)))
        env.run.lines.append(line)

    return run


def _with_value(line: str, value: str) -> str:
    """The line with its first {} replaced, or the value behind it."""
    if "{}" in line:
        return line.replace("{}", value, 1)
    return f"{line} {value}" if line else value


def _shown(cx: Compiler, value: Any) -> Eval:
    if isinstance(value, Region):
        tile = reading(cx, value)
        return tile.view
    return cx.expr(value)
