"""The element types as the user sees them: named like the array libraries name them, compared
loosely.

The IR's own `DType` is strict and short (`f16`); a kernel's author writes, prints and compares
`float16`.
"""

from __future__ import annotations

from typing import Any

from tile_ir import types
from tile_ir.diag import TileError

LONG_NAMES: dict[str, str] = {
    "bool": "bool",
    "bf16": "bfloat16",
    "tf32": "tfloat32",
    "f4e2m1fn_unpacked": "float4_e2m1_unpacked",
    **{f"i{n}": f"int{n}" for n in (4, 8, 16, 32, 64)},
    **{f"u{n}": f"uint{n}" for n in (4, 8, 16, 32, 64)},
    **{f"f{n}": f"float{n}" for n in (16, 32, 64)},
    **{
        name: f"float{name[1]}_{name[2:]}"
        for name in ("f8e4m3fn", "f8e4m3fnuz", "f8e4m3b11fnuz", "f8e3m4", "f8e5m2", "f8e5m2fnuz")
    },
    "f8e8m0fnu": "float8_e8m0fnu",
    "f6e2m3fn": "float6_e2m3fn",
    "f6e3m2fn": "float6_e3m2fn",
    "f4e2m1fn": "float4_e2m1fn",
}
"""Short IR name of each scalar type -> the name that users see."""


_KEPT_AS = {"tf32": "float32", "f4e2m1fn_unpacked": "float4_e2m1fn"}
"""Types without a dtype of their own in any array library."""


def numpy_dtype(t: types.DType) -> Any:
    """The dtype in which numpy keeps values of a type, its own or one of ml_dtypes.

    Raises `TileError` E2013 for a narrow float while ml_dtypes is not installed. Imports numpy.
    """
    import numpy as np  # tracing needs no array library

    name = _KEPT_AS.get(t.name) or LONG_NAMES[t.scalar.name]
    if t.is_bool or (t.bits >= 8 and not (t.is_float and t.bits < 16) and name != "bfloat16"):
        return np.dtype(name)
    try:
        import ml_dtypes  # most kernels need no narrow float, so it is not a dependency
    except ImportError as cause:
        raise TileError(
            "E2013",
            f"numpy has no dtype for {name}",
            notes=("the package ml-dtypes adds it, and is not installed",),
            help="pip install ml-dtypes, or use torch tensors",
        ) from cause
    return np.dtype(getattr(ml_dtypes, name))


class ElementType:
    """An element type.

    Equal to every spelling of the same type: text, array libraries' dtypes, `float`.
    """

    __slots__ = ("ir",)
    ir: types.DType

    @property
    def name(self) -> str:
        """The long name, as in `float16` or `float32x4`."""
        scalar = LONG_NAMES[self.ir.scalar.name]
        return scalar if self.ir.lanes == 1 else f"{scalar}x{self.ir.lanes}"

    @property
    def bits(self) -> int:
        """Bits of one lane."""
        return self.ir.bits

    @property
    def bytes(self) -> int:
        """Bytes of one whole value in memory, rounded up."""
        return self.ir.storage_bytes

    @property
    def itemsize(self) -> int:
        """Bytes of one whole value in memory, under the array libraries' name."""
        return self.ir.storage_bytes

    @property
    def lanes(self) -> int:
        """Number of lanes; 1 for a scalar type."""
        return self.ir.lanes

    def is_float4(self) -> bool:
        """Whether it is a 4-bit float, packed or not."""
        return self.ir.is_float and self.ir.bits == 4

    def is_float4_e2m1fn(self) -> bool:
        """Whether it is the packed 4-bit float."""
        return self.ir.scalar is types.f4e2m1fn

    def is_float4_e2m1_unpacked(self) -> bool:
        """Whether it is the 4-bit float that takes a byte."""
        return self.ir.scalar is types.f4e2m1fn_unpacked

    def as_torch(self) -> Any:
        """The dtype of torch of the same name.

        Raises `TileError` E1509 when torch has none. Imports torch.
        """
        import torch  # only who asks for a torch dtype pays for torch

        found = getattr(torch, self.name, None)
        if found is None:
            raise TileError(
                "E1509", f"torch has no dtype {self.name}", help="use a type that torch has"
            )
        return found

    def as_numpy(self) -> Any:
        """The dtype of numpy, or of ml_dtypes, in which arrays of this type are kept.

        Raises `TileError` E2013 for a narrow float while ml_dtypes is not installed.
        """
        return numpy_dtype(self.ir)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, ElementType):
            return self.ir is other.ir
        try:
            return types.dtype(other) is self.ir
        except TileError:
            return False

    def __hash__(self) -> int:
        return hash(self.name)

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"T.{self.name}"


def ir_dtype(spelling: object) -> types.DType:
    """The IR's type for any spelling of one, ours included.

    Raises `TileError` E0201 when it names none.
    """
    if isinstance(spelling, ElementType):
        return spelling.ir
    return types.dtype(spelling)
