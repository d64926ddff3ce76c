"""The state of a random kernel while it is made: its tiles, all wholly defined, and the statements
so far.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tile_ir import build, types
from tile_ir.core import Buffer, Region
from tile_ir.expr import Const, Expr, Var
from tile_ir.ops import Alloc
from tile_ir.testing.random.values import Value

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from random import Random

    from tile_ir.opdef import Stmt
    from tile_ir.types import DType


@dataclass(frozen=True, slots=True)
class Source:
    """Global memory to read: its axes by letter (m and n are tiled, k is the inner axis of
    products).
    """

    buffer: Buffer
    kind: str
    size: float
    error: float


@dataclass(slots=True)
class Tile:
    """A buffer of the kernel with axes `kind` of the tile, and the bounds of what it holds."""

    buffer: Buffer
    kind: str
    size: float = 0.0
    error: float = 0.0

    def at(self, indices: Sequence[Expr]) -> Value:
        """One element."""
        return Value(build.load(self.buffer, indices), self.size, self.error)

    def holds(self, *values: Value) -> None:
        """Widen the bounds to what was written."""
        self.size = max(self.size, *(v.size for v in values))
        self.error = max(self.error, *(v.error for v in values))


@dataclass(frozen=True, slots=True)
class Result:
    """A parameter that a kernel writes, to be declared; `is_input` says that it is updated."""

    name: str
    dtype: DType
    shape: tuple[Expr, ...]
    kind: str
    size: float
    error: float
    tolerance: float
    is_input: bool = False


@dataclass(slots=True)
class Kernelet:
    """One kernel in the making."""

    rng: Random
    shape: tuple[Expr, Expr]
    tile: tuple[int, int]
    prefix: str
    scalars: list[Value]
    sources: list[Source] = field(default_factory=list)
    body: list[Stmt] = field(default_factory=list)
    tiles: list[Tile] = field(default_factory=list)
    updated: list[Result] = field(default_factory=list)
    origin: dict[str, Expr] = field(default_factory=dict)
    nested: int = 0
    count: int = 0

    def start(self, by: Var, bx: Var) -> None:
        """The tile's place: rows from by * height, columns from bx * width."""
        self.origin = {"m": build.mul(by, self.tile[0]), "n": build.mul(bx, self.tile[1])}
        self.scalars += [Value(by), Value(bx)]

    def name(self, stem: str) -> str:
        """A name not used before."""
        self.count += 1
        return f"{self.prefix}{stem}{self.count}"

    def var(self, stem: str, dt: DType = types.i32) -> Var:
        """A variable not used before."""
        return Var(self.name(stem), dt)

    def extents(self, kind: str) -> tuple[int, ...]:
        """The extents of tile axes."""
        by_letter = dict(zip("mn", self.tile, strict=True))
        return tuple(by_letter[letter] for letter in kind)

    def emit(self, *stmts: Stmt) -> None:
        """Append statements."""
        self.body.extend(stmts)

    def alloc(self, dt: DType, shape: Sequence[int], scope: str | None = None) -> Buffer:
        """Declare a buffer of the kernel, shared or fragment."""
        chosen = scope or self.rng.choice(("shared", "fragment"))
        stem = {"shared": "s", "fragment": "f"}.get(chosen, "v")
        extents = tuple(build.const(n) for n in shape)
        made = Buffer(name=self.name(stem), dtype=dt, shape=extents, scope=chosen)
        self.emit(Alloc(buffer=made))
        return made

    def new_tile(self, dt: DType, kind: str, scope: str | None = None) -> Tile:
        """Declare a tile. It is known to later steps once it is in `tiles`."""
        return Tile(self.alloc(dt, self.extents(kind), scope), kind)

    @contextmanager
    def block(self) -> Iterator[list[Stmt]]:
        """Collect what is emitted inside as a nested body."""
        outer, self.body = self.body, []
        self.nested += 1
        known = len(self.tiles)
        yield self.body
        # What a nested body allocates is gone after it.
        del self.tiles[known:]
        self.nested -= 1
        self.body = outer

    def region(self, source: Source) -> Region:
        """The part of global memory that this tile covers."""
        ranges = [
            (self.origin[letter], n)
            for letter, n in zip(source.kind, self.extents(source.kind), strict=True)
        ]
        return build.region(source.buffer, ranges)

    def global_at(self, source: Source, indices: dict[str, Expr], shift: int = 0) -> Value:
        """An element of global memory beside the place of this iteration; it may lie outside."""
        at = [build.add(self.origin[letter], indices[letter]) for letter in source.kind]
        extent = source.buffer.shape[-1]
        # Beside an axis of one element lies nothing, which a compiler may refuse as a mistake.
        if shift and not (isinstance(extent, Const) and extent.value == 1):
            at[-1] = build.add(at[-1], shift)
        return Value(build.load(source.buffer, at), source.size, source.error)

    def of_kind(self, *kinds: str) -> list[Tile]:
        """The tiles with given axes."""
        return [t for t in self.tiles if t.kind in kinds]
