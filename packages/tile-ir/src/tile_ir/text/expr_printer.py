"""Expressions as text: infix operators with as few parentheses as the tree needs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

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
from tile_ir.text.literals import print_const, word

if TYPE_CHECKING:
    from collections.abc import Callable

INFIX: dict[str, tuple[str, int]] = {
    "lor": ("or", 1),
    "land": ("and", 2),
    "lt": ("<", 4),
    "le": ("<=", 4),
    "gt": (">", 4),
    "ge": (">=", 4),
    "eq": ("==", 4),
    "ne": ("!=", 4),
    "or": ("|", 5),
    "xor": ("^", 6),
    "and": ("&", 7),
    "shl": ("<<", 8),
    "shr": (">>", 8),
    "add": ("+", 9),
    "sub": ("-", 9),
    "mul": ("*", 10),
    "div": ("/", 10),
    "floordiv": ("//", 10),
    "floormod": ("%", 10),
}
"""Binary operator -> (token, precedence). All associate to the left, comparisons not at all."""

NOT, COMPARE, PREFIX, ATOM = 3, 4, 11, 12
"""Precedence of `not`, of comparisons, of `-` and `~`, and of everything in parentheses."""

NAMED = ("min", "max", "ceildiv", "truncdiv", "truncmod")
"""Binary operators written as calls."""

Printed = tuple[str, int]


class ExprPrinter:
    """Prints expressions; remembers what it printed, because shared nodes are common."""

    __slots__ = ("_memo",)

    def __init__(self) -> None:
        self._memo: dict[Expr, Printed] = {}

    def __call__(self, e: Expr) -> str:
        """The text of `e`."""
        return self._print(e)[0]

    def _print(self, e: Expr) -> Printed:
        found = self._memo.get(e)
        if found is None:
            found = self._memo[e] = _RULES[type(e)](self, e)
        return found

    def at_least(self, e: Expr, precedence: int) -> str:
        """The text of `e`, in parentheses when it binds looser than `precedence`."""
        text, own = self._print(e)
        return text if own >= precedence else f"({text})"

    def commas(self, items: tuple[Expr, ...]) -> str:
        """The texts of `items` with commas between."""
        return ", ".join([self._print(e)[0] for e in items])


def print_slot(slot: Slot | None) -> str:
    """`@channel`, with `[-back]` for an earlier slot; nothing for None."""
    if slot is None:
        return ""
    return f"@{word(slot.channel)}" + (f"[-{slot.back}]" if slot.back else "")


def _const(p: ExprPrinter, e: Const) -> Printed:
    text = print_const(e.value, e.dtype)
    return text, PREFIX if text.startswith("-") else ATOM


def _var(p: ExprPrinter, e: Var) -> Printed:
    return e.name, ATOM


def _load(p: ExprPrinter, e: Load) -> Printed:
    return f"{e.buffer}{print_slot(e.slot)}[{p.commas(e.indices)}]", ATOM


def _unary(p: ExprPrinter, e: Unary) -> Printed:
    if e.op == "abs":
        return f"abs({p(e.a)})", ATOM
    if e.op == "not":
        return f"not {p.at_least(e.a, NOT)}", NOT
    # `-1` is a literal, so the negation of a literal keeps parentheses.
    text = f"({p(e.a)})" if type(e.a) is Const else p.at_least(e.a, PREFIX)
    return ("-" if e.op == "neg" else "~") + text, PREFIX


def _binary(p: ExprPrinter, e: Binary) -> Printed:
    infix = INFIX.get(e.op)
    if infix is None:
        return f"{e.op}({p(e.a)}, {p(e.b)})", ATOM
    token, own = infix
    left = p.at_least(e.a, own + (own == COMPARE))
    return f"{left} {token} {p.at_least(e.b, own + 1)}", own


def _select(p: ExprPrinter, e: Select) -> Printed:
    return f"select({p(e.cond)}, {p(e.t)}, {p(e.f)})", ATOM


def _cast(p: ExprPrinter, e: Cast) -> Printed:
    return f"{e.dtype.name}({p(e.a)})", ATOM


def _bitcast(p: ExprPrinter, e: Bitcast) -> Printed:
    return f"bitcast<{e.dtype.name}>({p(e.a)})", ATOM


def _call(p: ExprPrinter, e: Call) -> Printed:
    return f"{e.fn}({p.commas(e.args)})", ATOM


def _ramp(p: ExprPrinter, e: Ramp) -> Printed:
    return f"ramp({p(e.base)}, {e.stride}, {e.dtype.lanes})", ATOM


def _broadcast(p: ExprPrinter, e: Broadcast) -> Printed:
    return f"broadcast({p(e.a)}, {e.dtype.lanes})", ATOM


_RULES: dict[type[Expr], Callable[[ExprPrinter, Any], Printed]] = {
    Const: _const,
    Var: _var,
    Load: _load,
    Unary: _unary,
    Binary: _binary,
    Select: _select,
    Cast: _cast,
    Bitcast: _bitcast,
    Call: _call,
    Ramp: _ramp,
    Broadcast: _broadcast,
}
