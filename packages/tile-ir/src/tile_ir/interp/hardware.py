"""The meaning of barriers that count, of closing groups and limiting registers in one thread's
program. Threads that take part are those of the mask: a role's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tile_ir import ops
from tile_ir.interp.async_copies import BOXES_LEAVE, THREADS_COPY
from tile_ir.interp.compiler import Step, Waiting, rule
from tile_ir.interp.phases import Phases, phases_of
from tile_ir.interp.schedule import engines_of
from tile_ir.interp.scheduler import Blocked
from tile_ir.interp.threads import active, agreed, of_thread

if TYPE_CHECKING:
    from collections.abc import Callable

    from tile_ir.interp.compiler import Compiler
    from tile_ir.interp.machine import Env


@rule(ops.Barriers)
def barriers(cx: Compiler, s: ops.Barriers) -> Callable[[Env], None]:
    """Fresh barriers."""

    def run(env: Env) -> None:
        env.block.phases[s.name] = Phases(s.name, s.count, s.arrivals)

    return run


@rule(ops.BarrierArrive)
def barrier_arrive(cx: Compiler, s: ops.BarrierArrive) -> Callable[[Env], None]:
    """One arrival of each thread that is here, in its own block or in one of the cluster."""
    index, threads = cx.expr(s.index), cx.threads
    peer = None if s.peer is None else cx.expr(s.peer)

    def run(env: Env) -> None:
        at, to = index(env), None if peer is None else peer(env)
        for t in map(int, active(env, threads)):
            block = env.block if to is None else env.block.peers[of_thread(to, t)]
            phases_of(block, s.barrier).arrive(of_thread(at, t))

    return run


@rule(ops.BarrierExpect)
def barrier_expect(cx: Compiler, s: ops.BarrierExpect) -> Callable[[Env], None]:
    """One arrival of each thread that is here, with bytes to come."""
    index, threads = cx.expr(s.index), cx.threads

    def run(env: Env) -> None:
        at, found = index(env), phases_of(env.block, s.barrier)
        for t in active(env, threads):
            found.expect(of_thread(at, int(t)), s.bytes)

    return run


@rule(ops.BarrierWait)
def barrier_wait(cx: Compiler, s: ops.BarrierWait) -> Step:
    """Wait for the end of a phase."""
    index, parity, threads = cx.expr(s.index), cx.expr(s.parity), cx.threads

    def run(env: Env) -> Waiting:
        found = phases_of(env.block, s.barrier)
        at = agreed(env, threads, index(env), "barrier")
        phase = agreed(env, threads, parity(env), "parity")
        while not found.ended(at, phase):
            text = f"barrier_wait {s.barrier}[{at}] phase {phase}"
            yield Blocked(text, s.span, lambda: found.ended(at, phase))
        return None

    return Step(run, blocking=True)


@rule(ops.CommitGroup)
def commit_group(cx: Compiler, s: ops.CommitGroup) -> Callable[[Env], None]:
    """The operations since the last group are one."""

    def run(env: Env) -> None:
        engines, target = engines_of(env), env.run.target
        engine = None if target is None else target.copy.get(s.engine)
        if engine is not None:
            stream = THREADS_COPY if engine.bytes else BOXES_LEAVE
            engines.open[s.engine] = engines.open.pop(stream, [])
        engines.close(s.engine)

    return run


@rule(ops.RegisterLimit)
def register_limit(cx: Compiler, s: ops.RegisterLimit) -> Callable[[Env], None]:
    """Registers are not counted here."""
    return lambda env: None
