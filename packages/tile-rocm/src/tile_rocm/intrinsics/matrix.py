"""Wrappers of the matrix instructions, generated from the atoms of a description.

`tile_matrix_ATOM(c, a, b)` takes pointers to register arrays and adds the product of a and b to c.
Which instruction an atom is follows from its types and extents (the builtins of clang's AMDGPU back
end). Where a lane's results run along n the instruction gets its operands in exchanged order: it
then computes the transposed product, whose rows are the columns here.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

from tile_ir.diag import InternalError
from tile_ir.layout import FragmentLayout, parse_layout
from tile_ir.types import dtype

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Literal

    from tile_ir.target import MatrixAtom

__all__ = ["Instruction", "atom_registers", "instruction_of", "is_turned", "matrix_wrapper"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Instruction:
    """One instruction: its builtin without prefix, the C++ type of a lane's part of each operand,
    and the texts in front of each operand and after all of them."""

    builtin: str
    operand: str
    before: str = ""
    after: str = ""


def _mfma(name: str, operand: str) -> Instruction:
    """Three broadcast controls, all off."""
    return Instruction(builtin=f"mfma_{name}", operand=operand, after=", 0, 0, 0")


def _scaled(shape: str, format_number: int, operand: str) -> Instruction:
    """Formats of both operands, then the scale 2^0 for every block of 32 values."""
    formats = f", {format_number}, {format_number}"
    return Instruction(
        builtin=f"mfma_scale_f32_{shape}_f8f6f4",
        operand=operand,
        after=f"{formats}, 0, 127, 0, 127",
    )


def _integers(name: str, operand: str, signed: bool) -> Instruction:
    """Signedness before each operand; sums wrap around."""
    before = "true, " if signed else "false, "
    return Instruction(builtin=f"wmma_{name}", operand=operand, before=before, after=", false")


def _plain(name: str, operand: str) -> Instruction:
    return Instruction(builtin=f"wmma_{name}", operand=operand)


H4, H8, H16 = (f"tile_simd<_Float16, {n}>" for n in (4, 8, 16))
S4, S8, S16 = (f"tile_simd<short, {n}>" for n in (4, 8, 16))
B8 = "tile_simd<__bf16, 8>"
I2, I4 = (f"tile_simd<int, {n}>" for n in (2, 4))

Key = tuple[str, str, int, int, int, int]
_TABLE: Mapping[Key, Instruction] = MappingProxyType(
    {
        # (type of a and b, of the accumulator, m, n, k, values of a lane)
        ("f16", "f32", 32, 32, 8, 4): _mfma("f32_32x32x8f16", H4),
        ("f16", "f32", 16, 16, 16, 4): _mfma("f32_16x16x16f16", H4),
        ("f16", "f32", 32, 32, 16, 8): _mfma("f32_32x32x16_f16", H8),
        ("f16", "f32", 16, 16, 32, 8): _mfma("f32_16x16x32_f16", H8),
        ("bf16", "f32", 32, 32, 8, 4): _mfma("f32_32x32x8bf16_1k", S4),
        ("bf16", "f32", 16, 16, 16, 4): _mfma("f32_16x16x16bf16_1k", S4),
        ("bf16", "f32", 32, 32, 16, 8): _mfma("f32_32x32x16_bf16", B8),
        ("bf16", "f32", 16, 16, 32, 8): _mfma("f32_16x16x32_bf16", B8),
        ("f32", "f32", 32, 32, 2, 1): _mfma("f32_32x32x2f32", "float"),
        ("f32", "f32", 16, 16, 4, 1): _mfma("f32_16x16x4f32", "float"),
        ("tf32", "f32", 32, 32, 4, 2): _mfma("f32_32x32x4_xf32", "tile_simd<float, 2>"),
        ("tf32", "f32", 16, 16, 8, 2): _mfma("f32_16x16x8_xf32", "tile_simd<float, 2>"),
        ("f64", "f64", 16, 16, 4, 1): _mfma("f64_16x16x4f64", "double"),
        ("i8", "i32", 32, 32, 8, 4): _mfma("i32_32x32x8i8", "int"),
        ("i8", "i32", 16, 16, 16, 4): _mfma("i32_16x16x16i8", "int"),
        ("i8", "i32", 32, 32, 16, 8): _mfma("i32_32x32x16_i8", "long"),
        ("i8", "i32", 16, 16, 32, 8): _mfma("i32_16x16x32_i8", "long"),
        ("i8", "i32", 32, 32, 32, 16): _mfma("i32_32x32x32_i8", I4),
        ("i8", "i32", 16, 16, 64, 16): _mfma("i32_16x16x64_i8", I4),
        **{
            (kind, "f32", m, m, k, 8): _mfma(f"f32_{m}x{m}x{k}_{name}_{name}", "long")
            for kind, name in (
                ("f8e4m3fnuz", "fp8"),
                ("f8e5m2fnuz", "bf8"),
                ("f8e4m3fn", "fp8"),
                ("f8e5m2", "bf8"),
            )
            for m, k in ((32, 16), (16, 32))
        },
        **{
            (kind, "f32", m, m, k, 32): _scaled(f"{m}x{m}x{k}", number, operand)
            for kind, number, operand in (
                ("f8e4m3fn", 0, "tile_octets"),
                ("f8e5m2", 1, "tile_octets"),
                ("f6e2m3fn", 2, "tile_sextets"),
                ("f6e3m2fn", 3, "tile_sextets"),
                ("f4e2m1fn", 4, "tile_quartets"),
            )
            for m, k in ((32, 64), (16, 128))
        },
        ("f16", "f32", 16, 16, 16, 16): _plain("f32_16x16x16_f16_w32", H16),
        ("bf16", "f32", 16, 16, 16, 16): _plain("f32_16x16x16_bf16_w32", S16),
        ("i8", "i32", 16, 16, 16, 16): _integers("i32_16x16x16_iu8_w32", I4, True),
        ("u8", "i32", 16, 16, 16, 16): _integers("i32_16x16x16_iu8_w32", I4, False),
        ("i4", "i32", 16, 16, 16, 16): _integers("i32_16x16x16_iu4_w32", I2, True),
        ("u4", "i32", 16, 16, 16, 16): _integers("i32_16x16x16_iu4_w32", I2, False),
        ("f16", "f32", 16, 16, 16, 8): _plain("f32_16x16x16_f16_w32_gfx12", H8),
        ("f16", "f16", 16, 16, 16, 8): _plain("f16_16x16x16_f16_w32_gfx12", H8),
        ("bf16", "f32", 16, 16, 16, 8): _plain("f32_16x16x16_bf16_w32_gfx12", S8),
        ("f8e4m3fn", "f32", 16, 16, 16, 8): _plain("f32_16x16x16_fp8_fp8_w32_gfx12", I2),
        ("f8e5m2", "f32", 16, 16, 16, 8): _plain("f32_16x16x16_bf8_bf8_w32_gfx12", I2),
        ("i8", "i32", 16, 16, 16, 8): _integers("i32_16x16x16_iu8_w32_gfx12", I2, True),
        ("u8", "i32", 16, 16, 16, 8): _integers("i32_16x16x16_iu8_w32_gfx12", I2, False),
        ("i4", "i32", 16, 16, 32, 16): _integers("i32_16x16x32_iu4_w32_gfx12", I2, True),
        ("u4", "i32", 16, 16, 32, 16): _integers("i32_16x16x32_iu4_w32_gfx12", I2, False),
    }
)
_RESULTS = {"f32": "float", "f64": "double", "i32": "int", "f16": "_Float16"}
_TAKE = {"tile_octets": "tile_take_octets", "tile_sextets": "tile_take_sextets"}
_TAKE["tile_quartets"] = "tile_take_quartets"
"""Operands that are put together from narrower codes: their type -> the function that does it."""


def _layout(atom: MatrixAtom, operand: Literal["a", "b", "accumulator"]) -> FragmentLayout:
    text = atom.layout(operand)
    layout = parse_layout(text) if text else None
    if not isinstance(layout, FragmentLayout):
        raise InternalError("E3090", f"operand {operand} of {atom.name} has no fragment layout")
    return layout


def atom_registers(atom: MatrixAtom, operand: Literal["a", "b", "accumulator"]) -> str:
    """The C++ type of a lane's part of an operand.

    Raises InternalError E3090 where no instruction is known.
    """
    if operand != "accumulator":
        return instruction_of(atom).operand
    count = _layout(atom, operand).values
    return f"tile_simd<{_RESULTS[dtype(atom.accumulator.dtype).name]}, {count}>"


def instruction_of(atom: MatrixAtom) -> Instruction:
    """The instruction of an atom. Raises InternalError E3090 where none is known."""
    values = _layout(atom, "a").values
    key = (atom.a.dtype, atom.accumulator.dtype, atom.m, atom.n, atom.k, values)
    found = _TABLE.get(key) if atom.a.dtype == atom.b.dtype else None
    if found is None:
        raise InternalError("E3090", f"no instruction is known for {atom.name}")
    return found


def is_turned(atom: MatrixAtom) -> bool:
    """Whether a lane's results are neighbours along n, which takes exchanged operands."""
    return _layout(atom, "accumulator").value[0].axis == "n"


def matrix_wrapper(atom: MatrixAtom) -> tuple[str, str]:
    """Name and text of the wrapper of an instruction: c += a b."""
    name, known = f"tile_matrix_{atom.name}", instruction_of(atom)
    result = atom_registers(atom, "accumulator")
    order = ("b", "a") if is_turned(atom) else ("a", "b")
    take = _TAKE.get(known.operand, f"tile_take<{known.operand}>")
    operands = ", ".join(f"{known.before}{take}({x})" for x in order)
    text = "\n".join(
        [
            f"TILE_FN void {name}(void *c, const void *a, const void *b) {{",
            f"  const {result} sum = tile_take<{result}>(c);",
            f"  tile_put(c, __builtin_amdgcn_{known.builtin}({operands}, sum{known.after}));",
            "}",
        ]
    )
    return name, text
