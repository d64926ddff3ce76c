"""Which buffers of a lowered kernel hold packed operands, and by which function they are filled."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tile_cpu.intrinsics.atoms import atom_lanes
from tile_cpu.intrinsics.steps import step_of
from tile_ir.ops import Alloc, Atom
from tile_ir.rewrite import walk

if TYPE_CHECKING:
    from tile_ir.opdef import Body
    from tile_ir.target import MatrixAtom, TargetSpec

__all__ = ["Packing", "packed_operands"]

_KEPT_AS = {"tf32": "f32"}
"""Types that memory holds as another: what is there was rounded when it was stored."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Packing:
    """How one operand buffer is packed: in units of `group` elements along k, `lanes` at a time.

    `form` names the packing function: `rows` (A), `panels` (B, or A whose rows are along k) or
    `panels_t` (B whose rows are along n). `width` is the width of a panel.
    """

    unit: str
    group: int
    lanes: int
    form: str
    width: int

    def function(self, source: str) -> str:
        """The name of the packing function for elements of type `source`."""
        kept = _KEPT_AS.get(source, source)
        return f"tile_pack_{self.form}_{kept}_{self.unit}x{self.lanes}"


def packed_operands(body: Body, spec: TargetSpec) -> dict[str, Packing]:
    """The packed buffers that the atoms in `body` read; plain tiles are not among them."""
    found: dict[str, Packing] = {}
    laid_out = {s.buffer.name for s in walk(body) if isinstance(s, Alloc) and s.buffer.layout}
    for s in walk(body):
        if isinstance(s, Atom):
            atom = spec.matrix[s.name]
            found[s.b.buffer] = _of_b(atom, spec, s.transpose_b)
            step = step_of(atom, spec.features)
            if step.group > 1 and s.a.buffer in laid_out:
                found[s.a.buffer] = _of_a(atom, spec, s.transpose_a)
    return found


def _of_b(atom: MatrixAtom, spec: TargetSpec, transposed: bool) -> Packing:
    step = step_of(atom, spec.features)
    form = "panels_t" if transposed else "panels"
    lanes = atom_lanes(atom, spec)
    return Packing(unit=step.b_unit, group=step.group, lanes=lanes, form=form, width=atom.n)


def _of_a(atom: MatrixAtom, spec: TargetSpec, transposed: bool) -> Packing:
    step = step_of(atom, spec.features)
    lanes = atom_lanes(atom, spec)
    form = "panels" if transposed else "rows"
    return Packing(unit=step.a_unit, group=step.group, lanes=lanes, form=form, width=0)
