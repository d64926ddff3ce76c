"""Leave out fences with nothing to order, in kernels whose barriers are the user's.

A fence stands before every arrival at such a barrier: who waits for it may start an engine, which
sees memory in its own way. A thread that has not touched shared memory since its last fence has
nothing to make visible, and a fence waits for all that is under way.

    before:  store s[t] = x;  fence;  barrier_arrive a;  settle;  fence;  barrier_arrive b
    after:   store s[t] = x;  fence;  barrier_arrive a;  settle;  barrier_arrive b
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tile_ir.opdef import bodies
from tile_ir.ops import Atom, BoxLoad, BoxStore, Fence, For, While
from tile_ir.rewrite import effects, map_bodies, walk

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tile_ir.core import Buffer
    from tile_ir.opdef import Body, Stmt

__all__ = ["spare_fences"]

_BY_ENGINES = (Atom, BoxLoad, BoxStore)
"""What goes round the thread's own accesses."""


def spare_fences(body: Body, buffers: Mapping[str, Buffer]) -> Body:
    """The body of a kernel for one thread without those fences."""
    return _spared(body, buffers, clean=False)[0]


def _spared(body: Body, buffers: Mapping[str, Buffer], clean: bool) -> tuple[Body, bool]:
    """The body, entered with nothing to order or not, and whether it is left so."""
    out: list[Stmt] = []
    for s in body:
        if _orders_memory(s):
            if not clean:
                out.append(s)
            clean = True
            continue
        clean = clean and not _touches(s, buffers)
        if bodies(s):
            s, clean = _nested(s, buffers, clean)
        out.append(s)
    return tuple(out), clean


def _nested(s: Stmt, buffers: Mapping[str, Buffer], clean: bool) -> tuple[Stmt, bool]:
    left, first = [clean], clean
    if isinstance(s, (For, While)):  # a trip may begin where another one ended
        first = clean and not any(_touches(t, buffers) for t in walk((s,)))

    def inside(body: Body) -> Body:
        made, after = _spared(body, buffers, first)
        left.append(after)
        return made

    return map_bodies(s, inside), all(left)


def _orders_memory(s: Stmt) -> bool:
    return isinstance(s, Fence) and (s.before, s.after) == ("generic", "async")


def _touches(s: Stmt, buffers: Mapping[str, Buffer]) -> bool:
    """Whether the thread itself reads or writes shared memory there."""
    if isinstance(s, _BY_ENGINES):
        return False
    found = (e for e in effects(s) if e.buffer in buffers)
    return any(buffers[e.buffer].scope == "shared" for e in found)
