"""The meaning of kernels and tile loops: blocks one after another, each with memory and channels of
its own.

Tiles run in row-major order with the first variable fastest, backwards, or shuffled by a seed: a
program whose result depends on the order has a race.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import TYPE_CHECKING

from tile_ir.clusters import meets_peers
from tile_ir.interp.channels import Protocol
from tile_ir.interp.claims import drawn_tiles, draws
from tile_ir.interp.compiler import BREAK, Step, Waiting, rule
from tile_ir.interp.machine import Block
from tile_ir.interp.scheduler import run_alone, run_cluster, run_clusters
from tile_ir.interp.threads import THREAD, asks_for_threads
from tile_ir.ops import Kernel, Tiles

if TYPE_CHECKING:
    from tile_ir.interp.compiler import Compiler
    from tile_ir.interp.machine import Env


@rule(Kernel)
def kernel(cx: Compiler, s: Kernel) -> Callable[[Env], None]:
    """A launch: as many blocks as tiles, or the planned number sharing them."""
    count = None if s.blocks is None else cx.expr(s.blocks)
    cx.protocol, cx.tiles_are_blocks = Protocol.of(s), s.blocks is None
    cx.blocks_draw = draws(s.body)
    cx.party = prod(s.threads)
    cx.cluster = s.cluster if asks_for_threads(s.body) or meets_peers(s.body) else ()
    together, side_by_side = prod(cx.cluster), cx.blocks_draw
    threads = prod(s.threads) if asks_for_threads(s.body) else 0
    body = cx.body(s.body) if not threads else _for_one_thread(cx, s, threads)
    cx.protocol = None

    def run(env: Env) -> None:
        env.box = (threads,) if threads else ()
        blocks = None if count is None else count(env)
        clusters = []
        for first in range(0, 1 if blocks is None else blocks, together):
            made = [Block(index=first + k, count=blocks) for k in range(together)]
            clusters.append([(env, block) for block in made])
        for some in [clusters] if side_by_side else [[c] for c in clusters]:
            run_clusters(body, env, some)

    return run


def _for_one_thread(cx: Compiler, s: Kernel, threads: int) -> Step:
    """The body over an axis of threads."""
    cx.threads = threads
    with cx.lanes((THREAD,)):
        body = cx.body(s.body)
    cx.threads = 0
    return body


@rule(Tiles)
def tiles(cx: Compiler, s: Tiles) -> Step:
    """The tiles of a box, or this block's share of them."""
    extents = [cx.expr(e) for e in s.extents]
    names = [v.name for v in s.vars]
    body = cx.body(s.body)
    whole = cx.tiles_are_blocks and cx.role == ""

    def points(env: Env) -> list[tuple[int, ...]]:
        found = _order(tuple(max(e(env), 0) for e in extents), env)
        apart = env.block.count is None or bool(s.next)
        return found if apart else found[env.block.index :: env.block.count]

    def enter(env: Env, point: tuple[int, ...]) -> None:
        env.vars.update(zip(names, point, strict=True))

    if whole and prod(cx.cluster) > 1:
        return Step(_clusters(body, points, enter, cx.cluster))
    if whole:
        return Step(_blocks(body, points, enter))
    if s.next:
        return drawn_tiles(cx, s, body, points, enter)
    return _loop(body, points, enter)


def _loop(body: Step, points: Points, enter: Enter) -> Step:
    """One tile after the other."""
    if body.blocking:
        return Step(_waiting(body, points, enter), blocking=True)

    def run(env: Env) -> None:
        for point in points(env):
            enter(env, point)
            if body.run(env) is BREAK:
                break

    return Step(run)


Points = Callable[["Env"], list[tuple[int, ...]]]
Enter = Callable[["Env", tuple[int, ...]], None]


def _blocks(body: Step, points: Points, enter: Enter) -> Callable[[Env], None]:
    def run(env: Env) -> None:
        for index, point in enumerate(points(env)):
            enter(env, point)
            run_alone(body, env, Block(index=index))

    return run


def _clusters(
    body: Step, points: Points, enter: Enter, shape: tuple[int, ...]
) -> Callable[[Env], None]:
    """Neighbouring tiles side by side, as many along each axis as `shape` says."""

    def run(env: Env) -> None:
        found: dict[tuple[int, ...], list[tuple[Env, Block]]] = {}
        for index, point in enumerate(sorted(points(env), key=lambda p: p[::-1])):
            size = (*shape, *(1,) * (len(point) - len(shape)))
            inner = env.fork()
            enter(inner, point)
            key = tuple(p // n for p, n in zip(point, size, strict=True))
            found.setdefault(key, []).append((inner, Block(index=index)))
        for blocks in found.values():
            run_cluster(body, env, blocks)

    return run


def _waiting(body: Step, points: Points, enter: Enter) -> Callable[[Env], Waiting]:
    def run(env: Env) -> Waiting:
        for point in points(env):
            enter(env, point)
            if (yield from body.run(env)) is BREAK:
                break
        return None

    return run


def _order(box: tuple[int, ...], env: Env) -> list[tuple[int, ...]]:
    points: list[tuple[int, ...]] = [()]
    for extent in reversed(box):
        points = [(i, *p) for p in points for i in range(extent)]
    if env.run.reverse:
        points.reverse()
    if env.run.random is not None and env.block.count is None:
        env.run.random.shuffle(points)
    return points
