"""The operands of a matrix kernel: which layout it wants, and whether a buffer can have it."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tile_ir import build as b
from tile_ir.core import Buffer, Region
from tile_ir.expr import Const
from tile_ir.layout import panels, row_major
from tile_ir.opdef import Body, Stmt, opdef
from tile_ir.ops import Alloc, Copy, Gemm, View
from tile_ir.rewrite import effects, walk
from tile_ir.types import DType, dtype

if TYPE_CHECKING:
    from tile_cpu.intrinsics.steps import Step
    from tile_ir.layout import Layout
    from tile_ir.target import MatrixAtom

__all__ = ["Operand", "Use", "padded_rows", "storage_type", "uses_of"]

STORED = {"f32": "f32", "f64": "f64", "i32": "i32", "pair": "bf16", "words": "i16"}
"""Unit -> type of the elements it is made of; other units keep the operand's own type."""
CONFLICT_BYTES = 1024
"""Rows whose length is a multiple of this meet in few cache sets, when a kernel walks down several
at once.
"""


@dataclass(frozen=True, slots=True)
class Use:
    """One statement that touches a buffer, and as what: `a`, `b`, `c` of a product, `to` or `from`
    of a copy, `other`.
    """

    stmt: Stmt
    role: str


def uses_of(body: Body) -> dict[str, list[Use]]:
    """Who touches each buffer."""
    found: dict[str, list[Use]] = {}
    for s in walk(body):
        if isinstance(s, Alloc):
            continue
        if isinstance(s, View):
            found.setdefault(s.source, []).append(Use(s, "other"))
            continue
        for name, role in _roles(s):
            found.setdefault(name, []).append(Use(s, role))
    return found


def _roles(s: Stmt) -> list[tuple[str, str]]:
    named = [(f.name, getattr(s, f.name)) for f in opdef(s).of_kind("operand")]
    table = {"a": "a", "b": "b", "c": "c"} if isinstance(s, Gemm) else {}
    table = {"src": "from", "dst": "to"} if isinstance(s, Copy) else table
    regions = [(v.buffer, table.get(n, "other")) for n, v in named if isinstance(v, Region)]
    known = {name for name, _ in regions}
    return [*regions, *((e.buffer, "other") for e in effects(s) if e.buffer not in known)]


def storage_type(step: Step, operand: DType, role: str) -> DType:
    """The element type in which a kernel's operand is stored."""
    unit = step.a_unit if role == "a" else step.b_unit
    return dtype(STORED.get(unit, operand.name))


def padded_rows(shape: tuple[int, int], element: DType, pad_bytes: int) -> Layout | None:
    """A row-major layout with padded rows where their length would make them compete for cache
    sets, else None.
    """
    row_bytes = shape[1] * element.storage_bits // 8
    if row_bytes % CONFLICT_BYTES:
        return None
    return row_major(shape, pad=pad_bytes * 8 // element.storage_bits)


@dataclass(frozen=True, slots=True, kw_only=True)
class Operand:
    """A or B of one product, and the kernel that reads it."""

    role: str
    region: Region
    buffer: Buffer
    transposed: bool
    atom: MatrixAtom
    step: Step
    vector_bytes: int

    @property
    def stored(self) -> DType:
        """The element type in which the kernel wants it."""
        wanted = self.atom.a.dtype if self.role == "a" else self.atom.b.dtype
        return storage_type(self.step, dtype(wanted), self.role)

    @property
    def is_plain(self) -> bool:
        """Whether the kernel reads single elements of a row-major tile: A of kernels without units
        of several.
        """
        return self.role == "a" and self.step.group == 1

    @property
    def shape(self) -> tuple[int, int]:
        """Extents of the region's last two axes."""
        rows, cols = (r.extent for r in self.region.ranges[-2:])
        assert isinstance(rows, Const)
        assert isinstance(cols, Const)
        return int(rows.value), int(cols.value)

    def readable_as_is(self) -> bool:
        """Whether the kernel can read the buffer in the form it has."""
        if self.buffer.dtype is not self.stored or self.role != "a":
            return False
        return self.step.group == 1 or self._rows_of_units()

    def _rows_of_units(self) -> bool:
        """Whether rows of elements are rows of units, and far enough apart in the cache."""
        last, width = self.region.ranges[-1].start, self.buffer.shape[-1]
        if self.transposed or self.step.bias or self.buffer.layout is not None:
            return False
        if not (isinstance(last, Const) and isinstance(width, Const)):
            return False
        sizes = (int(last.value), int(width.value), self.shape[1])
        row_bytes = sizes[1] * self.stored.storage_bits // 8
        return not any(n % self.step.group for n in sizes) and row_bytes % CONFLICT_BYTES != 0

    def fits_in_place(self, uses: list[Use], buffers: dict[str, Buffer]) -> bool:
        """Whether the buffer can take the kernel's layout: it is only copied in from memory and
        multiplied.
        """
        if self.buffer.scope == "global" or self.region != b.whole(self.buffer):
            return False
        if self.buffer.rank != 2:
            return False
        return all(self._allows(u, buffers) for u in uses) and any(u.role == "to" for u in uses)

    def _allows(self, use: Use, buffers: dict[str, Buffer]) -> bool:
        s = use.stmt
        if use.role == self.role and isinstance(s, Gemm):
            mine = getattr(s, self.role) == self.region
            other = s.transpose_a if self.role == "a" else s.transpose_b
            return mine and other == self.transposed
        return use.role == "to" and isinstance(s, Copy) and self.comes_from_memory(s, buffers)

    def comes_from_memory(self, s: Copy, buffers: dict[str, Buffer]) -> bool:
        """Whether a packing function can do what a copy to the whole operand does."""
        src = buffers[s.src.buffer]
        rows = src.strides is None or (
            isinstance(src.strides[-1], Const) and src.strides[-1].value == 1
        )
        last = s.src.ranges[-1].extent
        return (
            src.scope == "global"
            and src.dtype is self.buffer.dtype
            and rows
            and s.dst == self.region
            and not (isinstance(last, Const) and last.value == 1)
            and src.dtype.storage_bits >= 8
        )

    def packed_buffer(self, name: str) -> Buffer:
        """A buffer in the kernel's layout for this operand."""
        shape = self.shape
        return dataclasses.replace(
            self.buffer,
            name=name,
            dtype=self.stored,
            scope="shared",
            shape=tuple(b.const(n) for n in shape),
            layout=self._layout(shape),
        )

    def bytes_buffer(self, name: str) -> Buffer:
        """A plain buffer of the type that the kernel takes: packing functions read whole bytes."""
        wanted = self.atom.a.dtype if self.role == "a" else self.atom.b.dtype
        extents = tuple(b.const(n) for n in self.shape)
        return Buffer(name=name, dtype=dtype(wanted), shape=extents, scope="shared")

    def _layout(self, shape: tuple[int, int]) -> Layout | None:
        group = self.step.group
        if self.is_plain:
            return padded_rows(shape, self.stored, self.vector_bytes)
        if self.role == "b":
            axes = ("n", "k") if self.transposed else ("k", "n")
            return panels(shape, axes, along="n", width=self.atom.n, interleave=group)
        if self.transposed:
            return panels(
                shape, ("k", "m"), along="m", width=_up(shape[1], self._lanes), interleave=group
            )
        units = -(-shape[1] // group) * group
        return row_major(
            shape, pad=units - shape[1] + self.vector_bytes * 8 // self.stored.storage_bits
        )

    @property
    def _lanes(self) -> int:
        """Units in a vector: those of several elements have 4 bytes."""
        return self.vector_bytes // 4


def _up(n: int, to: int) -> int:
    return -(-n // to) * to
