"""Give every tile buffer its place in the worker's scratch memory.

It runs last, when no buffer is added any more. Buffers that are never alive together share memory:
the less a job touches, the more of it stays in the first caches. Small buffers become arrays of the
job itself, which the C compiler can keep in registers.

    before:  alloc A_s: shared f32[64, 32]; alloc m: fragment f32[64]
    after:   alloc A_s: shared f32[64, 32] @0; alloc m: fragment f32[64]
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tile_cpu.sizes import is_dynamic, scratch_size
from tile_ir.opdef import Body, Stmt, bodies
from tile_ir.ops import Alloc, For, Kernel, View, While
from tile_ir.rewrite import effects, map_stmts, replace, walk, with_body
from tile_passes.base import Pass, PassContext

if TYPE_CHECKING:
    from tile_ir.core import Buffer, Function
    from tile_passes.plan.model import Plan

__all__ = ["PASS", "place_scratch"]

SCOPES = ("shared", "fragment", "local")
LOCAL_BYTES = 1024
"""Up to this size a buffer is an array of the job: a few vectors, worth keeping in registers."""


@dataclass(slots=True)
class _Life:
    """From the first to the last statement, by number, that touches a buffer."""

    buffer: Buffer
    first: int
    last: int
    depth: int
    """How many loops enclose the allocation."""


class _Clock:
    """Numbers statements in program order and records who touches what when."""

    def __init__(self) -> None:
        self.now = 0
        self.lives: dict[str, _Life] = {}
        self.aliases: dict[str, str] = {}
        self.loops: list[tuple[int, list[str]]] = []

    def run(self, body: Body) -> None:
        for s in body:
            self.now += 1
            self._declare(s)
            for e in effects(s):
                self._touch(self.aliases.get(e.buffer, e.buffer))
            if isinstance(s, (For, While)):
                self.loops.append((self.now, []))
                self._bodies(s)
                start, touched = self.loops.pop()
                for name in touched:  # what comes from outside of a loop lives through all of it
                    life = self.lives[name]
                    life.first, life.last = min(life.first, start), self.now
            else:
                self._bodies(s)

    def _bodies(self, s: Stmt) -> None:
        for inner in bodies(s):
            self.run(inner)
        self.now += 1

    def _declare(self, s: Stmt) -> None:
        if isinstance(s, Alloc) and s.buffer.scope in SCOPES and not is_dynamic(s.buffer):
            # The life begins with the first access: before it the contents are undefined anyway.
            self.lives[s.buffer.name] = _Life(s.buffer, 1 << 60, -1, len(self.loops))
        elif isinstance(s, View):
            self.aliases[s.buffer.name] = self.aliases.get(s.source, s.source)

    def _touch(self, name: str) -> None:
        life = self.lives.get(name)
        if life is None:
            return
        life.first, life.last = min(life.first, self.now), max(life.last, self.now)
        for _, touched in self.loops[life.depth :]:
            touched.append(name)


def _offsets(lives: list[_Life]) -> dict[str, int]:
    """First fit, largest first: the lowest offset where nothing alive at the same time lies."""
    placed: list[tuple[int, int, _Life]] = []
    for life in sorted(lives, key=lambda x: (-scratch_size(x.buffer), x.first, x.buffer.name)):
        size, at = scratch_size(life.buffer), 0
        clash = sorted((start, end) for start, end, other in placed if not _apart(life, other))
        for start, end in clash:
            if at + size <= start:
                break
            at = max(at, end)
        placed.append((at, at + size, life))
    return {life.buffer.name: start for start, _, life in placed}


def _apart(a: _Life, b: _Life) -> bool:
    return a.last < b.first or b.last < a.first


def _needs_scratch(life: _Life, clock: _Clock) -> bool:
    """Whether a buffer cannot be a local array: large, packed (hence aligned), or seen under
    another type.
    """
    b = life.buffer
    special = b.layout is not None or b.name in clock.aliases.values()
    return life.last >= 0 and (special or scratch_size(b) > LOCAL_BYTES)


def place_scratch(fn: Function) -> Function:
    """Return the function with an offset for every buffer that is too large to be a local array."""
    offsets: dict[str, int] = {}
    for kernel in walk(fn.body):
        if isinstance(kernel, Kernel):
            clock = _Clock()
            clock.run(kernel.body)
            offsets |= _offsets(
                [life for life in clock.lives.values() if _needs_scratch(life, clock)]
            )

    def place(s: Stmt) -> Stmt | None:
        if not isinstance(s, Alloc) or s.buffer.name not in offsets:
            return None
        at = offsets[s.buffer.name]
        if s.buffer.offset == at:
            return None
        return replace(s, buffer=dataclasses.replace(s.buffer, offset=at))

    return with_body(fn, map_stmts(fn.body, place))


def _run(fn: Function, cx: PassContext, plan: Plan) -> Function:
    return place_scratch(fn)


PASS = Pass(name="place-scratch", phase="lower", rewrite=_run, ensures=("placed",), doc=__doc__)
