"""Control flow of rewritten code: Python's own where the decision is known, scopes of the builder
where it is not.
"""

from __future__ import annotations

import builtins
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tile_frontend.trace.buffers import BufferRef, RegionRef
from tile_frontend.trace.logic import traced, truth
from tile_frontend.trace.loops import CountedLoop, TracedLoop, loop_bound
from tile_frontend.trace.values import Value, static_int
from tile_ir.diag import TileError
from tile_ir.ops import Assert, Break, Continue, If, While

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tile_frontend.trace.builder import Builder, Scope
    from tile_frontend.trace.frame import Frame
    from tile_ir.diag import Span
    from tile_ir.expr import Expr
    from tile_ir.opdef import Body

MAX_TRIPS = 4096
"""Trips of a loop that Python runs while tracing, each of which becomes code."""


class TileAssertionError(TileError, AssertionError):
    """An `assert` that fails while tracing; also an `AssertionError` to Python."""


@dataclass(eq=False)
class Loop:
    """A loop of the frame: the traced one, or None for Python's; `depth` counts the scopes its body
    starts in.
    """

    traced: TracedLoop | None
    depth: int
    leavable: bool = True


class Branch:
    """`if`: which arms run, and the context each runs in."""

    __slots__ = ("orelse", "takes_orelse", "takes_then", "then")

    def __init__(
        self,
        takes: tuple[bool, bool],
        arms: tuple[AbstractContextManager[Any], AbstractContextManager[Any]],
    ) -> None:
        self.takes_then, self.takes_orelse = takes
        self.then, self.orelse = arms


class _Arms:
    """The two arms of a traced branch; the IR's `if` is made when the last one ends."""

    def __init__(self, builder: Builder, cond: Expr, has_else: bool) -> None:
        self.builder = builder
        self.cond = cond
        self.has_else = has_else
        self.span = builder.span
        self.done: list[Body] = []

    def end(self, scope: Scope) -> None:
        """Close an arm."""
        self.done.append(self.builder.close(scope))
        if len(self.done) == 1 + self.has_else:
            then, orelse = (*self.done, ())[:2]
            self.builder.emit(If(cond=self.cond, then=then, orelse=orelse, span=self.span))


class _Arm(AbstractContextManager["None"]):
    __slots__ = ("arms", "scope")

    def __init__(self, arms: _Arms) -> None:
        self.arms = arms

    def __enter__(self) -> None:
        self.scope = self.arms.builder.open("if")
        self.scope.span = self.arms.span

    def __exit__(self, kind: object, *rest: object) -> None:
        if kind is None:
            self.arms.end(self.scope)


def branch(builder: Builder, cond: Any, has_else: bool) -> Branch:
    """Decide `if cond` now, or trace both arms."""
    if traced(cond):
        arms = _Arms(builder, truth(cond), has_else)
        return Branch((True, True), (_Arm(arms), _Arm(arms)))
    taken = bool(cond)
    return Branch((taken, not taken), (nullcontext(), nullcontext()))


def range_(python_range: Any, args: tuple[Any, ...]) -> Any:
    """Python's range over ints, a traced loop where a bound is traced."""
    if python_range is not builtins.range or not any(traced(a) for a in args):
        return python_range(*args)
    if len(args) == 1:
        args = (0, *args)
    start, stop = (loop_bound(a, "range") for a in args[:2])
    step = static_int(args[2]) if len(args) == 3 else 1
    if not step:
        raise TileError(
            "E1416",
            "the step of a traced range is no constant other than zero",
            help="give a non-zero int as step, known while tracing",
        )
    return CountedLoop("range", start, stop, step)


def loop(frame: Frame, source: Any) -> Iterator[Any]:
    """Run the body once in the scope of a traced loop, or for each item of anything else."""
    if isinstance(source, TracedLoop):
        yield from _traced(frame, source)
    elif isinstance(source, (Value, BufferRef, RegionRef)):
        raise TileError(
            "E1010",
            f"a `for` runs over {source!r}",
            frame.span,
            help="use T.serial(n), T.Parallel(n), T.Pipelined(n) or range(n)",
        )
    else:
        yield from _plain(frame, iter(source))


def _traced(frame: Frame, source: TracedLoop) -> Iterator[Any]:
    if frame.builder.inside("kernel") is None:
        raise TileError(
            "E1302",
            f"{source.what} stands outside T.Kernel",
            frame.span,
            help="move it into the kernel",
        )
    try:
        value = source.begin(frame.builder)
    except TileError as error:
        raise error.at(frame.span) from error.__cause__
    mark = Loop(source, len(frame.builder.scopes), source.leavable)
    frame.loops.append(mark)
    yield value
    frame.loops.remove(mark)
    source.end(frame.builder)


def _plain(frame: Frame, items: Iterator[Any]) -> Iterator[Any]:
    mark = Loop(None, len(frame.builder.scopes))
    place = frame.span  # later trips start at the last statement of the body
    frame.loops.append(mark)
    try:
        for n, item in enumerate(items):
            if n == MAX_TRIPS:
                raise _too_long(place)
            yield item
    finally:
        frame.loops.remove(mark)


def _too_long(place: Span) -> TileError:
    return TileError(
        "E1016",
        f"a loop over Python values runs more than {MAX_TRIPS} times while tracing",
        place,
        notes=("each trip becomes code of its own",),
        help="use T.serial(n) for a loop of the kernel, T.unroll(n) to ask for unrolling",
    )


def while_(frame: Frame, cond: Callable[[], Any]) -> Iterator[None]:
    """`while`: traced when its condition is, else Python's."""
    builder = frame.builder
    scope = builder.open("while")
    builder.lazy += 1
    try:
        test = cond()
    finally:
        builder.lazy -= 1
    if not traced(test):
        builder.close(scope)
        yield from _plain(frame, _while_true(test, cond))
        return
    test = truth(test)
    mark = Loop(TracedLoop(), len(builder.scopes))
    frame.loops.append(mark)
    yield None
    frame.loops.remove(mark)
    body = builder.close(scope)
    builder.emit(While(cond=test, body=body, span=scope.span))


def _while_true(first: Any, cond: Callable[[], Any]) -> Iterator[None]:
    test = first
    while test:
        yield None
        test = cond()


def leave(frame: Frame, word: str) -> bool:
    """`break` or `continue`: emitted in a traced loop; True where Python shall do it.

    Raises `TileError` E1009 where neither can.
    """
    mark = frame.loops[-1]
    if mark.traced is None:
        if len(frame.builder.scopes) > mark.depth:
            raise TileError(
                "E1009",
                f"`{word}` in a branch decided at run time would leave a loop that runs while "
                "tracing",
                help="make the loop a traced one: T.serial(n), or `while` on a T.alloc_var flag",
            )
        return True
    if not mark.leavable:
        raise TileError(
            "E1009",
            f"`{word}` cannot leave {mark.traced.what}",
            notes=("its iterations have no order, or several run at once",),
            help="guard the body with `if`, or use T.serial",
        )
    make = Break if word == "break" else Continue
    frame.builder.emit(make(span=frame.span))
    return False


def check(builder: Builder, cond: Any, message: Callable[[], Any]) -> None:
    """Check now what is known, else at run time."""
    if traced(cond):
        builder.emit(Assert(cond=truth(cond), message=str(message()), span=builder.span))
    elif not cond:
        text = str(message())
        raise TileAssertionError(
            "E1012",
            f"assertion failed while tracing{': ' + text if text else ''}",
            help="call the kernel with arguments that satisfy it",
        )
