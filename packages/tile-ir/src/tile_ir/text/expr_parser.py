"""Text to expressions, by precedence climbing.

Nodes are made as written: nothing is folded, cast or promoted.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from tile_ir.core import Buffer, Range, Region
from tile_ir.diag import TileError
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
    Slot,
    Unary,
    Var,
)
from tile_ir.functions import FUNCTIONS
from tile_ir.text.cursor import Cursor, suggestion
from tile_ir.text.expr_printer import COMPARE, INFIX, NAMED, NOT, PREFIX
from tile_ir.text.lexer import IDENT, NUMBER
from tile_ir.text.literals import find_type, named_type, parse_number, print_const
from tile_ir.types import DType, bool_, dtype, i32

if TYPE_CHECKING:
    from collections.abc import Callable

    from tile_ir.symbols import Symbols
    from tile_ir.text.lexer import Tokens

_BY_TOKEN = {token: (op, precedence) for op, (token, precedence) in INFIX.items()}
_TRUTH = frozenset({"lt", "le", "gt", "ge", "eq", "ne", "land", "lor"})
_PREFIX_OPS = {"-": "neg", "~": "bnot"}

ZERO = Const(0, i32)
ONE = Const(1, i32)


class ExprParser(Cursor):
    """Parses expressions, slots and regions over the names in `symbols`."""

    def __init__(self, tokens: Tokens, symbols: Symbols) -> None:
        super().__init__(tokens)
        self.symbols = symbols

    def expr(self, precedence: int = 0) -> Expr:
        """An expression whose operators bind at least as tightly as `precedence`."""
        left = self._prefix(precedence)
        kinds = self.kinds
        while True:
            at = self.at
            found = _BY_TOKEN.get(kinds[at])
            if found is None or found[1] < precedence:
                return left
            op, own = found
            self.at = at + 1
            right = self.expr(own + 1)
            left = self._binary(op, left, right, at)
            if own == COMPARE and _BY_TOKEN.get(kinds[self.at], ("", 0))[1] == COMPARE:
                raise self.error("E0004", "comparisons do not chain", "write a < b and b < c")

    def _binary(self, op: str, a: Expr, b: Expr, at: int) -> Expr:
        if a.dtype is not b.dtype:
            raise self._mixed(f"`{self.texts[at]}`", a.dtype, b.dtype, at)
        return Binary(op, a, b, _truth(a.dtype) if op in _TRUTH else a.dtype)

    def _mixed(self, what: str, a: DType, b: DType, at: int) -> TileError:
        one = print_const(1.0 if a.is_float else 1, a)
        return self.error(
            "E0011",
            f"{what} needs operands of one type, not {a} and {b}",
            f"convert one of them, as in {a}(...), or write a literal of its type, as in {one}",
            at,
        )

    def _prefix(self, precedence: int) -> Expr:
        at = self.at
        kind = self.kinds[at]
        if kind == IDENT:
            return self._named(at)
        if kind == NUMBER:
            self.at = at + 1
            return self._number(at, negative=False)
        if kind == "(":
            self.at = at + 1
            inner = self.expr()
            self.take(")")
            return inner
        if kind in ("true", "false"):
            self.at = at + 1
            return Const(kind == "true", bool_)
        if kind == "not" and precedence <= NOT:
            self.at = at + 1
            a = self.expr(NOT)
            return Unary("not", a, _truth(a.dtype))
        if kind not in _PREFIX_OPS:
            raise self.expected("an expression", "write a number, a name or an operation on them")
        self.at = at + 1
        if kind == "-" and self.kinds[at + 1] == NUMBER:
            self.at = at + 2
            return self._number(at + 1, negative=True)
        a = self.expr(PREFIX)
        return Unary(_PREFIX_OPS[kind], a, a.dtype)

    def _number(self, at: int, negative: bool) -> Expr:
        try:
            return Const(*parse_number(self.texts[at], negative))
        except TileError as error:
            raise error.at(self.span(at)) from None

    def _named(self, at: int) -> Expr:
        name = self.texts[at]
        self.at = at + 1
        follows = self.kinds[at + 1]
        if follows == "(":
            return self._call(name, at)
        if follows in ("[", "@"):
            return self._load(name, at)
        if follows == "<" and name == "bitcast":
            return self._bitcast()
        found = self.symbols.find(name)
        if type(found) is Var:
            return found
        if found is None:
            raise self.unknown(name, at)
        raise self.error(
            "E0018", f"{name} is a buffer, not a scalar", f"read an element: {name}[...]", at
        )

    def unknown(self, name: str, at: int) -> TileError:
        """The error that `name` means nothing here."""
        declare = "make it a parameter or a dimension, or bind it by a statement before this one"
        fix = suggestion(name, self.symbols.names(), declare)
        return self.error("E0006", f"{name} is not declared here", fix, at)

    def declared(self, name: str, at: int) -> Buffer:
        """The buffer of that name.

        Raises:
            TileError: E0006, E0018.
        """
        found = self.symbols.find(name)
        if isinstance(found, Buffer):
            return found
        if found is None:
            raise self.unknown(name, at)
        fix = "read it without brackets, or name a buffer"
        raise self.error("E0018", f"{name} is a scalar, not a buffer", fix, at)

    def _load(self, name: str, at: int) -> Expr:
        buffer = self.declared(name, at)
        slot = self.slot()
        indices = self.indices()
        self.check_rank(buffer, len(indices), at)
        lanes = indices[-1].dtype.lanes if indices else 1
        t = buffer.dtype if lanes == 1 else buffer.dtype.with_lanes(lanes)
        return Load(name, indices, t, slot)

    def check_rank(self, buffer: Buffer, given: int, at: int) -> None:
        """Refuse a number of indices or ranges that is not the buffer's rank.

        Raises:
            TileError: E0013.
        """
        if given != len(buffer.shape):
            message = f"{buffer.name} has {buffer.rank} axes but is indexed with {given}"
            raise self.error("E0013", message, f"give {buffer.rank}: one for each axis", at)

    def indices(self) -> tuple[Expr, ...]:
        """`[expr, ...]`."""
        self.take("[")
        out = []
        if not self.accept("]"):
            out.append(self.expr())
            while self.accept(","):
                out.append(self.expr())
            self.take("]")
        return tuple(out)

    def slot(self) -> Slot | None:
        """`@channel` or `@channel[-back]`, or nothing."""
        if not self.accept("@"):
            return None
        channel = self.name("the name of a channel")
        at = self.at
        if self.kinds[at : at + 5] == ["[", "-", NUMBER, "]", "["]:
            self.at = at + 1
            back = -self.integer()
            self.take("]")
            return Slot(channel, back)
        return Slot(channel)

    def region(self) -> Region:
        """`name[range, ...]` where a range is `:`, `start : +extent` or an index."""
        at = self.at
        name = self.name("the name of a buffer")
        buffer = self.declared(name, at)
        slot = self.slot()
        self.take("[")
        ranges: list[Range] = []
        while not self.accept("]"):
            if ranges:
                self.take(",")
            self.check_axis(buffer, len(ranges), at)
            ranges.append(self._range(buffer.shape[len(ranges)]))
        self.check_rank(buffer, len(ranges), at)
        return Region(name, tuple(ranges), slot)

    def check_axis(self, buffer: Buffer, axis: int, at: int) -> None:
        """Refuse an axis that the buffer does not have."""
        if axis >= len(buffer.shape):
            self.check_rank(buffer, axis + 1, at)

    def _range(self, size: Expr) -> Range:
        if self.accept(":"):
            return Range(ZERO, size)
        start = self.expr()
        if not self.accept(":"):
            return Range(start, ONE)
        self.take("+")
        return Range(start, self.expr())

    def type_name(self) -> DType:
        """The canonical name of a type.

        Raises:
            TileError: E0007.
        """
        at = self.at
        name = self.take(IDENT)
        try:
            return named_type(name)
        except TileError as error:
            raise error.at(self.span(at)) from None

    def _bitcast(self) -> Expr:
        self.take("<")
        t = self.type_name()
        self.take(">")
        (a,) = self._arguments("bitcast", 1, self.at)
        return Bitcast(a, t)

    def _call(self, name: str, at: int) -> Expr:
        form = _FORMS.get(name)
        if form is not None:
            return form(self, name, at)
        row = FUNCTIONS.get(name)
        if row is not None:
            args = self._arguments(name, row.arity, at)
            common = args[0].dtype if args else None
            for a in args[:1] if row.on == "exchange" else args:
                if a.dtype is not common:
                    raise self._mixed(name, args[0].dtype, a.dtype, at)
            return Call(name, args, _result(row.result, common))
        t = find_type(name)
        if t is None:
            fix = "call a type to convert, an operator such as min, or one of tile_ir.functions"
            near = suggestion(name, [*FUNCTIONS, *_FORMS], fix)
            raise self.error("E0008", f"there is no function {name}", near, at)
        (a,) = self._arguments(name, 1, at)
        return Cast(a, t)

    def _arguments(self, name: str, count: int, at: int) -> tuple[Expr, ...]:
        self.take("(")
        out: list[Expr] = []
        if self.kinds[self.at] != ")":
            out.append(self.expr())
            while self.accept(","):
                out.append(self.expr())
        if len(out) != count:
            fix = f"{name}({', '.join('abcdef'[:count])}) is its form"
            raise self.error("E0009", f"{name} takes {count} arguments, not {len(out)}", fix, at)
        self.take(")")
        return tuple(out)

    def form_binary(self, name: str, at: int) -> Expr:
        """`min(a, b)` and the other operators written as calls."""
        a, b = self._arguments(name, 2, at)
        if a.dtype is not b.dtype:
            raise self._mixed(name, a.dtype, b.dtype, at)
        return Binary(name, a, b, a.dtype)

    def form_abs(self, name: str, at: int) -> Expr:
        """`abs(a)`."""
        (a,) = self._arguments(name, 1, at)
        return Unary("abs", a, a.dtype)

    def form_select(self, name: str, at: int) -> Expr:
        """`select(condition, t, f)`."""
        cond, t, f = self._arguments(name, 3, at)
        if t.dtype is not f.dtype:
            raise self._mixed(name, t.dtype, f.dtype, at)
        return Select(cond, t, f, t.dtype)

    def form_ramp(self, name: str, at: int) -> Expr:
        """`ramp(base, stride, lanes)`."""
        self.take("(")
        base = self.expr()
        self.take(",")
        stride = self.integer()
        self.take(",")
        lanes = self.integer()
        self.take(")")
        return Ramp(base, stride, self._lanes(base.dtype, lanes, at))

    def form_broadcast(self, name: str, at: int) -> Expr:
        """`broadcast(a, lanes)`."""
        self.take("(")
        a = self.expr()
        self.take(",")
        lanes = self.integer()
        self.take(")")
        return Broadcast(a, self._lanes(a.dtype, lanes, at))

    def _lanes(self, t: DType, lanes: int, at: int) -> DType:
        try:
            return t.with_lanes(lanes)
        except TileError as error:
            raise error.at(self.span(at)) from None


@cache
def _truth(t: DType) -> DType:
    return bool_.with_lanes(t.lanes)


def _result(result: str, common: DType | None) -> DType:
    if result == "same":
        assert common is not None  # a function of the type of its arguments has one
        return common
    if result == "lane":
        assert common is not None
        return common.scalar
    return dtype(result) if common is None else dtype(result).with_lanes(common.lanes)


_FORMS: dict[str, Callable[[ExprParser, str, int], Expr]] = {
    **dict.fromkeys(NAMED, ExprParser.form_binary),
    "abs": ExprParser.form_abs,
    "select": ExprParser.form_select,
    "ramp": ExprParser.form_ramp,
    "broadcast": ExprParser.form_broadcast,
}
