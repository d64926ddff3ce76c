"""What one statement asks of a core: cycles of the matrix units, the vector units and the shared
memory, bytes of global memory, all for a whole block.

Sources: rates and atoms of the target's description. Bank conflicts are counted from the layouts
of both sides (`tile_ir.layout.access_cycles`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod
from typing import TYPE_CHECKING

from tile_ir.core import Region
from tile_ir.diag import InternalError, TileError
from tile_ir.expr import Const, Load, free_vars
from tile_ir.layout import BankModel, Digit, FragmentLayout, access_cycles, vector_elements
from tile_ir.layout import compose as composed
from tile_ir.opdef import Access, bodies
from tile_ir.ops import Atomic, AtomicTile, Copy, Gemm, Parallel, Store
from tile_ir.rewrite import effects, walk
from tile_passes.model.arithmetic import parallel_cycles
from tile_passes.plan.cost import vector_cycles
from tile_passes.plan.survey import product_shape

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tile_ir.core import Buffer
    from tile_ir.expr import Expr, Var
    from tile_ir.opdef import Stmt
    from tile_ir.ops import Reduce
    from tile_ir.target import TargetSpec
    from tile_ir.target.matrix import MatrixAtom

__all__ = ["Costs", "GlobalAccess", "Work"]

_SHARED_BYTES = 128.0
"""Bytes a cycle of a shared memory that is not described."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """Cycles of each unit of a core, bytes to and from global memory, and buffers read and
    written.

    `ideal_shared` is `shared` without bank conflicts; `flops` counts multiplications and additions
    of products.
    """

    matrix: float = 0.0
    vector: float = 0.0
    shared: float = 0.0
    ideal_shared: float = 0.0
    loads: float = 0.0
    stores: float = 0.0
    flops: float = 0.0
    is_async: bool = False
    reads: frozenset[str] = frozenset()
    writes: frozenset[str] = frozenset()
    filled: str = ""
    """The buffer on chip that a load from global memory fills."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GlobalAccess:
    """Bytes of a global array that a statement reads or writes, from `starts` on."""

    array: str
    size: float
    starts: tuple[Expr, ...]
    reads: bool
    writes: bool


@dataclass(slots=True)
class Costs:
    """Costs of the statements of one kernel, each computed once. `atoms`: what each product of the
    kernel runs on, by destination; `warps` that compute."""

    spec: TargetSpec
    buffers: Mapping[str, Buffer]
    atoms: Mapping[str, MatrixAtom]
    warps: int
    _known: dict[int, Work] = field(default_factory=dict)
    _kept: list[Stmt] = field(default_factory=list)

    def of(self, stmt: Stmt) -> Work:
        """The work of a statement with all that is nested in it."""
        found = self._known.get(id(stmt))
        if found is None:
            found = self._known[id(stmt)] = self._count(stmt)
            self._kept.append(stmt)  # an id is one statement's for as long as that lives
        return found

    def globals_of(self, stmt: Stmt) -> tuple[GlobalAccess, ...]:
        """What a statement reads and writes in global memory."""
        return tuple(_global_accesses(stmt, self.buffers, self.spec, {}))

    def reduced_by(self, stmt: Reduce) -> tuple[int, int]:
        """How many lanes of a warp, and how many warps, hold parts of one result."""
        layout = self.buffers[stmt.src.buffer].layout if stmt.src.buffer in self.buffers else None
        if not isinstance(layout, FragmentLayout) or stmt.parts:
            return 1, 1
        axis = layout.outputs[stmt.dim]
        lanes = warps = place = 1
        for digit in layout.thread:
            inside = place < self.spec.warp_width
            if digit.axis == axis:
                lanes, warps = (
                    lanes * (digit.extent if inside else 1),
                    warps * (1 if inside else digit.extent),
                )
            place *= digit.extent
        return lanes, warps

    def scope(self, name: str) -> str:
        """Where a buffer lies."""
        return self.buffers[name].scope if name in self.buffers else "global"

    def _count(self, stmt: Stmt) -> Work:
        reads, writes = _touched(stmt)
        if isinstance(stmt, Gemm):
            return self._product(stmt, reads, writes)
        if isinstance(stmt, Copy):
            return self._copy(stmt, reads, writes)
        found = self.globals_of(stmt)
        loads = sum(g.size for g in found if g.reads)
        stores = sum(g.size for g in found if g.writes)
        return Work(
            vector=self._arithmetic(stmt),
            shared=(shared := self._shared_elements(stmt)),
            ideal_shared=shared,
            loads=loads,
            stores=stores,
            reads=reads,
            writes=writes,
        )

    def _arithmetic(self, stmt: Stmt) -> float:
        if isinstance(stmt, Parallel):
            return parallel_cycles(stmt, self.spec)
        return vector_cycles(stmt, self.spec)

    # -- products

    def _product(self, stmt: Gemm, reads: frozenset[str], writes: frozenset[str]) -> Work:
        m, n, k = product_shape(stmt)
        flops = 2.0 * m * n * k
        atom = self.atoms.get(stmt.c.buffer)
        if atom is None:
            vector = flops / max(self.spec.rates.vector_flops, 1.0)
            return Work(vector=vector, flops=flops, reads=reads, writes=writes)
        is_async = atom.engine == "async"
        shared = self._operands(stmt, atom, (m, n, k), is_async=is_async) / self._shared_rate()
        matrix = flops / max(atom.rate, 1.0)
        return Work(
            matrix=matrix,
            shared=shared,
            ideal_shared=shared,
            flops=flops,
            is_async=is_async,
            reads=reads,
            writes=writes,
        )

    def _operands(
        self, stmt: Gemm, atom: MatrixAtom, shape: tuple[int, int, int], *, is_async: bool
    ) -> float:
        """Bytes of operands that are read from shared memory: by instruction where the unit reads
        them, by warp where warps do."""
        m, n, k = shape
        rows, columns = self._units(stmt, atom, m, n)
        if is_async:
            again = columns * max(1, -(-n // (columns * atom.n))), max(1, -(-m // atom.m))
        else:
            again = columns, rows
        sides = ((stmt.a, m * k, again[0]), (stmt.b, n * k, again[1]))
        return sum(
            count * times * self._bits(region) / 8
            for region, count, times in sides
            if self.scope(region.buffer) == "shared"
        )

    def _units(self, stmt: Gemm, atom: MatrixAtom, m: int, n: int) -> tuple[int, int]:
        """How many units of threads stand along the rows and the columns of the result: as its
        layout has them, else in the rectangle that reads least."""
        buffer = self.buffers.get(stmt.c.buffer)
        layout = buffer.layout if buffer is not None else None
        if isinstance(layout, FragmentLayout) and len(layout.outputs) > 1:
            found = dict.fromkeys(layout.outputs, 1)
            place = 1
            for digit in layout.thread:
                if place >= atom.threads and digit.axis is not None:
                    found[digit.axis] *= digit.extent
                place *= digit.extent
            return found[layout.outputs[-2]], found[layout.outputs[-1]]
        units = max(1, self.warps * self.spec.warp_width // max(atom.threads, 1))
        along = [a for a in range(1, units + 1) if units % a == 0 and a * atom.m <= max(m, atom.m)]
        rows = min(along, key=lambda a: m * (units // a) + n * a)
        return rows, max(1, units // rows)

    def _bits(self, region: Region) -> int:
        return self.buffers[region.buffer].dtype.storage_bits

    def _shared_rate(self) -> float:
        return self.spec.rates.shared_bytes or _SHARED_BYTES

    # -- copies

    def _copy(self, stmt: Copy, reads: frozenset[str], writes: frozenset[str]) -> Work:
        source, target = self.scope(stmt.src.buffer), self.scope(stmt.dst.buffer)
        size = region_bytes
        loads = size(stmt.src, self.buffers, self.spec) if source == "global" else 0.0
        stores = size(stmt.dst, self.buffers, self.spec) if target == "global" else 0.0
        shared, ideal = self._moved(stmt)
        lanes = max(self.spec.rates.vector_flops / 2, 1.0)
        elements = prod(_constant(r.extent) for r in stmt.dst.ranges)
        plain = self._bits(stmt.src) == self._bits(stmt.dst)
        wide = max(1, 128 // self._bits(stmt.dst)) if plain else 2
        return Work(
            vector=elements / wide / lanes,
            shared=shared,
            ideal_shared=ideal,
            loads=loads,
            stores=stores,
            reads=reads,
            writes=writes,
            filled=stmt.dst.buffer if loads else "",
        )

    def _moved(self, stmt: Copy) -> tuple[float, float]:
        """Cycles of the shared memory for what a copy moves there or from there, with and without
        conflicts."""
        total = ideal = 0.0
        for near, far in ((stmt.src, stmt.dst), (stmt.dst, stmt.src)):
            if self.scope(near.buffer) == "shared":
                plain = region_bytes(near, self.buffers, None) / self._shared_rate()
                total += plain * self._conflicts(near, far)
                ideal += plain
        return total, ideal

    def _conflicts(self, near: Region, far: Region) -> float:
        """How many times the cycles without conflicts an access of threads takes; 1 where layouts
        do not say."""
        memory = self.buffers[near.buffer].layout
        fragment = self.buffers[far.buffer].layout if far.buffer in self.buffers else None
        scope = self.spec.scopes.get("shared")
        if memory is None or not isinstance(fragment, FragmentLayout) or scope is None:
            return 1.0
        if not scope.banks or memory.output_names == ():
            return 1.0
        model = BankModel(banks=scope.banks, bank_bytes=scope.bank_bytes)
        bits = self._bits(near)
        try:
            fragment = _part(fragment, [_constant(r.extent) for r in far.ranges])
            access = composed(memory, fragment)
            vector = vector_elements(access, bits, max(1, 128 // bits))
            found = access_cycles(
                memory,
                fragment,
                element_bits=bits,
                vector=vector,
                warp_width=self.spec.warp_width,
                model=model,
            )
        except (TileError, InternalError, KeyError, ValueError):
            return 1.0  # tiles of other shapes or axes of other names: taken to have none
        return found.cycles / found.ideal if found.ideal else 1.0

    # -- elements

    def _shared_elements(self, stmt: Stmt) -> float:
        """Cycles of the shared memory for single accesses."""
        total = 0.0
        for inner, times in _repeated(stmt, 1):
            if isinstance(inner, (Store, Atomic, AtomicTile)):
                for e in effects(inner):
                    if self.scope(e.buffer) == "shared" and isinstance(e.region, Load):
                        total += times * self.buffers[e.buffer].dtype.storage_bits / 8
        return total / self._shared_rate()


def _repeated(stmt: Stmt, times: int) -> list[tuple[Stmt, int]]:
    """The statement and those within it, with how often each is carried out."""
    if isinstance(stmt, Parallel):
        times *= prod(_constant(e) for e in stmt.extents)
    inner = [found for body in bodies(stmt) for s in body for found in _repeated(s, times)]
    return [(stmt, times), *inner]


def _global_accesses(
    stmt: Stmt, buffers: Mapping[str, Buffer], spec: TargetSpec, spread: Mapping[Var, int]
) -> Iterator[GlobalAccess]:
    """Accesses of a statement and of what is nested in it; `spread`: variables of the parallel
    loops around it, with their extents. An element that many iterations read counts once."""
    if isinstance(stmt, Parallel):
        spread = {**spread, **dict(zip(stmt.vars, map(_constant, stmt.extents), strict=True))}
    for e in effects(stmt):
        buffer = buffers.get(e.buffer)
        if buffer is None or buffer.scope != "global":
            continue
        if isinstance(e.region, Region):
            starts = tuple(r.start for r in e.region.ranges)
            size = region_bytes(e.region, buffers, spec)
        else:
            starts = e.region.indices
            size = e.region.dtype.lanes * buffer.dtype.storage_bits / 8
        free = frozenset().union(*map(free_vars, starts)) if starts else frozenset()
        size *= prod(n for var, n in spread.items() if var in free)
        yield GlobalAccess(
            array=buffer.name,
            size=size,
            starts=starts,
            reads=bool(e.access & (Access.READ | Access.UPDATE)),
            writes=bool(e.access & (Access.WRITE | Access.UPDATE)),
        )
    for body in bodies(stmt):
        for inner in body:
            yield from _global_accesses(inner, buffers, spec, spread)


def _part(fragment: FragmentLayout, extents: list[int]) -> FragmentLayout:
    """The layout of a box of a fragment: of what each thread holds, the values that are in it."""
    room = dict(zip(fragment.outputs, extents, strict=True))
    value = []
    for digit in fragment.value:
        if digit.axis is None or digit.stride * digit.extent <= room[digit.axis]:
            value.append(digit)
        elif digit.stride < room[digit.axis]:
            value.append(Digit(room[digit.axis] // digit.stride, digit.axis, digit.stride))
    return FragmentLayout(thread=fragment.thread, value=tuple(value), outputs=fragment.outputs)


def _touched(stmt: Stmt) -> tuple[frozenset[str], frozenset[str]]:
    found = [e for s in walk((stmt,)) for e in effects(s)]
    reads = {e.buffer for e in found if e.access & (Access.READ | Access.UPDATE)}
    writes = {e.buffer for e in found if e.access & (Access.WRITE | Access.UPDATE)}
    return frozenset(reads), frozenset(writes)


def region_bytes(region: Region, buffers: Mapping[str, Buffer], spec: TargetSpec | None) -> float:
    """Bytes of a box; of global memory whole sectors, as a description has them, of each row."""
    buffer = buffers[region.buffer]
    extents = [_constant(r.extent) for r in region.ranges]
    row = (extents[-1] if extents else 1) * buffer.dtype.storage_bits / 8
    scope = spec.scopes.get("global") if spec is not None else None
    if scope is not None and scope.line_bytes and len(extents) > 1:
        rows = prod(extents[:-1])
        one_piece = buffer.strides is None and _whole_rows(region, buffer)
        return row * rows if one_piece else max(row, float(scope.line_bytes)) * rows
    return prod(extents) * buffer.dtype.storage_bits / 8


def _whole_rows(region: Region, buffer: Buffer) -> bool:
    return region.ranges[-1].extent is buffer.shape[-1]


def _constant(e: object) -> int:
    return int(e.value) if isinstance(e, Const) else 1
