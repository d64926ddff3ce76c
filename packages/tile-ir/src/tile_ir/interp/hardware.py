"""The meaning of barriers that count, of closing groups and limiting registers. In one thread's
program the threads that take part are those of the mask: a role's. Before, a role is one thread of
control that stands for all of its threads.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tile_ir import ops
from tile_ir.interp.async_copies import BOXES_LEAVE, THREADS_COPY
from tile_ir.interp.compiler import Step, Waiting, rule
from tile_ir.interp.peers import meeting, peer_of, seen
from tile_ir.interp.phases import Phases, phases_of
from tile_ir.interp.schedule import engines_of
from tile_ir.interp.scheduler import Blocked
from tile_ir.interp.threads import active, agreed, hand_over, of_thread

if TYPE_CHECKING:
    from collections.abc import Callable

    from tile_ir.interp.compiler import Compiler
    from tile_ir.interp.machine import Env


@rule(ops.Barriers)
def barriers(cx: Compiler, s: ops.Barriers) -> Step | Callable[[Env], None]:
    """Fresh barriers. Those of a cluster are known to all its blocks before one goes on."""

    wanted = s.each or (s.arrivals,) * s.count

    def run(env: Env) -> None:
        env.block.phases[s.name] = Phases(s.name, list(wanted))

    if s.scope != "cluster" or cx.threads or not cx.cluster:
        return run

    def run_and_meet(env: Env) -> Waiting:
        run(env)
        return meeting(env, s.span)

    return Step(run_and_meet, blocking=True)


@rule(ops.BarrierArrive)
def barrier_arrive(cx: Compiler, s: ops.BarrierArrive) -> Callable[[Env], None]:
    """One arrival of each thread that is here, in its own block or in one of the cluster."""
    index, threads = cx.expr(s.index), cx.threads
    peer = None if s.peer is None else cx.expr(s.peer)
    if not threads:
        party = 1 if s.one else cx.party

        def run_for_all(env: Env) -> None:
            block = env.block if peer is None else peer_of(env, int(peer(env)))
            if block is not env.block:
                seen(env.block)
            phases_of(block, s.barrier).arrive(int(index(env)), party)

        return run_for_all

    def run(env: Env) -> None:
        at, to = index(env), None if peer is None else peer(env)
        for t in map(int, active(env, threads)):
            block = env.block if to is None else peer_of(env, of_thread(to, t))
            own = t if block is env.block else None
            if own is None:
                seen(env.block)
            phases_of(block, s.barrier).arrive(of_thread(at, t), thread=own)

    return run


@rule(ops.BarrierExpect)
def barrier_expect(cx: Compiler, s: ops.BarrierExpect) -> Callable[[Env], None]:
    """One arrival of each thread that is here, with bytes to come."""
    index, threads = cx.expr(s.index), cx.threads
    if not threads:
        party = 1 if s.one else cx.party

        def run_for_all(env: Env) -> None:
            at, found = int(index(env)), phases_of(env.block, s.barrier)
            found.expect(at, s.bytes * party, silent=True)
            if not s.silent:
                found.arrive(at, party)

        return run_for_all

    def run(env: Env) -> None:
        at, found = index(env), phases_of(env.block, s.barrier)
        for t in active(env, threads):
            found.expect(of_thread(at, int(t)), s.bytes, silent=s.silent)

    return run


@rule(ops.BarrierWait)
def barrier_wait(cx: Compiler, s: ops.BarrierWait) -> Step:
    """Wait for the end of a phase."""
    index, parity, threads = cx.expr(s.index), cx.expr(s.parity), cx.threads

    def run(env: Env) -> Waiting:
        found = phases_of(env.block, s.barrier)
        at, phase = index(env), parity(env)
        if threads:
            at = agreed(env, threads, at, "barrier")
            phase = agreed(env, threads, phase, "parity")
        while not found.ended(at, phase):
            text = f"barrier_wait {s.barrier}[{at}] phase {phase}"
            yield Blocked(text, s.span, lambda: found.ended(at, phase))
        if threads:
            hand_over(env, found.were[at])
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


@rule(ops.WaitDependency)
@rule(ops.LaunchDependents)
def dependency(cx: Compiler, s: ops.WaitDependency | ops.LaunchDependents) -> Callable[[Env], None]:
    """Kernels run one after the other here."""
    return lambda env: None


@rule(ops.RegisterLimit)
def register_limit(cx: Compiler, s: ops.RegisterLimit) -> Callable[[Env], None]:
    """Registers are not counted here."""
    return lambda env: None
