"""Element types: what one value is, how wide it is, and every way a user may spell it.

A `DType` is interned: equal types are one object, so types compare and hash by identity (the
fastest there is) wherever they were made. Objects of array libraries are recognised by their names
alone, so that none of those libraries is imported here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum

from tile_ir.diag import Fix, InternalError, TileError
from tile_ir.float_format import FloatFormat, NanStyle

__all__ = [
    "ALL_DTYPES",
    "MAX_LANES",
    "DType",
    "FloatFormat",
    "Kind",
    "NanStyle",
    "bf16",
    "bool_",
    "dtype",
    "f4e2m1fn",
    "f4e2m1fn_unpacked",
    "f6e2m3fn",
    "f6e3m2fn",
    "f8e3m4",
    "f8e4m3b11fnuz",
    "f8e4m3fn",
    "f8e4m3fnuz",
    "f8e5m2",
    "f8e5m2fnuz",
    "f8e8m0fnu",
    "f16",
    "f32",
    "f64",
    "i4",
    "i8",
    "i16",
    "i32",
    "i64",
    "tf32",
    "u4",
    "u8",
    "u16",
    "u32",
    "u64",
]

MAX_LANES = 4096
"""The longest vector type. No target comes near; it bounds what a mistyped text can intern."""


class Kind(Enum):
    """What the values of a type are."""

    BOOL = "bool"
    INT = "int"
    UINT = "uint"
    FLOAT = "float"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class DType:
    """A scalar type, or a vector of `lanes` equal scalars. Made by `dtype` and `with_lanes` only.

    `name` is the canonical text. `bits` counts the bits of one lane that carry information (1 for
    bool, 19 for tf32); `storage_bits` is what memory holds. `format` describes floats and is None
    otherwise.
    """

    name: str
    kind: Kind
    bits: int
    slot_bits: int
    """Bits that one lane takes in memory."""
    lanes: int = 1
    format: FloatFormat | None = None

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"dtype({self.name!r})"

    def __reduce__(self) -> tuple[object, ...]:
        return (dtype, (self.name,))

    @property
    def is_bool(self) -> bool:
        """Whether the values are truth values."""
        return self.kind is Kind.BOOL

    @property
    def is_int(self) -> bool:
        """Whether the values are integers, signed or not; bool is no integer."""
        return self.kind is Kind.INT or self.kind is Kind.UINT

    @property
    def is_float(self) -> bool:
        """Whether the values are floating-point numbers."""
        return self.kind is Kind.FLOAT

    @property
    def is_signed(self) -> bool:
        """Whether the type holds negative numbers; not so for bool, uints and f8e8m0fnu."""
        return self.kind is Kind.INT or (self.format is not None and self.format.has_sign)

    @property
    def storage_bits(self) -> int:
        """Bits of one whole value (all lanes) in memory.

        Per lane: bool takes 8; tf32 takes 32 (an f32 whose low 13 bits are zero); the 6-bit floats
        take 8, code in the low bits; 4-bit types take 4, two in a byte with the even element in the
        low nibble; f4e2m1fn_unpacked takes 8, code in the low bits. Every other type takes its own
        width.
        """
        return self.slot_bits * self.lanes

    @property
    def storage_bytes(self) -> int:
        """`storage_bits` in bytes, rounded up; the size of an array is a multiple of the bits."""
        return -(-self.storage_bits // 8)

    @property
    def scalar(self) -> DType:
        """The type of one lane."""
        return self.with_lanes(1)

    def with_lanes(self, lanes: int) -> DType:
        """Return the type with `lanes` lanes of the same scalar.

        Raises:
            TileError: E0201 when `lanes` is not in 1..MAX_LANES.
        """
        if lanes == self.lanes:
            return self
        if not 1 <= lanes <= MAX_LANES:
            raise TileError(
                "E0201",
                f"a vector type has 1 to {MAX_LANES} lanes, not {lanes}",
                help="split the work into vectors of a width that exists",
            )
        base = self.name if self.lanes == 1 else self.name.rpartition("x")[0]
        name = base if lanes == 1 else f"{base}x{lanes}"
        return _INTERNED.get(name) or _intern(
            DType(
                name=name,
                kind=self.kind,
                bits=self.bits,
                slot_bits=self.slot_bits,
                lanes=lanes,
                format=self.format,
            )
        )

    @property
    def min_value(self) -> int | float:
        """The smallest finite value of a lane (0 for bool, 2**-127 for f8e8m0fnu)."""
        if self.format is not None:
            return -self.max_finite if self.format.has_sign else self.format.smallest_positive
        return -(1 << (self.bits - 1)) if self.kind is Kind.INT else 0

    @property
    def max_value(self) -> int | float:
        """The largest finite value of a lane (1 for bool)."""
        if self.format is not None:
            return self.max_finite
        return (1 << (self.bits - (self.kind is Kind.INT))) - 1

    @property
    def max_finite(self) -> float:
        """The largest finite number of a float type."""
        return self.float_format.max_finite

    @property
    def smallest_normal(self) -> float:
        """The smallest positive number with a full mantissa of a float type."""
        return self.float_format.smallest_normal

    @property
    def eps(self) -> float:
        """The gap between 1 and the next larger number of a float type."""
        return self.float_format.eps

    @property
    def float_format(self) -> FloatFormat:
        """`format` where the caller knows that the type is a float.

        Raises:
            InternalError: the type is not a float.
        """
        if self.format is None:
            raise InternalError("E9001", f"{self.name} has no floating-point format")
        return self.format


_INTERNED: dict[str, DType] = {}


def _intern(made: DType) -> DType:
    # setdefault is atomic: threads that make one type at once agree on the first.
    return _INTERNED.setdefault(made.name, made)


def _integer(name: str, kind: Kind, bits: int) -> DType:
    slot_bits = 8 if kind is Kind.BOOL else bits
    return _intern(DType(name=name, kind=kind, bits=bits, slot_bits=slot_bits))


def _float(name: str, fmt: FloatFormat, slot_bits: int) -> DType:
    return _intern(
        DType(name=name, kind=Kind.FLOAT, bits=fmt.bits, slot_bits=slot_bits, format=fmt)
    )


def _format(
    exponent: int,
    mantissa: int,
    bias: int,
    nan: NanStyle = NanStyle.IEEE,
) -> FloatFormat:
    return FloatFormat(exponent_bits=exponent, mantissa_bits=mantissa, bias=bias, nan=nan)


bool_ = _integer("bool", Kind.BOOL, 1)
i4 = _integer("i4", Kind.INT, 4)
i8 = _integer("i8", Kind.INT, 8)
i16 = _integer("i16", Kind.INT, 16)
i32 = _integer("i32", Kind.INT, 32)
i64 = _integer("i64", Kind.INT, 64)
u4 = _integer("u4", Kind.UINT, 4)
u8 = _integer("u8", Kind.UINT, 8)
u16 = _integer("u16", Kind.UINT, 16)
u32 = _integer("u32", Kind.UINT, 32)
u64 = _integer("u64", Kind.UINT, 64)
f16 = _float("f16", _format(5, 10, 15), 16)
f32 = _float("f32", _format(8, 23, 127), 32)
f64 = _float("f64", _format(11, 52, 1023), 64)
bf16 = _float("bf16", _format(8, 7, 127), 16)
tf32 = _float("tf32", _format(8, 10, 127), 32)
f8e4m3fn = _float("f8e4m3fn", _format(4, 3, 7, NanStyle.ALL_ONES), 8)
f8e4m3fnuz = _float("f8e4m3fnuz", _format(4, 3, 8, NanStyle.NEGATIVE_ZERO), 8)
f8e4m3b11fnuz = _float("f8e4m3b11fnuz", _format(4, 3, 11, NanStyle.NEGATIVE_ZERO), 8)
f8e3m4 = _float("f8e3m4", _format(3, 4, 3), 8)
f8e5m2 = _float("f8e5m2", _format(5, 2, 15), 8)
f8e5m2fnuz = _float("f8e5m2fnuz", _format(5, 2, 16, NanStyle.NEGATIVE_ZERO), 8)
f8e8m0fnu = _float(
    "f8e8m0fnu",
    FloatFormat(
        exponent_bits=8,
        mantissa_bits=0,
        bias=127,
        nan=NanStyle.ALL_ONES,
        has_sign=False,
        has_subnormals=False,
    ),
    8,
)
f6e2m3fn = _float("f6e2m3fn", _format(2, 3, 1, NanStyle.NONE), 8)
f6e3m2fn = _float("f6e3m2fn", _format(3, 2, 3, NanStyle.NONE), 8)
f4e2m1fn = _float("f4e2m1fn", _format(2, 1, 1, NanStyle.NONE), 4)
f4e2m1fn_unpacked = _float("f4e2m1fn_unpacked", _format(2, 1, 1, NanStyle.NONE), 8)

ALL_DTYPES: tuple[DType, ...] = tuple(_INTERNED.values())
"""Every scalar type, in the order of the definitions above."""

_SIZED = {
    **{f"int{n}": f"i{n}" for n in (4, 8, 16, 32, 64)},
    **{f"uint{n}": f"u{n}" for n in (4, 8, 16, 32, 64)},
    **{f"float{n}": f"f{n}" for n in (16, 32, 64)},
    **{
        t.name.replace("f", "float", 1).replace("e", "_e", 1): t.name
        for t in ALL_DTYPES
        if t.is_float and t.bits <= 8 and t is not f4e2m1fn_unpacked
    },
    "bool": "bool",
    "bfloat16": "bf16",
}
"""Names that mean the same type to us and to the array libraries."""

_OURS = {
    **{t.name: t.name for t in ALL_DTYPES},
    **_SIZED,
    "short": "i16",
    "int": "i32",
    "long": "i64",
    "uint": "u32",
    "half": "f16",
    "float": "f32",
    "double": "f64",
    "tfloat32": "tf32",
    "float8_e4m3": "f8e4m3fn",
    "float4_e2m1_unpacked": "f4e2m1fn_unpacked",
}
"""Names accepted in text. `i4` and `i8` count bits, never bytes as the codes of numpy do."""

_FOREIGN = {
    **_SIZED,
    "bool_": "bool",
    "intc": "i32",
    "uintc": "u32",
    "longlong": "i64",
    "ulonglong": "u64",
    "float4_e2m1fn_x2": "f4e2m1fnx2",
}
"""Names accepted of objects of array libraries.

`float8_e4m3` is absent on purpose: to them it is an IEEE-like format with infinities, whose bits
mean other numbers than those of e4m3fn.
"""

_PYTHON: dict[object, DType] = {bool: bool_, int: i32, float: f32}
_VECTOR = re.compile(r"(.+?)x([1-9][0-9]{0,3})", re.ASCII)


def dtype(spelling: object) -> DType:
    """Return the type that `spelling` names.

    Accepts a `DType`; text ("f16", "float16", "half", "float8_e4m3fn", "bfloat16x2"); Python's
    `bool`, `int` (i32) and `float` (f32); dtypes and scalar types of numpy, ml_dtypes and torch.
    The text "float8_e4m3" is f8e4m3fn: a frontend whose target prefers another variant resolves the
    name first.

    Raises:
        TileError: E0201 when it names none of our types, or an array type in foreign byte order.
    """
    if isinstance(spelling, DType):
        return spelling
    if isinstance(spelling, str):
        found = _from_text(spelling)
    elif isinstance(spelling, type) and spelling in _PYTHON:
        found = _PYTHON[spelling]
    else:
        found = _from_text(_FOREIGN.get(_foreign_name(spelling), ""))
    if found is None:
        raise _unknown(spelling)
    return found


def _from_text(text: str) -> DType | None:
    name = _OURS.get(text)
    if name is not None:
        return _INTERNED[name]
    vector = _VECTOR.fullmatch(text)
    if vector is None or vector[1] not in _OURS:
        return None
    return _INTERNED[_OURS[vector[1]]].with_lanes(int(vector[2]))


def _foreign_name(thing: object) -> str:
    """Return the array library's name of a dtype or scalar type, or "" when `thing` is neither."""
    if isinstance(thing, type):
        library = thing.__module__.partition(".")[0]
        return thing.__name__ if library in ("numpy", "ml_dtypes") else ""
    if type(thing).__module__ == "torch":
        return str(thing).removeprefix("torch.")
    name, byteorder = getattr(thing, "name", None), getattr(thing, "byteorder", None)
    if not isinstance(name, str) or not isinstance(byteorder, str):
        return ""
    if byteorder in ("<", ">"):  # numpy writes the machine's own order as "=" and one byte as "|"
        raise TileError(
            "E0201",
            f"array type {name} has byte order {byteorder!r}, which is not this machine's",
            help="convert the array with .astype(dtype.newbyteorder('='))",
        )
    return name


def _unknown(spelling: object) -> TileError:
    from difflib import get_close_matches  # only a mistake pays for this import

    textual = isinstance(spelling, str)
    text = spelling if isinstance(spelling, str) else _foreign_name(spelling)
    near = get_close_matches(text, _OURS if textual else _FOREIGN, n=3)
    notes = []
    if text == "float8_e4m3":
        notes.append("an array's float8_e4m3 has infinities; its bits are not float8_e4m3fn's")
    return TileError(
        "E0201",
        f"unknown element type {spelling!r}" if textual else f"no element type: {_shown(spelling)}",
        notes=notes,
        help=f"did you mean {' or '.join(near)}?" if near else "write a name such as float16",
        fix=Fix(text, near[0]) if len(near) == 1 and textual else None,
    )


def _shown(thing: object) -> str:
    # repr of an arbitrary object may be a page long (an array): a type's name says enough.
    if isinstance(thing, type) or _foreign_name(thing):
        return f"{thing}"
    return f"an object of type {type(thing).__name__}"
