"""Places in memory: references to elements where programs for other compilers take addresses, and
words of 32 bits read and written at them.

A place is never a number, so that it cannot leave its buffer unseen.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

from tile_frontend.language.vectors import Lanes, bits_as, lanes_of
from tile_frontend.trace import state
from tile_frontend.trace.buffers import BufferRef, Element, RegionRef
from tile_frontend.trace.logic import truth
from tile_frontend.trace.values import Value, static_int
from tile_ir import build
from tile_ir.diag import TileError
from tile_ir.ops import If
from tile_ir.types import u32

if TYPE_CHECKING:
    from collections.abc import Callable

    from tile_ir.expr import Expr
    from tile_ir.types import DType

_WIDTHS = {"global": (32, 64, 128, 256), "shared": (32, 64, 128)}
_WORDS = {"global": ("ldg", "stg"), "shared": ("lds", "sts")}

__all__ = [
    "access_ptr",
    "address_of",
    "get_let_value",
    "has_let_value",
    *(f"{name}{bits}" for scope in _WORDS for name in _WORDS[scope] for bits in _WIDTHS[scope]),
]


class Place:
    """A reference to an element: where a tile starts, or what an operation takes as address."""

    __slots__ = ("origin",)

    def __init__(self, origin: Element) -> None:
        self.origin = origin

    @property
    def __tile_buffer__(self) -> NoReturn:
        """What is asked of operands that have no value.

        Raises `TileError` E1505: an address would be one.
        """
        raise TileError(
            "E1505",
            f"{self!r} is used as a number",
            help="index the buffer to read the element; pass the place on as it is",
        )

    def __repr__(self) -> str:
        return f"the place of an element of {self.origin.ref.name}"


def element_at(x: Any, what: str) -> Element:
    """The element that a place, an element, a buffer or a region begins with.

    Raises `TileError` E1405 for anything else.
    """
    if isinstance(x, BufferRef):
        return x[(0,) * x.ndim]  # type: ignore[no-any-return]  # no slice, so an element
    if isinstance(x, RegionRef):
        return Element(x.ref, tuple(r.start for r in x.ranges))
    origin = getattr(x, "origin", None)
    if isinstance(origin, Element):
        return origin
    raise TileError(
        "E1405",
        f"{what} takes a place in a buffer, not {x!r}",
        help="pass an element A[i, j], a buffer, or T.address_of(A[i, j])",
    )


def neighbours(place: Element, count: int) -> list[tuple[Expr, ...]]:
    """The indices of `count` elements along the last axis, from a place on."""
    *front, last = place.indices
    return [(*front, build.add(last, n) if n else last) for n in range(count)]


def address_of(obj: Any) -> Place:
    """The place of an element, for operations that take addresses in other compilers. It is no
    number.

    Raises `TileError` E1405 for what is in no buffer.
    Example: `T.copy(T.address_of(A[0, 0]), S)`
    """
    return Place(element_at(obj, "T.address_of"))


def access_ptr(
    base: Any,
    access_type: str = "r",
    *extents: Any,
    offset: Any = 0,
    extent: Any = None,
    ignore_last_ndim: int = 0,
) -> Place:
    """The place where a buffer, a region or an element begins, `offset` elements further in a
    buffer of one axis.

    `access_type`, `extents`, `extent` and `ignore_last_ndim` tell other compilers what is read and
    written; here the operation that takes the place knows.

    Raises `TileError` E1405 for what is in no buffer, E1503 for an offset in several axes.
    Example: `T.copy(T.access_ptr(A[16, 0], "r"), S[0:16, 0:64])`
    """
    place = element_at(base, "T.access_ptr")
    if static_int(offset) == 0:
        return Place(place)
    if len(place.indices) != 1:
        raise TileError(
            "E1503",
            f"T.access_ptr has offset= in {place.ref.name}, which has {len(place.indices)} axes",
            help=f"name the element: T.access_ptr({place.ref.name}[i, j])",
        )
    return Place(place.ref[Value(place.indices[0]) + offset])


def has_let_value(var: Any) -> bool:
    """Whether `var` is a name that was bound to an element of a buffer.

    Raises nothing.
    Example: `T.has_let_value(x)`
    """
    return isinstance(var, Value) and isinstance(var.origin, Element) and var.origin is not var


def get_let_value(var: Any) -> Any:
    """The element that the name `var` was bound to, else `var` itself.

    Raises nothing.
    Example: `T.get_let_value(x)`
    """
    return var.origin if has_let_value(var) else var


def _count(bits: int, dtype: DType, what: str) -> int:
    """How many elements so many bits are."""
    width = dtype.storage_bits
    if width < 8 or bits % width or dtype.is_bool:
        raise TileError(
            "E1422",
            f"{what} moves {bits} bits of {dtype}",
            help="use elements of 8, 16, 32 or 64 bits; T.copy moves any",
        )
    return bits // width


def _in_scope(x: Any, scope: str, what: str) -> Element:
    b = state.builder(what)
    if b.inside("kernel") is None:
        b.need_kernel(what)
    place = element_at(x, what)
    if place.ref.scope() != scope:
        raise TileError(
            "E1408",
            f"{what} is given {place.ref!r}",
            help=f"it works on {scope} buffers; index any buffer plainly",
        )
    return place


def _read(x: Any, pred: Any, scope: str, bits: int, what: str) -> Value:
    b = state.builder(what)
    place = _in_scope(x, scope, what)
    buffer = place.ref.buffer
    elements: list[Expr] = []
    for indices in neighbours(place, _count(bits, buffer.dtype, what)):
        element: Expr = build.load(buffer, indices)
        if pred is not None:
            element = build.select(truth(pred), element, build.const(0, buffer.dtype))
        elements.append(b.let("element", element).expr)
    words = bits_as(elements, u32)
    return Value(words[0]) if len(words) == 1 else Lanes(words)


def _write(x: Any, value: Any, pred: Any, scope: str, bits: int, what: str) -> None:
    b = state.builder(what)
    place = _in_scope(x, scope, what)
    buffer = place.ref.buffer
    count = _count(bits, buffer.dtype, what)
    words = lanes_of(value)
    if len(words) != bits // 32 or any(w.dtype.storage_bits != 32 for w in words):
        raise TileError(
            "E1422",
            f"{what} is given {len(words)} lanes of {words[0].dtype}",
            help=f"give it {bits // 32} of 32 bits, as T.{_WORDS[scope][0]}{bits} reads them",
        )
    words = [b.let("word", w).expr for w in words]
    branch = None if pred is None else b.open("if")
    for indices, element in zip(
        neighbours(place, count), bits_as(words, buffer.dtype), strict=True
    ):
        b.store(buffer, indices, element)
    if branch is not None:
        b.emit(If(cond=truth(pred), then=b.close(branch), span=b.span))


def _reader(name: str, scope: str, bits: int) -> Callable[..., Value]:
    def function(src: Any, pred: Any = None) -> Value:
        return _read(src, pred, scope, bits, f"T.{name}")

    words = bits // 32
    result = "a uint32" if words == 1 else f"a vector of {words} uint32"
    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"""{bits} bits of a {scope} buffer from the place `src` on, as {result}.

    Elements follow each other along the last axis, the first in the lowest bits. Where `pred` does
    not hold nothing is read and the result is 0.

    Raises `TileError` E1408 for another scope, E1422 for elements narrower than a byte.
    Example: `T.{name}({"A" if scope == "global" else "S"}[0, 0])`
    """
    return function


def _writer(name: str, scope: str, bits: int) -> Callable[..., None]:
    def function(dst: Any, value: Any, pred: Any = None) -> None:
        _write(dst, value, pred, scope, bits, f"T.{name}")

    buffer = "B" if scope == "global" else "S2"
    source = f"T.{_WORDS[scope][0]}{bits}({'A' if scope == 'global' else 'S'}[0, 0])"
    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"""Write {bits} bits to a {scope} buffer from the place `dst` on, where
    `pred` holds.

    `value` has the form that `T.{_WORDS[scope][0]}{bits}` gives.

    Raises `TileError` E1408 for another scope, E1422 for a value of another size or elements
    narrower than a byte.
    Example: `T.{name}({buffer}[0, 0], {source})`
    """
    return function


for _scope, _names in _WORDS.items():
    for _bits in _WIDTHS[_scope]:
        _load, _store = f"{_names[0]}{_bits}", f"{_names[1]}{_bits}"
        globals()[_load] = _reader(_load, _scope, _bits)
        globals()[_store] = _writer(_store, _scope, _bits)
