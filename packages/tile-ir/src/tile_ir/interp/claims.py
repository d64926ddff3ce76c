"""The meaning of drawing tiles, and of the loop over what was drawn.

Blocks of a kernel that draws run side by side, and each pauses before it draws, so that a seed
gives every division of the tiles among them.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import TYPE_CHECKING

from tile_ir.diag import TileError
from tile_ir.expr import Load, Slot
from tile_ir.interp.async_copies import started
from tile_ir.interp.channels import ring_at
from tile_ir.interp.compiler import BREAK, Step, Waiting, rule
from tile_ir.interp.phases import Action, phases_of
from tile_ir.interp.scheduler import Blocked
from tile_ir.interp.threads import active, agreed, of_thread
from tile_ir.ops import Claim, Send, Tiles
from tile_ir.rewrite import walk
from tile_ir.types import i32

if TYPE_CHECKING:
    from tile_ir.interp.compiler import Compiler
    from tile_ir.interp.machine import Env
    from tile_ir.interp.storage import Storage
    from tile_ir.opdef import Body

__all__ = ["drawn_tiles", "draws"]

Points = Callable[["Env"], list[tuple[int, ...]]]
Enter = Callable[["Env", tuple[int, ...]], None]


def draws(body: Body) -> bool:
    """Whether blocks of a kernel draw their tiles."""
    return any(isinstance(s, Claim) for s in walk(body))


@rule(Claim)
def claim(cx: Compiler, s: Claim) -> Step:
    """One step of the counter round its circle."""
    tiles, threads, together = cx.expr(s.tiles), cx.threads, prod(cx.cluster)

    def run(env: Env) -> Waiting:
        yield Blocked(f"claim {s.counter}", s.span, lambda: True, pauses=True)
        if threads and len(active(env, threads)) != 1:
            why = "several threads draw a tile for their block"
            fix = "let one thread draw, and hand the number to the others through a channel"
            raise TileError("E0512", why, s.span, help=fix)
        counter, count = env.bufs[s.counter].array, int(tiles(env))
        drawn = int(counter[0])
        counter[0] = 0 if drawn >= count - 1 else drawn + 1
        number = drawn + (env.block.count or 0) // together
        if s.result is not None:
            env.vars[s.result.name] = number
        else:
            _put(env, s.onto, number)
        return None

    return Step(run, blocking=True)


def _put(env: Env, channel: str, number: int) -> None:
    """A number into the slot that is being filled, before the slot is committed."""
    ring = ring_at(env, channel, "producer")
    (name,) = ring.channel.carries
    storage, depth = env.bufs[name], ring.channel.depth
    at = (env.slot(Slot(channel), "producer", depth),) if depth > 1 else ()
    storage.array[at] = number
    if storage.defined is not None:
        storage.defined[at] = True


@rule(Send)
def send(cx: Compiler, s: Send) -> Callable[[Env], None]:
    """A word of each thread that is here; it is there when the phase ends."""
    value, peer, index = cx.expr(s.value), cx.expr(s.peer), cx.expr(s.index)
    indices, threads = [cx.expr(e) for e in s.indices], cx.threads

    def sent(storage: Storage, at: tuple[int, ...], word: int) -> Action:
        def finish() -> None:
            storage.array[at] = word
            if storage.defined is not None:
                storage.defined[at] = True

        return Action(finish)

    def run(env: Env) -> None:
        for t in map(int, active(env, threads)):
            block = env.block.peers[of_thread(peer(env), t)]
            at = tuple(of_thread(i(env), t) for i in indices)
            action = started(env, sent(block.tiles[s.buffer], at, of_thread(value(env), t)))
            phases_of(block, s.barrier).load(of_thread(index(env), t), _WORD, action)

    return run


_WORD = 4


def drawn_tiles(cx: Compiler, s: Tiles, body: Step, points: Points, enter: Enter) -> Step:
    """This block's tiles: that of its number, then those whose numbers the body leaves behind."""
    following, threads = cx.expr(Load(s.next, (), i32)), cx.threads
    together = prod(cx.cluster)

    def run(env: Env) -> Waiting:
        found, number = points(env), env.block.index // together
        while number * together < len(found):
            enter(env, found[number * together + env.block.rank])
            if body.blocking:
                signal = yield from body.run(env)
            else:
                signal = body.run(env)
            if signal is BREAK:
                break
            value = following(env)
            number = agreed(env, threads, value, "next tile") if threads else int(value)
        return None

    return Step(run, blocking=True)
