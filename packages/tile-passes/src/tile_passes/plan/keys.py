"""The names by which the Plan speaks of a program: kernels, loops and statements, as the user wrote
them.

A statement is `op:destination`, a loop `for:variable`; repeats in a kernel get `#2`, `#3`, ... in
program order. The keys of a kernel's decisions start with its name.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tile_ir.opdef import Access, bodies, opdef
from tile_ir.ops import Alloc, For, Kernel, Let, Tiles, View
from tile_ir.rewrite import declared, effects, walk

if TYPE_CHECKING:
    from tile_ir.core import Buffer, Function
    from tile_ir.opdef import Body, Stmt

Path = tuple[int, ...]
"""Where a statement is: its position in the tile body, then (body, position) of each level
below.
"""


def kernels(fn: Function) -> tuple[Kernel, ...]:
    """The kernels of a function, in order."""
    return tuple(s for s in walk(fn.body) if isinstance(s, Kernel))


def buffers_for(fn: Function, kernel: Kernel) -> dict[str, Buffer]:
    """The buffers that a kernel may name, those of other kernels left out: what a block has is
    not shared with the blocks of a kernel that runs before or after it.
    """
    others = {name for k in kernels(fn) if k is not kernel for name in _allocated(k)}
    foreign = others - _allocated(kernel)
    return {name: buffer for name, buffer in declared(fn).items() if name not in foreign}


def _allocated(kernel: Kernel) -> set[str]:
    return {s.buffer.name for s in walk(kernel.body) if isinstance(s, Alloc)}


def tiles_of(kernel: Kernel) -> Tiles | None:
    """The tile loop of a kernel."""
    return next((s for s in kernel.body if isinstance(s, Tiles)), None)


def destination(stmt: Stmt) -> str:
    """What a statement is about: the variable it binds, or the first buffer it writes."""
    if isinstance(stmt, For):
        return stmt.var.name
    if isinstance(stmt, Let):
        return stmt.var.name
    if isinstance(stmt, (Alloc, View)):
        return stmt.buffer.name
    for inner in walk((stmt,)):
        for effect in effects(inner):
            if effect.access & (Access.WRITE | Access.UPDATE):
                return effect.buffer
    return ""


@dataclass(slots=True)
class Names:
    """The name of each statement of one kernel, by path."""

    by_path: dict[Path, str] = field(default_factory=dict)
    _seen: dict[str, int] = field(default_factory=dict)

    @staticmethod
    def of(body: Body) -> Names:
        """Name every statement of a tile body."""
        made = Names()
        made._visit(body, ())
        return made

    def _visit(self, body: Body, at: Path) -> None:
        for i, stmt in enumerate(body):
            path = (*at, i)
            what = destination(stmt)
            name = f"{opdef(stmt).name}:{what}" if what else opdef(stmt).name
            count = self._seen[name] = self._seen.get(name, 0) + 1
            self.by_path[path] = name if count == 1 else f"{name}#{count}"
            for b, inner in enumerate(bodies(stmt)):
                self._visit(inner, (*path, b))

    def __getitem__(self, path: Path) -> str:
        return self.by_path[path]

    def child(self, body: Path, at: int) -> str:
        """The name of the statement at a position of a body."""
        path = (*body, at)
        return self.by_path[path]


def loop_key(name: str) -> str:
    """`for:k` is spoken of as `k`, `for:k#2` as `k#2`."""
    return name.removeprefix("for:")
