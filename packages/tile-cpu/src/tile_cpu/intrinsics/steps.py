"""How one step along k of a matrix micro-kernel multiplies: by types, by features, in which units.

A micro-kernel adds outer products: a unit of A, broadcast, times a vector of units of B. With f32
and f64 a unit is one number. Where the CPU multiplies short vectors of narrow types (bf16 pairs,
byte quads) a unit is such a vector, the operands are packed in those units, and nothing else
changes. Where it multiplies whole tiles of such units, so do the kernels (`tile_units`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tile_cpu.prelude.vocabulary import UNIT_GROUPS
from tile_ir.diag import InternalError

if TYPE_CHECKING:
    from tile_ir.target import MatrixAtom

__all__ = ["Step", "step_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One way to multiply: units of A and B, type of the sum, and the C expression of a step.

    `expression` has the holes `c` (accumulator), `x` (broadcast unit of A), `y` (vector of B) and
    `n` (lanes). With `bias` the units of A are unsigned with 128 added, and the kernel takes 128
    times the column sums of B away again. With `instruction` there is no expression: it multiplies
    tiles of 16 units instead of vectors.
    """

    a_unit: str
    b_unit: str
    sum_type: str
    expression: str = ""
    bias: bool = False
    instruction: str = ""

    @property
    def group(self) -> int:
        """Elements along k in a unit."""
        return UNIT_GROUPS[self.a_unit]


FMA = "{c} + {x} * {y}"
BYTES = ("i8", "u8")
STEPS: dict[tuple[str, str, str, int], Step] = {
    ("f64", "f64", "f64", 1): Step(a_unit="f64", b_unit="f64", sum_type="f64", expression=FMA),
    **{
        (kind, kind, "f32", 1): Step(a_unit="f32", b_unit="f32", sum_type="f32", expression=FMA)
        for kind in ("f32", "f16", "bf16")
    },
    ("bf16", "bf16", "f32", 2): Step(
        a_unit="pair", b_unit="pair", sum_type="f32", expression="tile_dot_pair_x{n}({c}, {x}, {y})"
    ),
    **{
        (a, b, "i32", 1): Step(a_unit="i32", b_unit="i32", sum_type="i32", expression=FMA)
        for a in BYTES
        for b in BYTES
    },
    **{
        (a, b, "i32", 2): Step(
            a_unit="words",
            b_unit="words",
            sum_type="i32",
            expression="tile_dot_words_x{n}({c}, {x}, {y})",
        )
        for a in BYTES
        for b in BYTES
    },
    # The instruction multiplies unsigned by signed bytes, in this order of operands.
    ("u8", "i8", "i32", 4): Step(
        a_unit="quad", b_unit="quad", sum_type="i32", expression="tile_dot_quad_x{n}({c}, {x}, {y})"
    ),
    ("i8", "u8", "i32", 4): Step(
        a_unit="quad", b_unit="quad", sum_type="i32", expression="tile_dot_quad_x{n}({c}, {y}, {x})"
    ),
    ("i8", "i8", "i32", 4): Step(
        a_unit="squad",
        b_unit="quad",
        sum_type="i32",
        expression="tile_dot_quad_x{n}({c}, {x}, {y})",
        bias=True,
    ),
    # Tiles of 16 units along k. The letters in front of the last say which operand has a sign.
    ("bf16", "bf16", "f32", 32): Step(
        a_unit="pair", b_unit="pair", sum_type="f32", instruction="tdpbf16ps"
    ),
    **{
        (a, b, "i32", 64): Step(
            a_unit="quad",
            b_unit="quad",
            sum_type="i32",
            instruction=f"tdpb{a.replace('i', 's')[0]}{b.replace('i', 's')[0]}d",
        )
        for a in BYTES
        for b in BYTES
    },
}
"""(type of A, type of B, type of the sum, k of the atom) -> its step on machines with wide
vectors."""

NEON_STEPS: dict[tuple[str, str, str, int], Step] = {
    (kind, kind, "i32", 4): Step(
        a_unit="quad",
        b_unit="quad",
        sum_type="i32",
        expression=f"tile_dot_{sign}quad_x{{n}}({{c}}, {{x}}, {{y}})",
    )
    for kind, sign in (("i8", "s"), ("u8", "u"))
}
"""What differs where the dot product of bytes takes both operands of one signedness."""


def step_of(atom: MatrixAtom, features: frozenset[str]) -> Step:
    """The step that `atom` of a description with `features` is made of.

    Raises InternalError E9001 where no micro-kernel is known for its types and k.
    """
    key = (atom.a.dtype, atom.b.dtype, atom.accumulator.dtype, atom.k)
    own = NEON_STEPS if "asimddp" in features else {}
    step = own.get(key) or STEPS.get(key)
    if step is None:
        raise InternalError("E9001", f"no micro-kernel multiplies as atom {atom.name} does: {key}")
    return step
