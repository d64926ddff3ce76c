"""Kernels in which all blocks of the grid wait for each other, made into several that run in order.

Where one kernel ends and the next begins every block has done its part and its writes are there:
what a barrier of the whole grid means, on every device and for any number of blocks. What the next
part needs of on-chip memory and names is computed anew in it; where that would not be the same, the
kernel is refused.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn

from tile_ir.clusters import of_peers
from tile_ir.diag import TileError
from tile_ir.expr import Const, free_vars
from tile_ir.opdef import READ, Access
from tile_ir.ops import (
    Alloc,
    Atomic,
    Barriers,
    CallExtern,
    Copy,
    Fill,
    Kernel,
    Parallel,
    Print,
    Role,
    Store,
    Sync,
    Tiles,
    View,
)
from tile_ir.rewrite import (
    all_effects,
    bound_vars,
    declared,
    map_stmts,
    replace,
    stmt_exprs,
    walk,
    with_body,
)
from tile_passes.naming import Names
from tile_passes.renaming import renamed

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from tile_ir.core import Buffer, Function
    from tile_ir.opdef import Body, Stmt

__all__ = ["apart_at_meetings"]

_READS = READ | Access.UPDATE
_WRITES = Access.WRITE | Access.UPDATE


def meets(s: Stmt) -> bool:
    """Whether a statement is the barrier of all blocks."""
    return isinstance(s, Sync) and s.scope == "grid"


@dataclass(frozen=True, slots=True)
class _Memory:
    """Buffers by name, and of each view the name of what it is a view of."""

    buffers: Mapping[str, Buffer]
    sources: Mapping[str, str]

    def chain(self, name: str) -> list[str]:
        """The declarations that a name stands on: itself first, the memory last."""
        found = [name]
        while found[-1] in self.sources:
            found.append(self.sources[found[-1]])
        return found

    def root(self, name: str) -> str:
        """The buffer whose memory a name means."""
        return self.chain(name)[-1]

    def is_global(self, name: str) -> bool:
        """Whether all blocks see it, behind the barrier too."""
        return self.buffers[name].scope == "global"

    def accesses(self, s: Stmt, root: str) -> list[Access]:
        """What a statement does to the memory of `root`, by any name of it."""
        return [e.access for e in all_effects((s,)) if self.root(e.buffer) == root]


def apart_at_meetings(fn: Function) -> Function:
    """The function without barriers of the whole grid.

    Raises:
        TileError: E1517 where a part needs what another one had on chip, and cannot have it anew.
    """
    if not any(map(meets, walk(fn.body))):
        return fn
    sources = {s.buffer.name: s.source for s in walk(fn.body) if isinstance(s, View)}
    memory, names = _Memory(declared(fn), sources), Names.of(fn)

    def kernel(s: Stmt) -> Body | None:
        if not isinstance(s, Kernel) or not any(map(meets, walk(s.body))):
            return None
        return _parts(s, memory, names)

    return with_body(fn, map_stmts(fn.body, kernel))


def _parts(kernel: Kernel, memory: _Memory, names: Names) -> Body:
    (tiles,) = (s for s in kernel.body if isinstance(s, Tiles))
    for s in walk(tiles.body):
        if isinstance(s, (Barriers, Role)):
            _refuse(s, "barriers and roles of a block's threads belong to one part of the kernel")
    cuts = [n for n, s in enumerate(tiles.body) if meets(s)]
    written = {
        memory.root(e.buffer)
        for e in all_effects(tiles.body)
        if e.access & _WRITES and memory.is_global(e.buffer)
    }
    out: list[Stmt] = []
    start = 0
    for part, end in enumerate((*cuts, len(tiles.body))):
        own = tuple(s for s in tiles.body[start:end] if not meets(s))
        start = end
        before = tuple(s for s in tiles.body[:end] if not meets(s))[: -len(own) or None]
        anew = _anew(before, own, memory, written) if part else ()
        made = replace(kernel, body=(replace(tiles, body=(*anew, *own)),))
        if part:
            again = (memory.root(e.buffer) for e in all_effects(anew))
            unchanged = sorted({name for name in again if memory.is_global(name)})
            made = replace(made, unchanged=tuple(unchanged))
            (made,) = renamed((made,), names)  # type: ignore[assignment]  # still a kernel
            made = replace(made, name=f"{kernel.name}_part{part + 1}")
        out.append(made)
    return tuple(out)


def _anew(before: Body, own: Body, memory: _Memory, written: Collection[str]) -> Body:
    """The statements of earlier parts that give a part the names and values which it needs."""
    needed, declares = _needs(own, memory)
    out: list[Stmt] = []
    for s in reversed(before):
        if isinstance(s, (Alloc, View)):
            if s.buffer.name in declares:
                out.append(s)
            continue
        made = ({v.name for v in bound_vars(s)} | _changed(s, memory)) & needed
        if not made:
            continue
        _check(s, made, memory, written)
        out.extend(reversed(map_stmts((s,), _unsaid)))
        more, also = _needs((s,), memory)
        needed |= more
        declares |= also
    return tuple(reversed(out))


def _unsaid(s: Stmt) -> Body | None:
    """Nothing for a message: it has been printed."""
    return () if isinstance(s, Print) else None


def _check(s: Stmt, made: Collection[str], memory: _Memory, written: Collection[str]) -> None:
    """Refuse what would not be the same, or not be alone, when it is done again."""
    name = min(made)
    for t in walk((s,)):
        apart = isinstance(t, Sync) and t.scope != "block"
        if isinstance(t, (Atomic, CallExtern)) or apart or of_peers(t):
            _refuse(t, f"{name} is made by a statement that is not done twice")
    for e in all_effects((s,)):
        root = memory.root(e.buffer)
        if memory.is_global(root) and (e.access & _WRITES or root in written):
            _refuse(s, f"{name} depends on {root}, which the kernel writes")


def _changed(s: Stmt, memory: _Memory) -> set[str]:
    return {
        memory.root(e.buffer)
        for e in all_effects((s,))
        if e.access & _WRITES and not memory.is_global(e.buffer)
    }


def _needs(body: Body, memory: _Memory) -> tuple[set[str], set[str]]:
    """The variables and the memory that a body reads before it makes them itself, and the buffers
    whose declarations it needs."""
    needed: set[str] = set()
    declares: set[str] = set()
    own: set[str] = set()
    filled: set[str] = set()
    for s in body:
        for t in walk((s,)):
            used = {v.name for e in stmt_exprs(t) for v in free_vars(e)}
            needed |= used - own
            own |= {v.name for v in bound_vars(t)}
            own |= {b.name for b in _buffers_of(t)}
        for e in all_effects((s,)):
            root = memory.root(e.buffer)
            if memory.is_global(root):
                continue
            declares |= set(memory.chain(e.buffer)) - own
            if root in own | filled:
                continue
            (filled if _overwrites(s, e.buffer, memory) else needed).add(root)
    return needed, declares


def _buffers_of(s: Stmt) -> list[Buffer]:
    return [s.buffer] if isinstance(s, (Alloc, View)) else []


def _overwrites(s: Stmt, name: str, memory: _Memory) -> bool:
    """Whether a statement writes all of a buffer before it reads its memory."""
    root, shape = memory.root(name), memory.buffers[name].shape
    if isinstance(s, Parallel):
        first = next((t for t in s.body if memory.accesses(t, root)), None)
        return isinstance(first, Store) and _fills(s, first, name, memory)
    if any(access & _READS for access in memory.accesses(s, root)):
        return False
    if isinstance(s, (Copy, Fill)):
        return all(
            isinstance(r.start, Const) and r.start.value == 0 and r.extent is extent
            for r, extent in zip(s.dst.ranges, shape, strict=True)
        )
    return isinstance(s, Store) and not shape


def _fills(loop: Parallel, s: Store, name: str, memory: _Memory) -> bool:
    """Whether the iterations of a loop store every element of a buffer, of other values."""
    reads = any(access & READ for access in memory.accesses(s, memory.root(name)))
    if s.buffer != name or reads:
        return False
    extents = dict(zip(loop.vars, loop.extents, strict=True))
    for index, extent in zip(s.indices, memory.buffers[name].shape, strict=True):
        unit = isinstance(extent, Const) and extent.value == 1
        if not (unit and isinstance(index, Const)) and extents.pop(index, None) is not extent:  # type: ignore[call-overload]  # what is no variable is not found
            return False
    return True


def _refuse(s: Stmt, why: str) -> NoReturn:
    raise TileError(
        "E1517",
        "blocks cannot wait for the whole grid in this kernel",
        s.span,
        notes=(why, "what follows T.sync_grid is a kernel of its own, which begins anew"),
        help="keep what has to outlive T.sync_grid in global memory, T.alloc_global",
    )
