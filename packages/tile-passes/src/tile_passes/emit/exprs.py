"""Expressions as C text: binding strengths, carriers, and the two ways to read an integer.

As a *value* an i32 expression wraps at 32 bits, as the language says. As an *index* (subscripts,
loop bounds, guards) sums and products are taken at 64 bits, so that no offset overflows whatever
the sizes; loop variables and dimensions are declared that wide from the start.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tile_ir import build
from tile_ir.diag import InternalError
from tile_ir.expr import (
    Binary,
    Bitcast,
    Broadcast,
    Call,
    Cast,
    Const,
    Expr,
    Load,
    Ramp,
    Select,
    Unary,
    Var,
)
from tile_ir.types import i64
from tile_passes.emit.addresses import element_strides
from tile_passes.emit.dialect import COMPARISONS, CONDITIONAL, INFIX, PRIMARY, UNARY, Dialect

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tile_ir.core import Buffer

Text = tuple[str, int]
"""A piece of C and its binding strength."""

_EXACT = frozenset({"add", "sub", "mul"})


class ExprPrinter:
    """Prints expressions over the buffers and variables of one function.

    `wide` are the variables declared in the dialect's index type; `names` maps variables and
    buffers to identifiers.
    """

    def __init__(
        self,
        dialect: Dialect,
        buffers: Mapping[str, Buffer],
        names: Mapping[str, str],
        wide: set[Var],
    ) -> None:
        self.dialect = dialect
        self.buffers = buffers
        self.wide = wide
        self._names = names
        self._values: dict[Expr, Text] = {}
        self._indices: dict[Expr, Text] = {}

    def name(self, of: str) -> str:
        """The identifier of a variable or buffer."""
        return self._names[of]

    def value(self, e: Expr, least: int = 0) -> str:
        """The text of a value, in parentheses if it binds less than `least`."""
        found = self._values.get(e)
        if found is None:
            found = self._values[e] = _RULES[type(e)](self, e)
        return found[0] if found[1] >= least else f"({found[0]})"

    def index(self, e: Expr, least: int = 0) -> str:
        """The text of an integer at index width, in parentheses if it binds less than `least`."""
        found = self._indices.get(e)
        if found is None:
            found = self._indices[e] = self._make_index(e)
        return found[0] if found[1] >= least else f"({found[0]})"

    def code(self, e: Expr) -> str | None:
        """The bits of a computed value where they are at hand; None asks to compute and encode."""
        return None

    def gather(self, e: Load, buffer: Buffer, last: Expr) -> str:
        """The text of a vector whose elements lie at the indices `last` of the last axis."""
        first = self.offset(buffer, (*e.indices[:-1], Const(0, last.dtype.scalar)))
        place = f"&{self.name(e.buffer)}[{first}]"
        return self.dialect.gather(e.dtype, place, self.value(last))

    def condition(self, e: Expr) -> str:
        """The text of a truth value in a branch."""
        return self.value(e)

    def offset(self, buffer: Buffer, indices: Sequence[Expr]) -> str:
        """The element offset of `indices`; of the first lane where the last one is a ramp."""
        total: Expr = Const(0, i64)
        for i, stride in zip(indices, element_strides(buffer), strict=True):
            base = i.base if isinstance(i, Ramp) else i
            total = build.add(total, build.mul(build.cast(base, i64), stride))
        return self.index(total)

    def _make_index(self, e: Expr) -> Text:
        if isinstance(e, Const):
            return (str(int(e.value)), PRIMARY if e.value >= 0 else UNARY)
        if isinstance(e, Var) and e in self.wide:
            return (self.name(e.name), PRIMARY)
        if isinstance(e, Cast) and e.a.dtype.is_int and e.a.dtype.bits <= e.dtype.bits:
            self.index(e.a)
            return self._indices[e.a]
        if isinstance(e, Binary) and e.dtype.is_int:
            made = self._index_binary(e)
            if made is not None:
                return made
        if isinstance(e, Call) and not e.args:  # a property of the device: a small count
            return (self.value(e), PRIMARY)
        if isinstance(e, Select):
            cond, t = self.value(e.cond, CONDITIONAL + 1), self.index(e.t, CONDITIONAL + 1)
            return (f"{cond} ? {t} : {self.index(e.f, CONDITIONAL)}", CONDITIONAL)
        text = self.value(e, UNARY)
        return (text, UNARY) if e.dtype is i64 else (f"({self.dialect.index_type}){text}", UNARY)

    def _index_binary(self, e: Binary) -> Text | None:
        if e.op in _EXACT:
            sign, strength = INFIX[e.op].sign, INFIX[e.op].strength
            return (f"{self.index(e.a, strength)} {sign} {self.index(e.b, strength + 1)}", strength)
        if e.op in ("truncdiv", "truncmod") and isinstance(e.b, Const) and e.b.value > 0:
            sign, strength = INFIX[e.op].sign, INFIX[e.op].strength
            return (f"{self.index(e.a, strength)} {sign} {int(e.b.value)}", strength)
        if e.op in _DIVISIONS:
            return (self.dialect.operator(e.op, i64, self.index(e.a), self.index(e.b)), PRIMARY)
        return None

    def _const(self, e: Const) -> Text:
        text = self.dialect.literal(e)
        return (text, UNARY if text.startswith(("-", "(")) else PRIMARY)

    def _var(self, e: Var) -> Text:
        if e in self.wide and e.dtype is not i64:
            return (f"({self.dialect.carrier(e.dtype)}){self.name(e.name)}", UNARY)
        return (self.name(e.name), PRIMARY)

    def _load(self, e: Load) -> Text:
        buffer = self.buffers[e.buffer]
        if buffer.scope == "var":
            return (self.name(e.buffer), PRIMARY)
        if e.slot is not None:
            raise InternalError("E9001", f"a slot of {e.buffer} reached the emitter")
        last = e.indices[-1] if e.indices else None
        if last is not None and last.dtype.lanes > 1 and not isinstance(last, Ramp):
            return (self.gather(e, buffer, last), PRIMARY)
        at = self.offset(buffer, e.indices)
        return (self.dialect.read(e.dtype, self.name(e.buffer), at), PRIMARY)

    def _unary(self, e: Unary) -> Text:
        text = self.dialect.unary(e.op, e.dtype, self.value(e.a, UNARY))
        return (text, UNARY)

    def _binary(self, e: Binary) -> Text:
        t = e.a.dtype
        if e.op in COMPARISONS and self._is_plain_index(e.a) and self._is_plain_index(e.b):
            infix = INFIX[e.op]
            a, b = self.index(e.a, infix.strength + 1), self.index(e.b, infix.strength + 1)
            return (f"{a} {infix.sign} {b}", infix.strength)
        if not self.dialect.infix(e.op, t):
            return (self.dialect.operator(e.op, t, self.value(e.a), self.value(e.b)), PRIMARY)
        infix = INFIX[e.op]
        # Mixed bit operators, shifts and comparisons are parenthesized although C would not ask:
        # readers (and compilers, by warning) do.
        own = infix.strength if e.op in ("add", "sub", "mul", "div", "land", "lor") else UNARY
        text = (
            f"{self.value(e.a, own)} {infix.sign} {self.value(e.b, max(own, infix.strength + 1))}"
        )
        if e.op in COMPARISONS or e.dtype.is_bool:
            return (text, infix.strength)
        normal = self.dialect.normalize(e.dtype, text)
        return (text, infix.strength) if normal is text else (normal, UNARY)

    def _is_plain_index(self, e: Expr) -> bool:
        """Whether `e` is arithmetic on loop variables and constants: 64 bits are the truth."""
        if isinstance(e, Var):
            return e in self.wide
        if isinstance(e, Const):
            return e.dtype.is_int
        if isinstance(e, Call):
            return not e.args
        if isinstance(e, Binary):
            known = e.op in _EXACT or e.op in _DIVISIONS
            return known and self._is_plain_index(e.a) and self._is_plain_index(e.b)
        return False

    def _select(self, e: Select) -> Text:
        if e.cond.dtype.lanes > 1:
            cond, t, f = self.value(e.cond), self.value(e.t), self.value(e.f)
            return (self.dialect.select(e.dtype, cond, t, f), PRIMARY)
        cond, t = self.value(e.cond, CONDITIONAL + 1), self.value(e.t, CONDITIONAL + 1)
        return (f"{cond} ? {t} : {self.value(e.f, CONDITIONAL)}", CONDITIONAL)

    def _cast(self, e: Cast) -> Text:
        text = self.dialect.cast(e.a.dtype, e.dtype, self.value(e.a, UNARY))
        return (text, UNARY)

    def _bitcast(self, e: Bitcast) -> Text:
        return (self.dialect.bitcast(e.a.dtype, e.dtype, self.value(e.a)), PRIMARY)

    def _call(self, e: Call) -> Text:
        args = tuple(self.value(a) for a in e.args)
        return (self.dialect.call(e.fn, e.args[0].dtype if e.args else e.dtype, args), PRIMARY)

    def _ramp(self, e: Ramp) -> Text:
        return (self.dialect.ramp(e.dtype, self.value(e.base), e.stride), PRIMARY)

    def _broadcast(self, e: Broadcast) -> Text:
        return (self.dialect.broadcast(e.dtype, self.value(e.a)), PRIMARY)


_DIVISIONS = frozenset({"floordiv", "floormod", "truncdiv", "truncmod", "ceildiv", "min", "max"})

_RULES: dict[type[Expr], Callable[[ExprPrinter, object], Text]] = {
    Const: ExprPrinter._const,  # type: ignore[dict-item]  # each rule takes the class of its key
    Var: ExprPrinter._var,  # type: ignore[dict-item]
    Load: ExprPrinter._load,  # type: ignore[dict-item]
    Unary: ExprPrinter._unary,  # type: ignore[dict-item]
    Binary: ExprPrinter._binary,  # type: ignore[dict-item]
    Select: ExprPrinter._select,  # type: ignore[dict-item]
    Cast: ExprPrinter._cast,  # type: ignore[dict-item]
    Bitcast: ExprPrinter._bitcast,  # type: ignore[dict-item]
    Call: ExprPrinter._call,  # type: ignore[dict-item]
    Ramp: ExprPrinter._ramp,  # type: ignore[dict-item]
    Broadcast: ExprPrinter._broadcast,  # type: ignore[dict-item]
}
