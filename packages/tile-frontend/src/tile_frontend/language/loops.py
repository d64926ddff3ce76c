"""Loops of a kernel. Each is written in the header of a `for` statement."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tile_frontend.trace import flow, state
from tile_frontend.trace.loops import (
    CountedLoop,
    GridLoop,
    ParallelLoop,
    PersistentLoop,
    TracedLoop,
    loop_bound,
)
from tile_frontend.trace.values import static_int
from tile_ir import build
from tile_ir.diag import TileError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "Parallel",
    "Persistent",
    "Pipelined",
    "Serial",
    "Unroll",
    "Vectorized",
    "break_loop",
    "continue_loop",
    "grid",
    "loop_break",
    "serial",
    "unroll",
    "vectorized",
]


def _no_annotations(what: str, annotations: Any) -> None:
    if annotations:
        raise TileError(
            "E1503",
            f"{what} takes no annotations= here",
            notes=("they name passes of another compiler",),
            help="leave them out; `kernel.explain()` shows what was decided and can be pinned",
        )


def _counted(what: str, start: Any, stop: Any, step: Any, kind: str, **options: Any) -> TracedLoop:
    if stop is None:
        start, stop = 0, start
    size = 1 if step is None else static_int(step)
    if not size:
        raise TileError(
            "E1416",
            f"{what} has step {step!r}",
            help="a step is a non-zero int, known while tracing",
        )
    return CountedLoop(what, loop_bound(start, what), loop_bound(stop, what), size, kind, options)


def serial(
    start: Any, stop: Any = None, step: Any = None, *, annotations: Any = None
) -> TracedLoop:
    """`for i in T.serial(n)`, `(start, stop)` or `(start, stop, step)`: iterations in order.

    Bounds are integers of any kind; the step is a non-zero int.

    Raises `TileError` E1416 for bad bounds or step.
    Example: `for i in T.serial(4): x = x + 1.0`
    """
    _no_annotations("T.serial", annotations)
    return _counted("T.serial", start, stop, step, "serial")


def unroll(
    start: Any,
    stop: Any = None,
    step: Any = None,
    *,
    explicit: bool = False,
    unroll_factor: int | None = None,
    annotations: Any = None,
) -> TracedLoop:
    """`for i in T.unroll(n)`: as `T.serial`, unrolled by the device compiler (by `unroll_factor`
    when given).

    Raises `TileError` E1416 for bad bounds, or both `explicit` and `unroll_factor`.
    Example: `for i in T.unroll(4): x = x + 1.0`
    """
    _no_annotations("T.unroll", annotations)
    if explicit and unroll_factor is not None:
        raise TileError(
            "E1416",
            "T.unroll has explicit=True and an unroll_factor",
            help="explicit unrolls fully; give one of the two",
        )
    return _counted("T.unroll", start, stop, step, "unroll", unroll=unroll_factor or 0)


def vectorized(start: Any, stop: Any = None, *, annotations: Any = None) -> TracedLoop:
    """`for i in T.vectorized(n)`: iterations that become one vector access.

    Raises `TileError` E1416 for bad bounds.
    Example: `for i in T.vectorized(4): x = x + 1.0`
    """
    _no_annotations("T.vectorized", annotations)
    return _counted("T.vectorized", start, stop, None, "vectorized")


def Pipelined(
    start: Any,
    stop: Any = None,
    num_stages: int = 0,
    order: Sequence[int] | None = None,
    stage: Sequence[int] | None = None,
    sync: Any = None,
    group: Any = None,
    annotations: Any = None,
) -> TracedLoop:
    """`for k in T.Pipelined(n, num_stages=3)`: as `T.serial`, with copies of later iterations
    running ahead.

    Args:
        num_stages: how many tiles may be in flight; 0 is an ordinary loop.
        order, stage: an explicit schedule, one entry for each statement of the body; not with
            `num_stages`.
        sync, group: accepted and without effect.

    Raises `TileError` E1416 for options that contradict each other.
    Example: `for k in T.Pipelined(4, num_stages=2): T.copy(A, S)`
    """
    _no_annotations("T.Pipelined", annotations)
    stages = static_int(num_stages)
    if stages is None or stages < 0:
        raise TileError(
            "E1416",
            f"T.Pipelined has num_stages={num_stages!r}",
            help="it is a non-negative int, known while tracing",
        )
    places = (_schedule(order, "order"), _schedule(stage, "stage"))
    if any(places) and (stages or len(places[0]) != len(places[1])):
        raise TileError(
            "E1416",
            "the schedule of T.Pipelined is contradictory",
            notes=("order and stage have one entry for each statement of the body",),
            help="give both order and stage, of equal length, and no num_stages",
        )
    if len(set(places[0])) != len(places[0]):
        raise TileError(
            "E1416", f"order={order!r} repeats a place", help="give each statement its own place"
        )
    options = {"num_stages": stages, "order": places[0], "stage": places[1]}
    return _counted("T.Pipelined", start, stop, None, "pipelined", **options)


def _schedule(given: Sequence[int] | None, what: str) -> tuple[int, ...]:
    items = [static_int(x) for x in given or ()]
    if any(x is None for x in items):
        raise TileError("E1416", f"{what}={given!r} of T.Pipelined", help="it is a list of ints")
    return tuple(x for x in items if x is not None)


def Parallel(
    *extents: Any,
    coalesced_width: int | None = None,
    loop_layout: Any = None,
    prefer_async: bool | None = None,
    annotations: Any = None,
) -> TracedLoop:
    """`for i, j in T.Parallel(M, N)`: independent iterations, spread over the threads of the block.

    Args:
        extents: one or more integers.
        coalesced_width: bound on the vector width, in elements.
        loop_layout: a `T.Fragment` that says which thread runs which iteration.
        prefer_async: accepted and without effect.

    Raises `TileError` E1416 for a bad extent or width.
    Example: `for i, j in T.Parallel(64, 64): F[i, j] = A[i, j] + 1.0`
    """
    _no_annotations("T.Parallel", annotations)
    if not extents:
        raise TileError("E1416", "T.Parallel has no extents", help="write T.Parallel(M, N)")
    width = 0 if coalesced_width is None else static_int(coalesced_width)
    if width is None or width < 0:
        raise TileError(
            "E1416",
            f"T.Parallel has coalesced_width={coalesced_width!r}",
            help="it is a non-negative number of elements",
        )
    layout = getattr(loop_layout, "layout", loop_layout)
    bounds = tuple(loop_bound(e, "T.Parallel") for e in extents)
    return ParallelLoop(bounds, width, layout)


def grid(*extents: Any) -> TracedLoop:
    """`for i, j in T.grid(M, N)`: nested serial loops in one header.

    Raises `TileError` E1416 for a bad extent.
    Example: `for i, j in T.grid(4, 4): x = x + 1.0`
    """
    if not extents:
        raise TileError("E1416", "T.grid has no extents", help="write T.grid(M, N)")
    return GridLoop(tuple(loop_bound(e, "T.grid") for e in extents))


def Persistent(
    domain: Sequence[Any], wave_size: Any, index: Any, group_size: int = 8
) -> TracedLoop:
    """`for bx, by in T.Persistent([Mt, Nt], workers, block)`: the tiles of `domain` that fall to
    one block.

    Args:
        domain: extents of the tile grid.
        wave_size: number of blocks launched.
        index: index of this block.
        group_size: tiles of the last axis walked together for the sake of the cache.

    Raises `TileError` E1416 for a bad extent.
    Example: `for a, c in T.Persistent([4, 4], 2, 0): x = x + 1.0`
    """
    state.builder("T.Persistent")
    size = static_int(group_size)
    if not domain or size is None or size < 1:
        raise TileError(
            "E1416",
            f"T.Persistent({domain!r}, group_size={group_size!r})",
            help="the domain has at least one extent, the group size is a positive int",
        )
    extents = tuple(build.cast(loop_bound(e, "T.Persistent"), "i32") for e in domain)
    wave = build.cast(loop_bound(wave_size, "T.Persistent"), "i32")
    return PersistentLoop(extents, wave, loop_bound(index, "T.Persistent"), size)


def _leave(word: str, what: str) -> None:
    frame = state.builder(what).frames[-1]
    if not frame.loops or flow.leave(frame, word):
        raise TileError(
            "E1009",
            f"{what} stands in no loop of the kernel",
            help=f"put it into T.serial or `while`; a loop of Python is left by `{word}`",
        )


def loop_break() -> None:
    """`break`, as a call: leave the innermost loop around.

    Raises `TileError` E1009 where that loop cannot be left, or there is none.
    Example: `for i in T.serial(4): T.loop_break()`
    """
    _leave("break", "T.loop_break")


def continue_loop() -> None:
    """`continue`, as a call: go on with the next trip of the innermost loop around.

    Raises `TileError` E1009 where that loop has no next trip, or there is none.
    Example: `for i in T.serial(4): T.continue_loop()`
    """
    _leave("continue", "T.continue_loop")


break_loop = loop_break
Serial = serial
Unroll = unroll
Vectorized = vectorized
