"""What a kernel offers to the planner: copies that an engine could bring, products that an engine
could compute.

A copy can go through a channel when it alone fills its shared buffer, everything that reads the
buffer follows it in the same body, and nothing ever writes its source. What the engines of the
target demand of it is checked here once.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd, prod
from typing import TYPE_CHECKING

from tile_ir import build as b
from tile_ir.expr import Const, Var, free_vars, loads
from tile_ir.opdef import Access, bodies
from tile_ir.ops import BULK, Atomic, AtomicTile, Copy, For, Gemm, Issue, Let, Parallel, View, While
from tile_ir.rewrite import effects, stmt_exprs, substitute, walk
from tile_passes.analysis.dependence import aliases, leaves_early
from tile_passes.analysis.facts import Facts
from tile_passes.analysis.manual import copy_of, is_manual
from tile_passes.plan.keys import Names, Path

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tile_ir.core import Buffer, Region
    from tile_ir.expr import Expr
    from tile_ir.opdef import Body, Stmt
    from tile_ir.target import TargetSpec
    from tile_ir.target.matrix import MatrixAtom
    from tile_ir.target.memory import CopyEngine

_NOTHING = Facts.of_dims(())

_WIDEST_ROW = 128
"""Bytes of the widest panel of a shared tile; wider rows are cut into such."""


_ADDED = frozenset({"f32"})
"""Types whose sums an engine forms exactly as threads do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fill:
    """A copy that can fill a slot of a channel."""

    name: str
    path: Path
    stmt: Copy
    buffer: Buffer
    first: int
    """Position, in the copy's body, of the first statement that reads the buffer."""
    last: int
    engines: tuple[CopyEngine, ...]
    loop: Path | None
    """The loop whose body it stands in, when that loop is `pipelined`."""
    held: str = ""
    """The fragment that may hold what it brings on the way; empty but in a pipelined loop where
    nothing copies while threads compute."""

    @property
    def body(self) -> Path:
        """The body that it stands in."""
        return self.path[:-1]

    @property
    def staged(self) -> bool:
        """Whether threads may bring it in two steps, through registers."""
        return bool(self.held)


@dataclass(frozen=True, slots=True, kw_only=True)
class Drain:
    """A copy to global memory, or a sum there, that an engine could carry out of shared memory.

    `buffer` is a fragment, whose elements would be put into shared memory first, or shared.
    """

    name: str
    path: Path
    stmt: Copy | AtomicTile
    buffer: Buffer
    target: Buffer
    first: int
    """Position, in the copy's body, of the first statement that touches a shared `buffer`; of the
    copy for a fragment."""
    carrier: str
    """The shared buffer that the engine takes: `buffer`, or one to be made."""
    engines: tuple[CopyEngine, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Product:
    """A matrix product and the atoms that could compute it, fastest first."""

    name: str
    path: Path
    stmt: Gemm
    shape: tuple[int, int, int]
    """m, n, k."""
    atoms: tuple[MatrixAtom, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Keep:
    """A product in a pipelined loop whose first operand is brought before the loop and used by
    nothing else, so that registers could hold it all along."""

    product: Product
    loop: Path
    buffer: Buffer
    name: str
    """The fragment that would hold it."""


@dataclass(frozen=True, slots=True)
class Use:
    """A statement that touches a buffer, by path."""

    path: Path
    writes: bool


@dataclass(frozen=True, slots=True)
class Survey:
    """The findings about one kernel."""

    names: Names
    fills: tuple[Fill, ...]
    products: tuple[Product, ...]
    loops: tuple[tuple[Path, For], ...]
    """The pipelined loops, outer before inner."""
    stable: frozenset[str]
    """Global buffers that the kernel never writes."""
    homes: Mapping[str, str]
    """One name for each memory that has several."""
    drains: tuple[Drain, ...]
    keeps: tuple[Keep, ...]
    boxes: frozenset[str] = frozenset()
    """The shared buffers that the kernel itself has one thread copy boxes of."""


class _Scan:
    def __init__(self, body: Body, buffers: Mapping[str, Buffer], spec: TargetSpec) -> None:
        self.buffers, self.spec = buffers, spec
        self.names = Names.of(body)
        self.accesses: dict[str, list[Use]] = {}
        self.viewed: set[str] = set()
        self.pending: list[tuple[Path, Copy, Path | None, bool]] = []
        self.sums: list[tuple[Path, AtomicTile, bool]] = []
        self.atomics = False
        """Whether threads update single elements, by which they may tell others of a sum."""
        self.products: list[Product] = []
        self.loops: list[tuple[Path, For]] = []
        self.stable = self._stable(body)
        self.visit(body, (), None, True)

    def _stable(self, body: Body) -> frozenset[str]:
        written = {
            e.buffer
            for s in walk(body)
            for e in effects(s)
            if e.access & (Access.WRITE | Access.UPDATE)
        }
        return frozenset(n for n, b in self.buffers.items() if b.scope == "global") - written

    def scalar(self, stmt: Stmt) -> bool:
        return all(x.buffer in self.stable for e in stmt_exprs(stmt) for x in loads(e))

    def visit(self, body: Body, at: Path, loop: Path | None, scalar: bool) -> None:
        """Collect the findings of a body; `loop` is its loop when pipelined, `scalar` whether its
        control is.
        """
        early = leaves_early(body)
        for i, stmt in enumerate(body):
            path = (*at, i)
            self._note(stmt, path)
            if isinstance(stmt, Copy) and not early:
                self.pending.append((path, stmt, loop, scalar and self.scalar(stmt)))
            if isinstance(stmt, AtomicTile) and not early:
                self.sums.append((path, stmt, scalar and self.scalar(stmt)))
            self.atomics |= any(isinstance(s, Atomic) for s in walk((stmt,)))
            if isinstance(stmt, Gemm):
                self.products.append(self.product(stmt, path))
            if isinstance(stmt, Parallel):
                continue
            inner_scalar = scalar and self.scalar(stmt) and not isinstance(stmt, While)
            piped = isinstance(stmt, For) and stmt.kind == "pipelined"
            if piped and not leaves_early(stmt.body):  # type: ignore[attr-defined]  # a For
                self.loops.append((path, stmt))  # type: ignore[arg-type]  # a For
            for at_body, inner in enumerate(bodies(stmt)):
                inside = path if piped else None
                self.visit(inner, (*path, at_body), inside, inner_scalar)

    def _note(self, stmt: Stmt, path: Path) -> None:
        if isinstance(stmt, View):
            self.viewed |= {stmt.source, stmt.buffer.name}
        inner = walk((stmt,)) if isinstance(stmt, Parallel) else (stmt,)
        for s in inner:
            for e in effects(s):
                writes = bool(e.access & (Access.WRITE | Access.UPDATE))
                self.accesses.setdefault(e.buffer, []).append(Use(path, writes))

    def keeps(self, fills: tuple[Fill, ...]) -> tuple[Keep, ...]:
        found = (self.keep(p, f) for p in self.products for f in fills)
        return tuple(k for k in found if k is not None)

    def keep(self, product: Product, fill: Fill) -> Keep | None:
        stmt, buffer = product.stmt, fill.buffer
        loop = next((p for p, _ in self.loops if product.path[: len(p)] == p), None)
        if loop is None or fill.loop is not None or fill.body != loop[:-1]:
            return None
        alone = all(u.path in (fill.path, product.path) for u in self.accesses[buffer.name])
        if stmt.a.buffer != buffer.name or not alone or buffer.rank != 2:
            return None
        if stmt.transpose_a or not _whole(stmt.a, buffer) or stmt.b.buffer == buffer.name:
            return None
        name = self._fresh(f"{buffer.name}_regs")
        return Keep(product=product, loop=loop, buffer=buffer, name=name)

    # -- copies

    def fills(self) -> tuple[Fill, ...]:
        found = (self.fill(*entry) for entry in self.pending)
        return tuple(f for f in found if f is not None)

    def fill(self, path: Path, stmt: Copy, loop: Path | None, scalar: bool) -> Fill | None:
        target, source = self.buffers[stmt.dst.buffer], self.buffers[stmt.src.buffer]
        if target.scope != "shared" or source.name not in self.stable:
            return None
        if not scalar or target.name in self.viewed or not _whole(stmt.dst, target):
            return None
        readers = self._readers(target.name, path)
        able = [e for e in self.spec.engines("global", "shared") if not e.lane_linear]
        engines = tuple(e for e in able if accepts(e, stmt, source, target))
        staged = loop is not None and not able and can_be_staged(stmt, source, target)
        if readers is None or not (engines or staged):
            return None
        return Fill(
            name=self.names[path],
            path=path,
            stmt=stmt,
            buffer=target,
            first=readers[0],
            last=readers[1],
            engines=engines,
            loop=loop,
            held=self._fresh(f"{target.name}_next") if staged else "",
        )

    def _readers(self, buffer: str, path: Path) -> tuple[int, int] | None:
        """The first and last position that reads a buffer which only the copy at `path` writes."""
        body, at = path[:-1], path[-1]
        positions = []
        for access in self.accesses[buffer]:
            if access.path == path:
                continue
            if access.writes or access.path[: len(body)] != body or access.path[len(body)] <= at:
                return None
            positions.append(access.path[len(body)])
        return (min(positions), max(positions)) if positions else None

    def drains(self) -> tuple[Drain, ...]:
        inside = tuple(path for path, _ in self.loops)
        found = (
            self.drain(path, stmt, scalar)
            for path, stmt, _, scalar in self.pending
            if not any(path[: len(p)] == p for p in inside)
        )
        every = (*(d for d in found if d is not None), *self.added())
        return tuple(sorted(every, key=lambda d: d.path))

    def added(self) -> Iterator[Drain]:
        """The sums that an engine could form in global memory."""
        for path, stmt, scalar in self.sums:
            target = self.buffers[stmt.dst.buffer]
            plain = stmt.kind == "add" and stmt.order == "relaxed" and not self.atomics
            if plain and target.dtype.name in _ADDED:
                found = self.drain(path, stmt, scalar)
                if found is not None and found.buffer.scope == "fragment":
                    yield found

    def drain(self, path: Path, stmt: Copy | AtomicTile, scalar: bool) -> Drain | None:
        source, target = self.buffers[stmt.src.buffer], self.buffers[stmt.dst.buffer]
        if target.scope != "global" or source.scope not in ("shared", "fragment") or not scalar:
            return None
        if not _whole(stmt.src, source) or any(u.path != path for u in self.accesses[target.name]):
            return None
        first = path[-1] if source.scope == "fragment" else self._written(source.name, path)
        able = self.spec.engines("shared", "global")
        kind = stmt.kind if isinstance(stmt, AtomicTile) else ""
        able = tuple(e for e in able if not kind or kind in e.reduce)
        engines = tuple(e for e in able if e.elect and takes(e, stmt, source, target))
        if first is None or not engines or source.name in self.viewed:
            return None
        return Drain(
            name=self.names[path],
            path=path,
            stmt=stmt,
            buffer=source,
            target=target,
            first=first,
            carrier=source.name
            if source.scope == "shared"
            else self._fresh(f"{target.name}_stage"),
            engines=engines,
        )

    def _fresh(self, name: str) -> str:
        while name in self.buffers:
            name += "_"
        return name

    def _written(self, buffer: str, path: Path) -> int | None:
        """The first position that touches a shared buffer, if it overwrites all of it and only the
        statements from there to `path` touch it.
        """
        body, at = path[:-1], path[-1]
        uses = [u.path for u in self.accesses[buffer]]
        if any(p[: len(body)] != body or p[len(body)] > at for p in uses):
            return None
        first = min(uses)
        whole = {p: s for p, s, _, _ in self.pending if len(p) == len(path)}.get(first)
        if whole is None or whole.dst.buffer != buffer:
            return None
        filled = self.buffers[whole.src.buffer].scope == "global"
        return None if filled or not _whole(whole.dst, self.buffers[buffer]) else first[-1]

    # -- products

    def product(self, stmt: Gemm, path: Path) -> Product:
        shape = product_shape(stmt)
        a, b, c = (self.buffers[r.buffer] for r in (stmt.a, stmt.b, stmt.c))
        atoms = self.spec.atoms(a.dtype.name, b.dtype.name, c.dtype.name)
        fits = tuple(x for x in atoms if _atom_fits(x, stmt, shape, a, b, c))
        return Product(name=self.names[path], path=path, stmt=stmt, shape=shape, atoms=fits)


def survey(body: Body, buffers: Mapping[str, Buffer], spec: TargetSpec) -> Survey:
    """Look over the body of a tile loop."""
    scan = _Scan(body, buffers, spec)
    if is_manual(body):  # who copies what, when, is the kernel's own business
        products = tuple(scan.products)
        boxes = _boxes(body, buffers)
        return Survey(scan.names, (), products, (), scan.stable, aliases(body), (), (), boxes)
    fills = scan.fills()
    return Survey(
        scan.names,
        fills,
        tuple(scan.products),
        tuple(scan.loops),
        scan.stable,
        aliases(body),
        scan.drains(),
        scan.keeps(fills),
    )


def _boxes(body: Body, buffers: Mapping[str, Buffer]) -> frozenset[str]:
    copies = (copy_of(s) for s in walk(body) if isinstance(s, Issue) and s.engine == BULK)
    named = {r.buffer for c in copies for r in (c.src, c.dst)}
    return frozenset(n for n in named if buffers[n].scope == "shared")


def free_scalars(body: Body, stable: frozenset[str]) -> dict[Var, Expr]:
    """The values of the scalars bound in a body that can be computed anew wherever they are used:
    from loop variables and memory that never changes.
    """
    bound = {s.var for s in body if isinstance(s, Let)}
    env: dict[Var, Expr] = {}
    for stmt in body:
        if not isinstance(stmt, Let) or any(x.buffer not in stable for x in loads(stmt.value)):
            continue
        value = substitute(env)(stmt.value)
        if not free_vars(value) & bound:
            env[stmt.var] = value
    return env


def extents(region: Region) -> tuple[int, ...]:
    """The constant extents of a region, leading unit axes dropped down to two axes; 0 for one that
    is not constant.
    """
    sizes = [int(r.extent.value) if isinstance(r.extent, Const) else 0 for r in region.ranges]
    while len(sizes) > 2 and sizes[0] == 1:
        del sizes[0]
    return tuple(sizes)


def product_shape(stmt: Gemm) -> tuple[int, int, int]:
    """m, n, k of a product; 0 for an extent that is not constant."""
    c, a = extents(stmt.c), extents(stmt.a)
    return c[-2], c[-1], a[-2] if stmt.transpose_a else a[-1]


def _whole(region: Region, buffer: Buffer) -> bool:
    return all(
        isinstance(r.start, Const) and r.start.value == 0 and r.extent is n
        for r, n in zip(region.ranges, buffer.shape, strict=True)
    )


def can_be_staged(stmt: Copy, source: Buffer, target: Buffer) -> bool:
    """Whether registers can hold what a copy brings: whole bytes, of as many rows and columns as
    the shared tile has."""
    bits = (source.dtype.storage_bits, target.dtype.storage_bits)
    same = [n for n in extents(stmt.src) if n != 1] == [n for n in extents(stmt.dst) if n != 1]
    return same and all(extents(stmt.dst)) and not any(n % 8 for n in bits)


def accepts(engine: CopyEngine, stmt: Copy, source: Buffer, target: Buffer) -> bool:
    """Whether an engine can carry out a copy, as far as constants tell; alignment of pointers and
    strides is a fact that the host checks at launch.
    """
    if source.dtype is not target.dtype or target.dtype.storage_bits % 8:
        return False
    safe = source.safe_value
    if stmt.clip and not (engine.fill and (safe is None or _is_zero(safe))):
        return False
    sizes = extents(stmt.src)
    row = sizes[-1] * target.dtype.storage_bits // 8
    if not all(sizes) or row % engine.granularity or not _aligned(engine, source):
        return False
    if engine.elect and not _starts_aligned(engine, stmt.src, source):
        return False
    if engine.bytes and not any(row % n == 0 for n in engine.bytes):
        return False
    if not _slots_aligned(engine, prod(sizes[:-1]), row):
        return False
    return not engine.elect or source.rank <= engine.max_rank


def takes(engine: CopyEngine, stmt: Copy | AtomicTile, source: Buffer, target: Buffer) -> bool:
    """Whether an engine can carry a copy out of shared memory, where `source` has the elements of
    `target` already or gets them on its way there.
    """
    sizes = [n for n in extents(stmt.dst) if n != 1]
    if source.scope == "shared" and source.dtype is not target.dtype:
        return False
    if source.rank != 2 or len(sizes) != 2 or tuple(sizes) != extents(stmt.src):
        return False
    row = sizes[-1] * target.dtype.storage_bits
    whole = row % (8 * engine.granularity) == 0 and not target.dtype.storage_bits % 8
    fits = target.rank <= engine.max_rank and (engine.fill or not stmt.clip)
    fits = fits and _slots_aligned(engine, sizes[0], row // 8)
    return whole and fits and _aligned(engine, target) and _starts_aligned(engine, stmt.dst, target)


def _slots_aligned(engine: CopyEngine, rows: int, row_bytes: int) -> bool:
    """Whether slots of so many rows, and panels of them a swizzled row wide, begin where a box
    may."""
    return rows * gcd(row_bytes, _WIDEST_ROW) % engine.shared_alignment == 0


def _aligned(engine: CopyEngine, buffer: Buffer) -> bool:
    """Whether no constant stride of a global buffer breaks what the engine demands of addresses."""
    strides = buffer.strides if buffer.strides is not None else _row_major(buffer)
    *outer, inner = strides
    if isinstance(inner, Const) and inner.value != 1:
        return False
    size = buffer.dtype.storage_bits // 8
    return all(int(s.value) * size % engine.alignment == 0 for s in outer if isinstance(s, Const))


def _starts_aligned(engine: CopyEngine, region: Region, buffer: Buffer) -> bool:
    """Whether a box begins, along its contiguous axis, where the engine may: a start elsewhere
    stops the device, whatever the alignment of addresses (measured on hardware)."""
    unit = max(1, engine.granularity * 8 // buffer.dtype.storage_bits)
    return _NOTHING.linear(region.ranges[-1].start).divisor() % unit == 0


def _row_major(buffer: Buffer) -> tuple[Expr, ...]:
    """The strides of a contiguous buffer."""
    out: list[Expr] = [b.const(1)]
    for extent in reversed(buffer.shape[1:]):
        out.append(b.mul(out[-1], extent))
    return tuple(reversed(out))


def _is_zero(e: object) -> bool:
    return isinstance(e, Const) and e.value == 0


def _atom_fits(
    atom: MatrixAtom,
    stmt: Gemm,
    shape: tuple[int, int, int],
    a: Buffer,
    b: Buffer,
    c: Buffer,
) -> bool:
    m, n, k = shape
    if not all(shape) or m % atom.m or n % (atom.n_step or atom.n) or k % atom.k:
        return False
    if c.scope != "fragment" or atom.sparse:
        return False
    if atom.engine == "sync":
        return a.scope in ("shared", "fragment") and b.scope in ("shared", "fragment")
    pairs = ((atom.a, a, stmt.transpose_a), (atom.b, b, not stmt.transpose_b))
    for operand, buffer, mn_major in pairs:
        if _HOME.get(buffer.scope) not in operand.homes:
            return False
        if buffer.scope == "shared" and ("mn" if mn_major else "k") not in operand.majors:
            return False
    return not (a.scope == "fragment" and stmt.transpose_a)


_HOME = {"shared": "shared", "fragment": "register"}


def threads_of(threads: tuple[int, ...]) -> int:
    """How many threads compute."""
    return prod(threads)
