"""What a kernel offers to the planner: copies that an engine could bring, products that an engine
could compute.

A copy can go through a channel when it alone fills its shared buffer, everything that reads the
buffer follows it in the same body, and nothing ever writes its source. What the engines of the
target demand of it is checked here once.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

from tile_ir.expr import Const, Var, free_vars, loads
from tile_ir.opdef import Access, bodies
from tile_ir.ops import BULK, Atomic, AtomicTile, Copy, For, Gemm, Issue, Let, Parallel, View, While
from tile_ir.rewrite import effects, stmt_exprs, substitute, walk
from tile_passes.analysis.dependence import aliases, leaves_early
from tile_passes.analysis.manual import copy_of, is_manual
from tile_passes.plan.keys import Names, Path
from tile_passes.plan.refusals import accepts, extents, takes

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tile_ir.core import Buffer, Region
    from tile_ir.expr import Expr
    from tile_ir.opdef import Body, Stmt
    from tile_ir.target import TargetSpec
    from tile_ir.target.matrix import MatrixAtom
    from tile_ir.target.memory import CopyEngine

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
    viewed: frozenset[str] = frozenset()
    """The buffers whose storage has several names, and these."""


class _Scan:
    def __init__(self, body: Body, buffers: Mapping[str, Buffer], spec: TargetSpec) -> None:
        self.buffers, self.spec = buffers, spec
        self.names = Names.of(body)
        self.accesses: dict[str, list[Use]] = {}
        views = [s for s in walk(body) if isinstance(s, View)]
        self.viewed = frozenset(n for s in views for n in (s.source, s.buffer.name))
        self.pending: list[tuple[Path, Copy, Path | None, bool]] = []
        self.sums: list[tuple[Path, AtomicTile, bool]] = []
        self.atomics = False
        """Whether threads update single elements, by which they may tell others of a sum."""
        self.products: list[Product] = []
        self.loops: list[tuple[Path, For]] = []
        self.stable = self._stable(body)
        self.found_out: set[Var] = set()
        """Variables whose values are read from memory that the kernel writes."""
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
        """Whether a thread that runs ahead knows what a statement depends on."""
        return all(
            all(x.buffer in self.stable for x in loads(e)) and not free_vars(e) & self.found_out
            for e in stmt_exprs(stmt)
        )

    def visit(self, body: Body, at: Path, loop: Path | None, scalar: bool) -> None:
        """Collect the findings of a body; `loop` is its loop when pipelined, `scalar` whether its
        control is.
        """
        early = leaves_early(body)
        for i, stmt in enumerate(body):
            path = (*at, i)
            self._note(stmt, path)
            if isinstance(stmt, Let) and not self.scalar(stmt):
                self.found_out.add(stmt.var)
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

    def obstacle(self, stmt: Copy | AtomicTile) -> str:
        """What keeps a copy from being one that an engine could carry."""
        known = [(p, s, scalar) for p, s, _, scalar in self.pending] + list(self.sums)
        found = next(((p, scalar) for p, s, scalar in known if s is stmt), None)
        if found is None:
            return "the body that it stands in may be left early"
        path, scalar = found
        if not scalar:
            return "where it happens depends on values that the kernel computes"
        source, target = self.buffers[stmt.src.buffer], self.buffers[stmt.dst.buffer]
        if target.scope == "shared" and source.scope == "global":
            return self._no_fill(path, stmt, source, target)
        if target.scope == "global" and source.scope in ("shared", "fragment"):
            return self._no_drain(path, stmt, source, target)
        other = target if source.scope == "global" else source
        return f"engines go between global and shared memory, and {other.name} is {other.scope}"

    def _no_fill(self, path: Path, stmt: Copy | AtomicTile, source: Buffer, target: Buffer) -> str:
        if source.name not in self.stable:
            return f"{source.name} is written in the kernel"
        if target.name in self.viewed:
            return f"{target.name} has a view"
        if not _whole(stmt.dst, target):
            return f"it fills a part of {target.name}"
        if self._readers(target.name, path) is None:
            return f"{target.name} is not read behind it alone, or others write it"
        return ""

    def _no_drain(self, path: Path, stmt: Copy | AtomicTile, source: Buffer, target: Buffer) -> str:
        if any(path[: len(p)] == p for p, _ in self.loops):
            return "it stands in a pipelined loop"
        if not _whole(stmt.src, source):
            return f"it takes a part of {source.name}"
        if any(u.path != path for u in self.accesses[target.name]):
            return f"the kernel uses {target.name} elsewhere"
        if source.name in self.viewed:
            return f"{source.name} has a view"
        if source.scope == "shared" and self._written(source.name, path) is None:
            return f"{source.name} is not written as a whole before it and used by nothing else"
        if isinstance(stmt, AtomicTile):
            return self._no_sum(stmt, source, target)
        return ""

    def _no_sum(self, stmt: AtomicTile, source: Buffer, target: Buffer) -> str:
        if stmt.kind != "add" or stmt.order != "relaxed":
            return f"engines form relaxed sums, not {stmt.order} {stmt.kind}"
        if self.atomics:
            return "other atomics may tell of it"
        if target.dtype.name not in _ADDED:
            return f"engines would round sums of {target.dtype} otherwise"
        return "" if source.scope == "fragment" else f"{source.name} is in shared memory"

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
        if any(x.scope == "shared" and x.name in self.viewed for x in (a, b)):
            # Asynchronous atoms read tiles in an order of their own, a view counts rows.
            fits = tuple(x for x in fits if x.engine != "async")
        return Product(name=self.names[path], path=path, stmt=stmt, shape=shape, atoms=fits)


def survey(body: Body, buffers: Mapping[str, Buffer], spec: TargetSpec) -> Survey:
    """Look over the body of a tile loop."""
    scan = _Scan(body, buffers, spec)
    if is_manual(body):  # who copies what, when, is the kernel's own business
        products = tuple(scan.products)
        boxes = _boxes(body, buffers)
        homes = aliases(body)
        return Survey(scan.names, (), products, (), scan.stable, homes, (), (), boxes, scan.viewed)
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
        viewed=scan.viewed,
    )


def obstacle(
    stmt: Copy | AtomicTile, body: Body, buffers: Mapping[str, Buffer], spec: TargetSpec
) -> str:
    """Why no engine is asked whether it takes a copy of a tile body; empty where they are asked."""
    return _Scan(body, buffers, spec).obstacle(stmt)


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
