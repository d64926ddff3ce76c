"""The meaning of what planning makes explicit: roles, channels, asynchronous operations,
synchronization.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tile_ir.diag import TileError
from tile_ir.interp.channels import open_ring, ring_at
from tile_ir.interp.compiler import Step, Waiting, rule
from tile_ir.interp.engines import Engines, Pending
from tile_ir.interp.peers import issued_to_peers, sync_cluster
from tile_ir.interp.phases import phases_of
from tile_ir.interp.regions import writing
from tile_ir.interp.scheduler import Blocked, Thread, drive, enter, start, together
from tile_ir.interp.threads import check_together
from tile_ir.opdef import Access
from tile_ir.ops import (
    BULK,
    RUNS,
    Acquire,
    Channel,
    Commit,
    Copy,
    Fence,
    Group,
    Issue,
    Pin,
    Release,
    Role,
    Settle,
    SettleCount,
    Sync,
    Wait,
)
from tile_ir.rewrite import all_effects

if TYPE_CHECKING:
    from collections.abc import Callable

    from tile_ir.interp.compiler import Compiler
    from tile_ir.interp.machine import Env


@rule(Role)
def roles(cx: Compiler, group: list[Role]) -> Step:
    """Neighbouring roles, all groups of each, side by side; beside other blocks where these draw
    their tiles, or wait for each other."""
    compiled, outer = [], cx.party
    for role in group:
        cx.role, cx.party = role.name, role.threads or outer
        with cx.fresh():
            compiled.append((role, cx.body(role.body)))
        cx.role, cx.party = "", outer

    def begun(env: Env) -> list[Thread]:
        threads = []
        env.block.arrivals.clear()
        for role, body in compiled:
            env.block.threads[role.name] = role.groups
            for g in range(role.groups):
                inner = enter(env, (role.name, g))
                if role.group is not None:
                    inner.vars[role.group.name] = g
                threads.append(Thread((role.name, g), start(body, inner)))
        env.block.threads[""] = len(threads)
        return threads

    if cx.blocks_draw or cx.cluster:
        return Step(lambda env: together(begun(env), env.run), blocking=True)
    return Step(lambda env: drive(begun(env), env.run))


@rule(Channel)
def channel(cx: Compiler, s: Channel) -> Callable[[Env], None]:
    """Rings for this block, and for blocks that begin inside."""
    protocol = cx.protocol
    if protocol is None:
        raise TileError(
            "E0508",
            f"channel {s.name} is declared outside a kernel",
            help="move the declaration into the body of the `kernel` that uses it",
        )

    def run(env: Env) -> None:
        env.block.declares.append(lambda inner: open_ring(inner, s, protocol))
        open_ring(env, s, protocol)

    return run


@rule(Acquire)
def acquire(cx: Compiler, s: Acquire) -> Step:
    """Wait for a free slot."""

    def run(env: Env) -> Waiting:
        ring = ring_at(env, s.channel, "producer")
        while not ring.may_acquire(env.thread):
            yield Blocked(f"acquire {s.channel}", s.span, lambda: ring.may_acquire(env.thread))
        ring.acquire(env)
        return None

    return Step(run, blocking=True)


@rule(Commit)
def commit(cx: Compiler, s: Commit) -> Callable[[Env], None]:
    """Hand the slot over, with the engine's operations that fill it or empty it."""

    def run(env: Env) -> None:
        ring = ring_at(env, s.channel, "producer")
        producer, consumer = ring.channel.producer, ring.channel.consumer
        engines = engines_of(env)
        if producer.kind == "engine":
            for op in engines.open.pop(producer.name, []):
                ring.attach(env, op)
        ring.commit(env)
        if consumer.kind == "engine":
            ring.leaving.append(engines.close(consumer.name))

    return run


@rule(Wait)
def wait(cx: Compiler, s: Wait) -> Step:
    """Wait for a filled slot."""

    def run(env: Env) -> Waiting:
        ring = ring_at(env, s.channel, "consumer")
        while not ring.may_wait(env.thread):
            yield Blocked(f"wait {s.channel}", s.span, lambda: ring.may_wait(env.thread))
        ring.wait(env)
        return None

    return Step(run, blocking=True)


@rule(Release)
def release(cx: Compiler, s: Release) -> Callable[[Env], None]:
    """Give the oldest slot back."""

    def run(env: Env) -> None:
        ring_at(env, s.channel, "consumer").release(env)

    return run


@rule(Issue)
def issue(cx: Compiler, s: Issue) -> Callable[[Env], None]:
    """Start an operation; it happens now, or as late as the program allows."""
    body = cx.body(s.body).run
    effects = tuple(all_effects(s.body))
    written = {e.buffer for e in effects if Access.WRITE in e.access or Access.UPDATE in e.access}
    sources = frozenset({e.buffer for e in effects} - written)
    index = None if s.index is None else cx.expr(s.index)
    if s.mask or s.untold:
        return issued_to_peers(cx, s, body, sources)
    blank = _blank(cx, s) if s.engine in (BULK, RUNS) else None

    def run(env: Env) -> None:
        op = Pending(body, env.snapshot(), sources)
        if blank is not None and env.run.debug:
            blank(env)
        if not env.run.late:
            op.finish()
        if index is not None:
            phases_of(env.block, s.onto).attach(int(index(env)), op)
        elif s.onto:
            ring_at(env, s.onto, "producer").attach(env, op)
        else:
            engines_of(env).issue(s.engine, op)

    return run


def _blank(cx: Compiler, s: Issue) -> Callable[[Env], None]:
    """Nobody may look at what a copy under way will write."""
    (copy,) = s.body
    assert isinstance(copy, Copy)  # the verifier's rule for these engines
    dst = writing(cx, copy.dst)

    def run(env: Env) -> None:
        array, _ = dst.memory(env)
        index = dst.index(env, array.shape)
        if index is not None and dst.slot is None:
            dst.storage(env).poison(index)

    return run


def engines_of(env: Env) -> Engines:
    """The streams of this thread.

    Raises:
        TileError: E0508 outside a kernel.
    """
    if env.engines is None:
        raise TileError(
            "E0508",
            "an asynchronous operation outside a kernel",
            help="move it into the body of a `kernel`: engines belong to its blocks",
        )
    return env.engines


@rule(Group)
def group(cx: Compiler, s: Group) -> Callable[[Env], None]:
    """Name the operations since the last group."""

    def run(env: Env) -> None:
        engines_of(env).close(s.engine, s.token)

    return run


@rule(Settle)
def settle(cx: Compiler, s: Settle) -> Callable[[Env], None]:
    """Their effects are over."""

    def run(env: Env) -> None:
        engines_of(env).settle(s.token, s.back, read=s.read)

    return run


@rule(SettleCount)
def settle_count(cx: Compiler, s: SettleCount) -> Callable[[Env], None]:
    """The effects of all but the youngest groups are over."""

    def run(env: Env) -> None:
        engines_of(env).settle_count(s.engine, s.pending, read=s.read)

    return run


@rule(Pin)
def pin(cx: Compiler, s: Pin) -> Callable[[Env], None]:
    """Values here are computed where they are written."""
    return lambda env: None


@rule(Fence)
def fence(cx: Compiler, s: Fence) -> Callable[[Env], None]:
    """Memory here has no proxies: every thread sees every write."""
    return lambda env: None


def _sync_threads(cx: Compiler, s: Sync) -> Callable[[Env], None]:
    """What the threads of the block wrote is seen by all of them."""

    def run(env: Env) -> None:
        if s.scope == "block":
            check_together(env, s)
        here = cx.threads if env.mask is None else int(env.mask.sum())
        if s.threads and (here % s.threads if s.scope == "group" else here != s.threads):
            text = f"{here} threads come to a barrier of {s.threads}"
            fix = "let `threads` be the number that comes, or move the barrier out of the branch"
            raise TileError("E0512", text, s.span, help=fix)
        if s.scope != "group":
            env.block.epoch += 1

    return run


@rule(Sync)
def sync(cx: Compiler, s: Sync) -> Step | Callable[[Env], None]:
    """Wait for the other groups of the role, or for all threads; a group is one thread here."""
    if s.scope == "cluster":
        return sync_cluster(s)
    if cx.threads:
        return _sync_threads(cx, s)
    if cx.role == "" or s.scope == "group":
        return lambda env: None
    key = cx.role if s.scope == "role" else ""

    def run(env: Env) -> Waiting:
        block, count = env.block, env.block.threads[key]
        before = block.arrivals.get(key, 0)
        full = (before // count + 1) * count
        block.arrivals[key] = before + 1
        while block.arrivals[key] < full:
            yield Blocked(f"sync {s.scope}", s.span, lambda: block.arrivals[key] >= full)
        return None

    return Step(run, blocking=True)
