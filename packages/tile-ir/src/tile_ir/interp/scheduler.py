"""Threads of control side by side: generators that yield while they have to wait, run until all are
done.

The ready thread that was declared last runs first where effects are late (consumers then run ahead
as far as waits let them), the one declared first where effects are early, or a seed chooses. If
none is ready, that is a deadlock.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tile_ir.diag import TileError
from tile_ir.interp.engines import Engines

if TYPE_CHECKING:
    from collections.abc import Callable

    from tile_ir.diag import Span
    from tile_ir.interp.compiler import Step, Waiting
    from tile_ir.interp.machine import Block, Env, Participant, Session


@dataclass(frozen=True, slots=True)
class Blocked:
    """What a thread waits for."""

    text: str
    span: Span | None
    ready: Callable[[], bool]


@dataclass(slots=True)
class Thread:
    """One thread of control and what it waits for."""

    who: Participant
    steps: Waiting
    blocked: Blocked | None = None


def start(step: Step, env: Env) -> Waiting:
    """The generator of a body, blocking or not."""
    if step.blocking:
        yield from step.run(env)
    else:
        step.run(env)
    return None


def drive(threads: list[Thread], session: Session) -> None:
    """Run threads until all are done.

    Raises:
        TileError: E0507 when all that are left wait.
    """
    alive = threads[::-1] if session.late else list(threads)
    while alive:
        ready = [t for t in alive if t.blocked is None or t.blocked.ready()]
        if not ready:
            raise deadlock(alive)
        chosen = ready[0] if session.random is None else session.random.choice(ready)
        try:
            chosen.blocked = next(chosen.steps)
        except StopIteration:
            alive.remove(chosen)


def deadlock(threads: list[Thread]) -> TileError:
    """The error that says where each thread stands."""
    blocked = [(t.who, t.blocked) for t in threads if t.blocked is not None]
    notes = [
        f"{_name(who)} waits at `{b.text}`" + ("" if b.span is None else f" ({b.span})")
        for who, b in sorted(blocked, key=lambda pair: pair[0])
    ]
    first = blocked[0][1] if blocked else None
    return TileError(
        "E0507",
        "deadlock: every role waits for another one",
        None if first is None else first.span,
        notes=notes,
    )


def _name(who: Participant) -> str:
    role, group = who
    return f"role {role}, group {group}," if role else "the kernel"


def enter(env: Env, who: Participant) -> Env:
    """The environment of a thread of its own."""
    inner = env.fork()
    inner.thread, inner.cursors, inner.engines = who, {}, Engines()
    env.block.engines.append(inner.engines)
    return inner


def run_alone(body: Step, env: Env, block: Block) -> None:
    """Run a body as one block with one thread of control; all that it issued is complete at the
    end.
    """
    for open_ring in env.block.declares:
        block.declares.append(open_ring)
    inner = env.fork()
    inner.block = block
    for declare in block.declares:
        declare(inner)
    inner = enter(inner, ("", 0))
    if body.blocking:
        drive([Thread(("", 0), start(body, inner))], env.run)
    else:
        body.run(inner)
    for engines in block.engines:
        engines.flush()
