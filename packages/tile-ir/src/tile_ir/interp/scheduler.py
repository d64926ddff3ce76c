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
    pauses: bool = False
    """Whether other blocks may go first: nothing is waited for."""


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


def together(threads: list[Thread], session: Session | None = None) -> Waiting:
    """Run threads side by side within another one, which waits while they all do; in the order
    that a session asks for, if one is given."""
    alive = threads[::-1] if session is not None and session.late else list(threads)
    random = None if session is None else session.random
    while alive:
        ready = [t for t in alive if t.blocked is None or t.blocked.ready()]
        if not ready:
            yield _all_blocked(alive)
            continue
        chosen = ready[0] if random is None else random.choice(ready)
        try:
            blocked = chosen.blocked = next(chosen.steps)
        except StopIteration:
            alive.remove(chosen)
            continue
        if blocked.pauses:
            yield blocked
    return None


def _all_blocked(threads: list[Thread]) -> Blocked:
    waits = [t.blocked for t in threads if t.blocked is not None]
    text = " and ".join(b.text for b in waits)
    return Blocked(text, waits[0].span, lambda: any(b.ready() for b in waits))


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
        help="look for a missing commit or release, for ends that run a different number of times, "
        "or for a ring with too few slots",
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
    run_cluster(body, env, [(env, block)])


def run_cluster(body: Step, env: Env, blocks: list[tuple[Env, Block]]) -> None:
    """Run a body as blocks side by side that see each other, each from its own environment."""
    run_clusters(body, env, [blocks])


def run_clusters(body: Step, env: Env, clusters: list[list[tuple[Env, Block]]]) -> None:
    """Run a body as clusters side by side, of blocks that see each other."""
    threads: list[Thread] = []
    for blocks in clusters:
        peers = [block for _, block in blocks]
        for rank, (outer, block) in enumerate(blocks):
            block.rank, block.peers = rank, peers
            inner = _begun(outer, block)
            if body.blocking:
                threads.append(Thread(("", len(threads)), start(body, inner)))
            else:
                body.run(inner)
    drive(threads, env.run)
    for blocks in clusters:
        for _, block in blocks:
            for engines in block.engines:
                engines.flush()


def _begun(env: Env, block: Block) -> Env:
    for open_ring in env.block.declares:
        block.declares.append(open_ring)
    inner = env.fork()
    inner.block = block
    for declare in block.declares:
        declare(inner)
    return enter(inner, ("", 0))
