"""Traced scalars: an expression under Python's operators, and the element types that make and
convert them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

from tile_frontend.trace import freshness, state
from tile_frontend.trace.element_types import ElementType, ir_dtype
from tile_frontend.trace.host_functions import OfTheDevice
from tile_ir import build
from tile_ir.diag import TileError
from tile_ir.expr import Const, Expr, Load, walk
from tile_ir.types import DType, i32, i64

if TYPE_CHECKING:
    from collections.abc import Callable

ExprLike = build.ExprLike


class Value(OfTheDevice):
    """A scalar that the kernel computes. Operators make new values; types meet as the language
    says.

    `origin` is the buffer element that a name was bound to, so that the name can still start a
    tile.
    """

    __slots__ = ("_expr", "born", "origin")

    def __init__(self, expr: Expr, origin: Any = None) -> None:
        self._expr = expr
        self.origin = origin
        self.born = state.now()

    @property
    def expr(self) -> Expr:
        """The expression; for a mutable scalar or an element, a load made where it is used."""
        return self._expr

    def read(self) -> Expr:
        """The expression, for use in a statement that is being made.

        Raises `TileError` E1214 when memory that it loads has changed since the value was made.
        """
        expr = self.expr
        if self.born != state.now() and has_load(expr):
            freshness.check(expr, self.born)
        return expr

    @property
    def dtype(self) -> dtype:
        """Its element type."""
        return dtype.of(self.expr.dtype)

    def astype(self, dtype: object) -> Value:
        """The value in another element type, as `T.cast` converts."""
        return Value(build.cast(self.read(), ir_dtype(dtype)))

    def __bool__(self) -> bool:
        value = self._now("a bool", "E1004", _NO_BOOL)
        return bool(value)

    def __index__(self) -> int:
        value = self._now("an int", "E1005", _NO_INT)
        if isinstance(value, float):
            raise TypeError(f"{value} is no index")
        return int(value)

    def __int__(self) -> int:
        return int(self._now("an int", "E1005", _NO_INT))

    def __float__(self) -> float:
        return float(self._now("a float", "E1005", _NO_FLOAT))

    def __format__(self, spec: str) -> str:
        if not spec:
            return repr(self)
        raise TileError(
            "E1005",
            f"`{self.expr}` is not known while the kernel is traced, so it cannot be formatted",
            notes=("its value exists only when the kernel runs",),
            help='T.print(x, "label") prints then',
        )

    def __iter__(self) -> NoReturn:
        raise TileError(
            "E1010",
            f"`{self.expr}` is one number: it can be neither iterated over nor unpacked",
            notes=("it has no parts",),
            help="a loop over it is T.serial(n); T.Kernel(n) gives one index, T.Kernel(n, m) two; "
            'T.const("M, N") gives two sizes',
        )

    def _now(self, what: str, code: str, instead: str) -> bool | int | float:
        expr = self.expr
        if isinstance(expr, Const):
            return expr.value
        raise TileError(
            code,
            f"`{expr}` is not known while the kernel is traced, so it cannot be {what} of Python",
            notes=("its value exists only when the kernel runs",),
            help=instead,
        )

    def __pow__(self, other: object) -> Value:
        raise _no_power()

    def __rpow__(self, other: object) -> Value:
        raise _no_power()

    def __neg__(self) -> Value:
        return Value(build.neg(self.read()))

    def __pos__(self) -> Value:
        return self

    def __abs__(self) -> Value:
        return Value(build.abs_(self.read()))

    def __invert__(self) -> Value:
        expr = self.read()
        return Value(build.logical_not(expr) if expr.dtype.is_bool else build.bit_not(expr))

    def __hash__(self) -> int:
        return hash(self.expr)

    def __repr__(self) -> str:
        return f"<{self.expr}: {self.dtype}>"

    def _binary(name: str) -> Callable[[Value, object], Value]:  # type: ignore[misc]
        def method(self: Value, other: object) -> Value:
            return binary(name, self, other)

        return method

    def _swapped(name: str) -> Callable[[Value, object], Value]:  # type: ignore[misc]
        def method(self: Value, other: object) -> Value:
            return binary(name, other, self)

        return method

    __add__, __radd__ = _binary("add"), _swapped("add")
    __sub__, __rsub__ = _binary("sub"), _swapped("sub")
    __mul__, __rmul__ = _binary("mul"), _swapped("mul")
    __truediv__, __rtruediv__ = _binary("div"), _swapped("div")
    __floordiv__, __rfloordiv__ = _binary("floordiv"), _swapped("floordiv")
    __mod__, __rmod__ = _binary("floormod"), _swapped("floormod")
    __and__, __rand__ = _binary("and"), _swapped("and")
    __or__, __ror__ = _binary("or"), _swapped("or")
    __xor__, __rxor__ = _binary("xor"), _swapped("xor")
    __lshift__, __rlshift__ = _binary("shl"), _swapped("shl")
    __rshift__, __rrshift__ = _binary("shr"), _swapped("shr")
    __lt__, __le__ = _binary("lt"), _binary("le")
    __gt__, __ge__ = _binary("gt"), _binary("ge")
    __eq__, __ne__ = _binary("eq"), _binary("ne")  # type: ignore[assignment]  # traced, not a bool
    del _binary, _swapped


_NO_BOOL = "use `if` in the kernel itself or in a T.macro, T.if_then_else, T.min or T.max"
_NO_INT = (
    "use a T.const dimension or a Python argument, or T.serial for a loop over it; "
    "T.cast converts in the kernel"
)
_NO_FLOAT = (
    "use the language's function, such as T.sqrt, or T.cast to convert in the kernel; "
    "a T.const dimension or a Python argument is a number already"
)


def _no_power() -> TileError:
    return TileError(
        "E1206",
        "`**` is not an operator of the language",
        notes=("for a constant exponent a product is exact and faster",),
        help="write x * x, or T.pow(x, y)",
    )


def binary(op: str, a: object, b: object) -> Value:
    """The operator `op` of `tile_ir.build` on anything that has a scalar value."""
    return Value(build.binary(op, lift(a), lift(b)))


def lift(x: object) -> ExprLike:
    """An operand for the IR's constructors: an expression, or a Python literal that takes its type
    there.

    Raises `TileError` E1207 for what is no scalar, E1210 for a buffer.
    """
    if isinstance(x, Value):
        return x.read()
    if type(x) in _LITERALS:
        return x  # type: ignore[return-value]
    return _lift_rare(x)


_LITERALS = frozenset({bool, int, float})


def _lift_rare(x: object) -> ExprLike:
    if isinstance(x, Expr):
        return x
    if isinstance(x, int):
        return int(x)
    if isinstance(x, float):
        return float(x)
    item = getattr(x, "item", None)
    if callable(item) and getattr(x, "shape", None) == ():
        plain = item()
        if type(plain) is int or type(plain) is bool:
            return plain
        return build.const(plain, ir_dtype(getattr(x, "dtype", float)))
    if hasattr(x, "__tile_buffer__"):
        raise TileError(
            "E1210",
            f"{x!r} is a whole buffer where a scalar is needed",
            notes=("arithmetic is written element by element",),
            help="index it inside `for i, j in T.Parallel(...)`, or use a tile operation",
        )
    raise TileError(
        "E1207",
        f"an object of type {type(x).__name__} has no scalar value in a kernel",
        help="use numbers, traced values, or elements of buffers",
    )


def expr_of(x: object, other: Expr | None = None) -> Expr:
    """The expression of `x`; a literal takes the type it has next to `other`, else bool, i32 (i64),
    f32.
    """
    lifted = lift(x)
    if isinstance(lifted, Expr):
        return lifted
    if other is None and type(lifted) is int and not i32.min_value <= lifted <= i32.max_value:
        return build.const(lifted, i64)
    return build.as_expr(lifted, other)


def const_of(x: object) -> bool | int | float | None:
    """The Python number that `x` is or is traced to, else None."""
    if isinstance(x, Value):
        expr = x.expr
        return expr.value if isinstance(expr, Const) else None
    if isinstance(x, (bool, int, float)):
        return x
    return None


def static_int(x: object) -> int | None:
    """The Python int that `x` is or is traced to, else None (a bool or float is none)."""
    plain = isinstance(x, Value) or type(x) is int
    value = const_of(x) if plain else _index_of(x)
    return int(value) if isinstance(value, int) and not isinstance(value, bool) else None


def _index_of(x: object) -> int | None:
    index = getattr(type(x), "__index__", None)
    return None if index is None or isinstance(x, bool) else index(x)


def unwrap(expr: Expr) -> Any:
    """An integer constant as a Python int, anything else as a traced value: what a shape shows its
    user.
    """
    if isinstance(expr, Const) and expr.dtype.is_int:
        return int(expr.value)
    return Value(expr)


def has_load(expr: Expr) -> bool:
    """Whether evaluating `expr` reads memory, so that when it is evaluated matters."""
    if not expr.children():
        return isinstance(expr, Load)
    return any(isinstance(node, Load) for node in walk(expr))


class dtype(ElementType):
    """An element type that is called to make values of it.

    `T.float16(1)` is a typed constant, `T.float16(x)` converts, `T.float32x4(x)` puts x in every
    lane. `T.dtype("float16")` is the type named by any spelling. Raises `TileError` E0201 for an
    unknown spelling.

    Example: `T.dtype("float16")(x)`
    """

    __slots__ = ()
    _made: ClassVar[dict[DType, dtype]] = {}

    def __new__(cls, spelling: object) -> dtype:
        return cls.of(ir_dtype(spelling))

    @classmethod
    def of(cls, ir: DType) -> dtype:
        """The user's view of the IR's type."""
        found = cls._made.get(ir)
        if found is None:
            found = object.__new__(cls)
            found.ir = ir
            cls._made[ir] = found
        return found

    def __call__(self, *values: object) -> Value:
        """Convert one scalar.

        Raises `TileError` E1508 for several (packing) or none (a variable).
        """
        if len(values) != 1:
            raise TileError(
                "E1508",
                f"{self.name}(...) takes one value, not {len(values)}",
                help="T.Broadcast and T.Ramp make vectors; names make variables",
            )
        lifted = lift(values[0])
        if isinstance(lifted, Expr):
            return Value(build.cast(lifted, self.ir))
        if isinstance(lifted, float) and not self.ir.is_float:
            return Value(build.cast(build.const(lifted, "f64"), self.ir))
        return Value(build.const(lifted, self.ir))

    def __reduce__(self) -> tuple[object, ...]:
        return (dtype, (self.name,))
