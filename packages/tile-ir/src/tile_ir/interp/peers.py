"""Blocks of a cluster that meet, and what one of them does to the memory and barriers of others."""

from __future__ import annotations

from functools import partial
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from tile_ir.diag import TileError
from tile_ir.expr import Const
from tile_ir.interp.compiler import Step, Waiting, rule
from tile_ir.interp.engines import Pending
from tile_ir.interp.phases import Action, phases_of
from tile_ir.interp.regions import all_defined, fit, reading, writing
from tile_ir.interp.scheduler import Blocked
from tile_ir.interp.storage import poison_value
from tile_ir.interp.threads import active, check_together, of_thread, private
from tile_ir.ops import Copy, CopyPeer, Issue, Sync

if TYPE_CHECKING:
    from collections.abc import Callable

    from tile_ir.core import Region
    from tile_ir.diag import Span
    from tile_ir.interp.compiler import Compiler, Plain
    from tile_ir.interp.machine import Block, Env
    from tile_ir.interp.regions import Tile
    from tile_ir.interp.storage import Storage

__all__ = ["issued_to_peers", "meeting", "peer_of", "seen", "sync_cluster"]


def peer_of(env: Env, rank: int) -> Block:
    """The block of a rank in the cluster.

    Raises:
        TileError: E0502 when the cluster has no such block.
    """
    peers = env.block.peers
    if not 0 <= rank < len(peers):
        raise TileError(
            "E0502",
            f"there is no block {rank} in a cluster of {len(peers)}",
            help=f"ranks are 0 to {len(peers) - 1}",
        )
    return peers[rank]


def meeting(env: Env, span: Span | None, part: str = "") -> Waiting:
    """All threads of all blocks of the cluster come, wait for each other, or both."""
    block = env.block
    if part != "wait":
        block.met += 1
    if part == "arrive":
        return None
    want, peers = block.met, block.peers
    while any(peer.met < want for peer in peers):
        yield Blocked("sync cluster", span, lambda: all(p.met >= want for p in peers))
    block.epoch += 1
    for peer in peers:
        seen(peer, want)
    return None


def seen(block: Block, meeting: int | None = None) -> None:
    """What a block sent to others is there: before a meeting of them, or all of it."""
    later = []
    for at, finish in block.sent:
        if meeting is None or at <= meeting:
            finish()
        else:
            later.append((at, finish))
    block.sent = later


def _sent(env: Env, action: Action, poison: Callable[[], None]) -> None:
    """A copy that no barrier counts: nobody may look at its place until the blocks have met."""
    if not env.run.late:
        action.finish()
        return
    poison()
    env.block.sent.append((env.block.met + 1, action.finish))


def sync_cluster(s: Sync) -> Step:
    """The barrier of a cluster, or one part of it."""

    def run(env: Env) -> Waiting:
        check_together(env, s)
        return meeting(env, s.span, s.part)

    return Step(run, blocking=True)


def issued_to_peers(
    cx: Compiler, s: Issue, body: Plain, sources: frozenset[str]
) -> Callable[[Env], None]:
    """The copy of a box whose bytes are counted, by the first of the blocks that get it."""
    assert s.index is not None  # the verifier's rule
    (copy,) = s.body
    assert isinstance(copy, Copy)  # the verifier's rule for these engines
    index, size = cx.expr(s.index), _bytes(cx, copy.dst)

    def brought(env: Env, block: Block, at: int) -> None:
        op = Pending(body, env.snapshot(), sources)

        def finish() -> None:
            op.env.bufs[copy.dst.buffer] = tile_in(block, copy.dst.buffer)
            op.finish()

        action = Action(finish, op.read)
        if not env.run.late and copy.dst.buffer in block.tiles:
            action.finish()
        phases_of(block, s.onto).load(at, size, action)

    def run(env: Env) -> None:
        at, rank, mask = int(index(env)), env.block.rank, s.mask
        if not mask >> rank & 1:  # the others bring their own
            mask = 1 << rank
        if not s.untold:
            phases_of(env.block, s.onto).expect(at, size, silent=True)
        if mask & -mask == 1 << rank:
            for to, block in enumerate(env.block.peers):
                if mask >> to & 1:
                    brought(env, block, at)

    return run


def _bytes(cx: Compiler, region: Region) -> int:
    count = prod(int(r.extent.value) for r in region.ranges if isinstance(r.extent, Const))
    return count * cx.buffers[region.buffer].dtype.storage_bits // 8


def tile_in(block: Block, name: str) -> Storage:
    """A shared buffer in the memory of a block.

    Raises:
        TileError: E0508 where that block has not come to its declaration.
    """
    found = block.tiles.get(name)
    if found is None:
        raise TileError(
            "E0508",
            f"block {block.rank} of the cluster has not declared {name} yet",
            help="let the blocks meet (`sync cluster`) between declarations and such copies",
        )
    return found


@rule(CopyPeer)
def copy_peer(cx: Compiler, s: CopyPeer) -> Callable[[Env], None]:
    """A tile into another block's memory; with a barrier there, when its phase ends, else when the
    blocks have met."""
    if cx.threads:
        return _copied_by_threads(cx, s)
    src, dst, peer = reading(cx, s.src), writing(cx, s.dst), cx.expr(s.peer)
    index = None if s.index is None else cx.expr(s.index)
    size = _bytes(cx, s.dst)

    def run(env: Env) -> None:
        block = peer_of(env, int(peer(env)))
        value, there = np.array(src.view(env)), env.snapshot()
        there.bufs[s.dst.buffer] = tile_in(block, s.dst.buffer)

        def finish() -> None:
            target = dst.view(there)
            target[...] = fit(value, target.shape)
            all_defined(there, dst)

        action = Action(finish)
        if index is None:
            _sent(env, action, lambda: _poisoned(there, dst))
            return
        if not env.run.late:
            action.finish()
        phases_of(block, s.onto).load(int(index(env)), size, action)

    return run


def _poisoned(env: Env, dst: Tile) -> None:
    """Make the contents of a box undefined."""
    dst.view(env)[...] = poison_value(dst.dtype)
    array, defined = dst.memory(env)
    if defined is not None:
        defined[dst.index(env, array.shape)] = False


def _copied_by_threads(cx: Compiler, s: CopyPeer) -> Callable[[Env], None]:
    """A run of elements of each thread that is here."""
    (src,), (dst,) = s.src.ranges, s.dst.ranges
    start, to, peer = cx.expr(src.start), cx.expr(dst.start), cx.expr(s.peer)
    index = None if s.index is None else cx.expr(s.index)
    assert isinstance(dst.extent, Const)  # tiles are static
    count, size, threads = int(dst.extent.value), _bytes(cx, s.dst), cx.threads
    own = private(cx, cx.buffers[s.src.buffer])

    def put(target: Storage, at: int, value: Any) -> Action:
        def finish() -> None:
            target.array[at : at + count] = value
            if target.defined is not None:
                target.defined[at : at + count] = True

        return Action(finish)

    def run(env: Env) -> None:
        froms, tos, ranks = start(env), to(env), peer(env)
        for t in map(int, active(env, threads)):
            block, first = peer_of(env, of_thread(ranks, t)), of_thread(froms, t)
            held = env.bufs[s.src.buffer].array
            value = (held[t] if own else held)[first : first + count].copy()
            target, at = tile_in(block, s.dst.buffer), of_thread(tos, t)
            action = put(target, at, value)
            if index is None:
                place = (slice(at, at + count),)
                _sent(env, action, partial(target.poison, place))
                continue
            if not env.run.late:
                action.finish()
            phases_of(block, s.onto).load(of_thread(index(env), t), size, action)

    return run
