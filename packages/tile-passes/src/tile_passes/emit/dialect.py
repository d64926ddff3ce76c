"""What differs between the C-family languages, as one value of tables and small functions."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tile_ir.diag import InternalError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tile_ir.expr import Expr
    from tile_ir.types import DType

# Binding strength in C, strongest first; a text of strength `s` needs parentheses where more is
# wanted.
PRIMARY, UNARY, MUL, ADD, SHIFT, REL, EQ, BIT_AND, BIT_XOR, BIT_OR, AND, OR, CONDITIONAL = range(
    15, 2, -1
)


@dataclass(frozen=True, slots=True)
class Infix:
    """A C operator: its sign and its binding strength."""

    sign: str
    strength: int


INFIX: dict[str, Infix] = {
    "add": Infix("+", ADD),
    "sub": Infix("-", ADD),
    "mul": Infix("*", MUL),
    "div": Infix("/", MUL),
    "truncdiv": Infix("/", MUL),
    "truncmod": Infix("%", MUL),
    "and": Infix("&", BIT_AND),
    "or": Infix("|", BIT_OR),
    "xor": Infix("^", BIT_XOR),
    "shl": Infix("<<", SHIFT),
    "shr": Infix(">>", SHIFT),
    "lt": Infix("<", REL),
    "le": Infix("<=", REL),
    "gt": Infix(">", REL),
    "ge": Infix(">=", REL),
    "eq": Infix("==", EQ),
    "ne": Infix("!=", EQ),
    "land": Infix("&&", AND),
    "lor": Infix("||", OR),
}
"""The operators that C writes infix; the others are calls everywhere."""

COMPARISONS = frozenset({"lt", "le", "gt", "ge", "eq", "ne"})


def _no_gather(dtype: DType, first: str, places: str) -> str:
    raise InternalError("E9001", f"elements {places} of {first} are read as one vector")


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """One language of the family.

    A *carrier* is the C type in which a value is computed; it may be wider than what memory holds
    (`storage`), and `normalize` brings a computed text back to the values of the narrow type. All
    functions get texts whose operands are already parenthesized as needed and return texts of
    PRIMARY strength, unless they say otherwise.
    """

    storage: Callable[[DType], str]
    carrier: Callable[[DType], str]
    literal: Callable[[Expr], str]
    """The text of a `Const`, of UNARY strength."""
    infix: Callable[[str, DType], bool]
    """Whether the operator on operands of this type is C's own."""
    operator: Callable[[str, DType, str, str], str]
    """The text of a binary operator that is not infix."""
    unary: Callable[[str, DType, str], str]
    normalize: Callable[[DType, str], str]
    cast: Callable[[DType, DType, str], str]
    bitcast: Callable[[DType, DType, str], str]
    select: Callable[[DType, str, str, str], str]
    """Of a vector; a scalar one is C's conditional operator."""
    call: Callable[[str, DType, tuple[str, ...]], str]
    read: Callable[[DType, str, str], str]
    """(dtype, array, offset): an access that the plain `array[offset]` does not express."""
    write: Callable[[DType, str, str, str], str]
    ramp: Callable[[DType, str, int], str]
    broadcast: Callable[[DType, str], str]
    write_converts: Callable[[DType, DType], bool]
    """Whether `write` of the second type takes a value of the first and rounds it by itself."""
    array_length: Callable[[DType, int], int]
    """How many `storage` elements hold that many values."""
    gather: Callable[[DType, str, str], str] = _no_gather
    """(dtype, pointer to the first element, vector of numbers): elements that lie anywhere."""
    index_type: str = "int64_t"
    """Wide enough for any element offset."""
    qualifiers: Mapping[str, str] = field(default_factory=dict)
    """Scope of an allocation -> the words in front of its declaration."""
    spaces: Mapping[str, str] = field(default_factory=dict)
    """Scope of memory -> the words in front of the type that a pointer into it points to."""
