"""Matrix kernels and packing in C: calls of the micro-kernels, and their texts as far as they are
called.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tile_cpu.ahead import Ahead, blocks_ahead
from tile_cpu.intrinsics.atoms import atom_needs, atom_source
from tile_cpu.intrinsics.steps import step_of
from tile_cpu.intrinsics.tile_units import TILE_ROWS
from tile_cpu.packing import Packing, packed_operands
from tile_ir import build as b
from tile_ir.diag import InternalError
from tile_ir.expr import Const, Expr
from tile_ir.layout import TileLayout
from tile_ir.ops import Atom, Copy
from tile_ir.rewrite import declared, walk
from tile_passes.emit.addresses import element_strides
from tile_passes.lower.context import is_unit

if TYPE_CHECKING:
    from tile_cpu.intrinsics.steps import Step
    from tile_ir.core import Buffer, Function, Region
    from tile_ir.opdef import Stmt
    from tile_ir.ops import Kernel
    from tile_ir.target import MatrixAtom, TargetSpec
    from tile_passes.emit import StmtPrinter
    from tile_passes.emit.cfamily import Rule

__all__ = ["MatrixPrinter"]


@dataclass(slots=True)
class MatrixPrinter:
    """Prints atoms and packing copies of one function, and remembers which kernels they call."""

    spec: TargetSpec
    packed: dict[str, Packing]
    ahead: dict[int, Ahead] = field(default_factory=dict)
    """Identity of an atom -> the block that its A takes next."""
    kernels: dict[str, str] = field(default_factory=dict)
    """Name of a micro-kernel -> its text."""
    needs: set[str] = field(default_factory=set)

    @staticmethod
    def of(fn: Function, spec: TargetSpec) -> MatrixPrinter:
        """The printer for a function."""
        packed = packed_operands(fn.body, spec)
        return MatrixPrinter(spec, packed, blocks_ahead(fn.body, packed, declared(fn)))

    def rules(self) -> dict[type[Stmt], Rule]:
        """The rules to add to those of the other statements."""
        return {Atom: self.atom, Copy: self.pack}

    def opening(self, kernel: Kernel) -> tuple[str, ...]:
        """What a job begins with: registers of tiles get their shape, and are left when the job
        returns, wherever that is."""
        atoms = (self.spec.matrix[s.name] for s in walk(kernel.body) if isinstance(s, Atom))
        if not any(step_of(atom, self.spec.features).instruction for atom in atoms):
            return ()
        leave = "__attribute__((cleanup(tile_amx_release)))"
        return (f"int32_t matrix_rows {leave} = tile_amx_rows({TILE_ROWS});",)

    def element_type(self, buffer: Buffer) -> str | None:
        """The C type of the units of a packed buffer; None for other buffers."""
        packing = self.packed.get(buffer.name)
        return None if packing is None else f"{packing.unit}_t"

    # -- packing

    def pack(self, p: StmtPrinter, s: Stmt) -> None:
        """One call that copies a block into the kernel's layout."""
        assert isinstance(s, Copy)
        packing = self.packed.get(s.dst.buffer)
        if packing is None:
            raise InternalError(
                "E9001", f"a copy to {s.dst.buffer} reached the emitter", span=s.span
            )
        src, dst = p.exprs.buffers[s.src.buffer], p.exprs.buffers[s.dst.buffer]
        rows, cols = (r.extent for r in s.dst.ranges[-2:])
        ld = _row_stride(s, src)
        source = (
            f"&{p.exprs.name(src.name)}[{p.exprs.offset(src, [r.start for r in s.src.ranges])}]"
        )
        target = self._place(p, s.dst, packing)
        tail = self._tail(p, packing, dst, rows, cols)
        if packing.form == "panels_t":
            rows, cols = cols, rows
        sizes = f"{p.exprs.index(rows)}, {p.exprs.index(cols)}"
        name = packing.function(src.dtype.name)
        p.out.line(f"{name}({sizes}, {source}, {p.exprs.index(ld)}, {target}, {tail});")

    def _tail(self, p: StmtPrinter, packing: Packing, dst: Buffer, rows: Expr, cols: Expr) -> str:
        """The last arguments: how far to fill with zeros, and the geometry of the destination."""
        if packing.form == "rows":
            ld = _digit(dst, -2) // packing.group
            up = b.mul(b.ceildiv(b.cast(cols, cols.dtype), packing.group), packing.group)
            return f"{ld}, {p.exprs.index(rows)}, {p.exprs.index(up)}"
        transposed = packing.form == "panels_t"
        depth = dst.shape[-1 if transposed else -2]
        assert isinstance(depth, Const)
        across = rows if transposed else cols
        width = packing.width or _single_panel(dst, packing.lanes)
        filled = b.mul(b.ceildiv(across, width), width)
        return f"{int(depth.value)}, {p.exprs.index(filled)}, {width}"

    def _place(self, p: StmtPrinter, region: Region, packing: Packing) -> str:
        """The address of a packed region, which starts at the origin of its last two axes."""
        buffer = p.exprs.buffers[region.buffer]
        name = p.exprs.name(buffer.name)
        if buffer.rank == 2:
            return name
        slot = region.ranges[0].start
        size = _digit(buffer, 0) // packing.group
        return f"{name} + {p.exprs.index(slot, 13)} * {size}"

    # -- products

    def atom(self, p: StmtPrinter, s: Stmt) -> None:
        """One call of the micro-kernel's loop over a tile."""
        assert isinstance(s, Atom)
        atom = self.spec.matrix[s.name]
        a, c = p.exprs.buffers[s.a.buffer], p.exprs.buffers[s.c.buffer]
        m, n = (p.exprs.index(r.extent) for r in s.c.ranges[-2:])
        k = p.exprs.index(s.a.ranges[-2 if s.transpose_a else -1].extent)
        ahead = self.ahead.get(id(s))
        steps = self._steps_of_a(a, s.transpose_a, step_of(atom, self.spec.features))
        kernel = self._kernel(atom, *steps, ahead is not None)
        args = (
            m, n, k,
            self._operand(p, s.a, atom), self._operand(p, s.b, atom), str(self._panel(p, s, atom)),
            f"&{p.exprs.name(c.name)}[{p.exprs.offset(c, [r.start for r in s.c.ranges])}]",
            p.exprs.index(element_strides(c)[-2]),
            _accumulate(p, s.init), *(self._ahead(p, ahead) if ahead else ()),
        )  # fmt: skip
        p.out.line(f"{kernel}_tile({', '.join(args)});")

    def _steps_of_a(self, a: Buffer, transposed: bool, step: Step) -> tuple[int, int]:
        """Distances in units between rows of A and between units along k."""
        packing = self.packed.get(a.name)
        if not transposed:
            return _digit(a, -2) // step.group, 1
        return 1, _single_panel(a, packing.lanes) if packing else _digit(a, -2)

    def _ahead(self, p: StmtPrinter, ahead: Ahead) -> tuple[str, str]:
        """The address of the block that follows, and the bytes between its rows."""
        src = p.exprs.buffers[ahead.copy.src.buffer]

        def at(place: tuple[Expr, ...] | None) -> str:
            name = p.exprs.name(src.name)
            return "0" if place is None else f"&{name}[{p.exprs.offset(src, list(place))}]"

        ld = b.mul(_row_stride(ahead.copy, src), src.dtype.storage_bits // 8)
        choice = f"{p.exprs.value(ahead.more)} ? {at(ahead.next)} : {at(ahead.restart)}"
        return f"(const char *)({choice})", p.exprs.index(ld)

    def _kernel(self, atom: MatrixAtom, row: int, step: int, ahead: bool) -> str:
        name = f"{atom.name}_{'ld' if step == 1 else 'kd'}{max(row, step)}{'_ahead' * ahead}"
        if name not in self.kernels:
            self.kernels[name] = atom_source(
                atom, self.spec, name, a_row=row, a_step=step, ahead=ahead
            )
            self.needs |= atom_needs(atom, self.spec)
        return name

    def _operand(self, p: StmtPrinter, region: Region, atom: MatrixAtom) -> str:
        packing = self.packed.get(region.buffer)
        if packing is not None:
            return self._place(p, region, packing)
        buffer = p.exprs.buffers[region.buffer]
        at = p.exprs.offset(buffer, [r.start for r in region.ranges])
        step = step_of(atom, self.spec.features)
        units = f"(const {step.a_unit}_t *)" if step.group > 1 else ""
        return f"{units}&{p.exprs.name(buffer.name)}[{at}]"

    def _panel(self, p: StmtPrinter, s: Atom, atom: MatrixAtom) -> int:
        """Units between panels of B."""
        packing = self.packed[s.b.buffer]
        depth = p.exprs.buffers[s.b.buffer].shape[-1 if s.transpose_b else -2]
        assert isinstance(depth, Const)
        return -(-int(depth.value) // packing.group) * atom.n


def _row_stride(s: Copy, src: Buffer) -> Expr:
    """Elements of the source between the rows of a block."""
    long = [a for a, r in enumerate(s.src.ranges) if not is_unit(r)] or [src.rank - 1]
    row_axis = long[-2] if len(long) > 1 else max(src.rank - 2, 0)
    return element_strides(src)[row_axis]


def _accumulate(p: StmtPrinter, init: Expr | None) -> str:
    if init is None:
        return "1"
    return p.exprs.value(b.logical_not(init))


def _single_panel(buffer: Buffer, lanes: int) -> int:
    """The width of the one panel that holds A stored with k outermost, in whole vectors."""
    rows = buffer.shape[-1]
    assert isinstance(rows, Const)
    return -(-int(rows.value) // lanes) * lanes


def _digit(buffer: Buffer, axis: int) -> int:
    """The stride of an axis of one digit, in elements; of the slowest digit where there are
    several.
    """
    layout = buffer.layout
    if isinstance(layout, TileLayout):
        digits = layout.inputs[axis].digits
        return digits[-1].stride if digits else 1
    stride = 1
    for extent in buffer.shape[axis + 1 if axis != -1 else len(buffer.shape) :]:
        assert isinstance(extent, Const)
        stride *= int(extent.value)
    return stride
