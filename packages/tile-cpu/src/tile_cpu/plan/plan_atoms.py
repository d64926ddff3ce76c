"""Choose the matrix kernel of every product.

The description lists micro-kernels by operand types. Where none takes the types as they are,
operands are widened to the next types that one takes, if that changes no value; where there is none
either, the product becomes plain loops.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tile_cpu.intrinsics.steps import step_of
from tile_cpu.intrinsics.tile_units import TILE_ROWS
from tile_ir.expr import Const
from tile_ir.ops import Gemm, Kernel
from tile_ir.rewrite import declared, walk
from tile_ir.types import DType, bf16, f32, f64, i4, i8, i16, u4, u8
from tile_passes.base import Pass, PassContext
from tile_passes.plan.model import Candidate
from tile_passes.plan.pins import decide

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tile_ir.core import Buffer, Function
    from tile_ir.target import MatrixAtom, TargetSpec
    from tile_passes.plan.model import Plan

__all__ = ["LOOPS", "PASS", "gemm_keys", "operand_types"]

LOOPS = "loops"
"""The decision for a product without a matrix kernel."""
LOOP_RATE = 4.0
"""Multiply-adds per cycle of plain vector loops: one load for each, no reuse in registers."""
_WIDER: dict[DType, tuple[DType, ...]] = {i4: (i8,), u4: (u8, i8), u8: (i16,), i8: (i16,)}


def gemm_keys(kernel: Kernel) -> Iterator[tuple[str, Gemm]]:
    """The key of every product in a kernel, `KERNEL.gemm:DESTINATION`, repeats numbered."""
    seen: dict[str, int] = {}
    for s in walk(kernel.body):
        if isinstance(s, Gemm):
            stem = f"{kernel.name}.gemm:{s.c.buffer}"
            seen[stem] = seen.get(stem, 0) + 1
            yield (stem if seen[stem] == 1 else f"{stem}#{seen[stem]}"), s


def operand_types(a: DType, b: DType, c: DType) -> Iterator[tuple[DType, DType]]:
    """Pairs of types that operands of types `a` and `b` may be widened to without loss, nearest
    first.
    """
    yield a, b
    if a.is_float and b.is_float:
        if _fits_pairs(a) and _fits_pairs(b):
            yield bf16, bf16
        yield from ((t, t) for t in (f32, f64) if max(a.bits, b.bits) <= t.bits)
        return
    for x in (a, *_WIDER.get(a, ())):
        for y in (b, *_WIDER.get(b, ())):
            yield x, y


def _fits_pairs(t: DType) -> bool:
    """Whether bf16 holds every number of a type, none of them as a subnormal: products of pairs
    take those for zero.
    """
    if t is bf16:
        return True
    form, wide = t.float_format, bf16.float_format
    return (
        form.mantissa_bits <= wide.mantissa_bits
        and form.max_finite <= wide.max_finite
        and form.smallest_positive >= wide.smallest_normal
    )


@dataclass(frozen=True, slots=True)
class _Choice:
    spec: TargetSpec
    buffers: dict[str, Buffer]

    def candidates(self, s: Gemm) -> list[Candidate]:
        """Every way to compute a product, cheapest first; cost in cycles per block."""
        volume = self._volume(s)
        loops = Candidate(LOOPS, volume / LOOP_RATE, "plain vector loops")
        a, b, c = (self.buffers[r.buffer].dtype for r in (s.a, s.b, s.c))
        found = [self._cost(atom, volume, s) for atom in self._atoms(a, b, c, s)]
        found.sort(key=lambda x: (x.cost or 0.0, str(x.value)))
        if found and _are_dots(s) and (found[0].cost or 0.0) > volume / LOOP_RATE:
            return [loops, *found]
        return [*found, loops]

    def _atoms(self, a: DType, b: DType, c: DType, s: Gemm) -> list[MatrixAtom]:
        major = "mn" if s.transpose_a else "k"
        for x, y in operand_types(a, b, c):
            found = [t for t in self.spec.atoms(x.name, y.name, c.name) if major in t.a.majors]
            if found:
                return found
        return []

    def _cost(self, atom: MatrixAtom, volume: float, s: Gemm) -> Candidate:
        """A block of fewer columns than the atom's costs as much as a whole one; rows of tiles are
        what a kernel of tiles has at least."""
        rows, columns = (_extent(r.extent) for r in s.c.ranges[-2:])
        volume *= -(-columns // atom.n) * atom.n / columns
        if step_of(atom, self.spec.features).instruction:
            volume *= -(-rows // TILE_ROWS) * TILE_ROWS / rows
        return Candidate(atom.name, 2 * volume / atom.rate, f"{atom.m}x{atom.n} block in registers")

    def _volume(self, s: Gemm) -> float:
        m, n = (_extent(r.extent) for r in s.c.ranges[-2:])
        return m * n * _extent(s.a.ranges[-2 if s.transpose_a else -1].extent)


def _are_dots(s: Gemm) -> bool:
    """Whether both operands lie along the axis that is summed over: loops read them as vectors."""
    return s.transpose_b and not s.transpose_a


def _extent(e: object) -> float:
    return float(e.value) if isinstance(e, Const) else 1.0


def plan_atoms(fn: Function, cx: PassContext, plan: Plan) -> Plan:
    """Decide `KERNEL.gemm:C.atom` for every product."""
    choice = _Choice(cx.target, declared(fn))
    for kernel in walk(fn.body):
        if not isinstance(kernel, Kernel):
            continue
        for stem, s in gemm_keys(kernel):
            candidates = choice.candidates(s)
            plan = decide(
                plan,
                cx,
                f"{stem}.atom",
                candidates[0].value,
                reason=candidates[0].reason,
                allowed=[c.value for c in candidates],
                candidates=tuple(candidates),
            )
    return plan


PASS = Pass(name="plan-atoms", phase="plan", plan=plan_atoms, doc=__doc__)
