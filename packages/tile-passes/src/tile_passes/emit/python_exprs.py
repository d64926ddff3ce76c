"""Scalar expressions of the host as Python text. Integers are Python's, which do not overflow."""

from __future__ import annotations

import keyword
from typing import TYPE_CHECKING

from tile_ir.diag import InternalError
from tile_ir.expr import Binary, Call, Cast, Const, Expr, Select, Unary, Var

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["PythonNames", "python_text"]

INFIX = {
    "add": "+",
    "sub": "-",
    "mul": "*",
    "div": "/",
    "floordiv": "//",
    "floormod": "%",
    "and": "&",
    "or": "|",
    "xor": "^",
    "shl": "<<",
    "shr": ">>",
    "lt": "<",
    "le": "<=",
    "gt": ">",
    "ge": ">=",
    "eq": "==",
    "ne": "!=",
    "land": "and",
    "lor": "or",
}
FORMS = {
    "min": "min({a}, {b})",
    "max": "max({a}, {b})",
    "ceildiv": "-(-{a} // {b})",
    "truncdiv": "abs({a}) // abs({b}) * (1 if ({a} < 0) == ({b} < 0) else -1)",
    "truncmod": "abs({a}) % abs({b}) * (-1 if {a} < 0 else 1)",
}
"""Operators that Python does not write infix."""
UNARY = {"neg": "-{a}", "not": "not {a}", "bnot": "~{a}", "abs": "abs({a})"}


class PythonNames:
    """Identifiers of the emitted source, where Python's own words get a `_`."""

    def __init__(self, names: Mapping[str, str]) -> None:
        self._names = names

    def __getitem__(self, name: str) -> str:
        found = self._names[name]
        return f"{found}_" if keyword.iskeyword(found) else found


def python_text(e: Expr, names: PythonNames, atom: bool = False) -> str:
    """The text of `e`; with `atom` in parentheses unless it is one word.

    Raises InternalError E9001 for what a host does not compute (reads of buffers, math).
    """
    if isinstance(e, Const):
        text = repr(e.value)
        return f"({text})" if atom and text.startswith("-") else text
    if isinstance(e, Var):
        return names[e.name]
    if isinstance(e, Cast):
        return _cast(e, names, atom)
    if isinstance(e, Call) and e.fn == "device_workers":
        return "rt.workers()"
    text = _compound(e, names)
    return f"({text})" if atom else text


def _compound(e: Expr, names: PythonNames) -> str:
    if isinstance(e, Binary):
        x, y = (python_text(side, names, atom=True) for side in (e.a, e.b))
        if e.op in INFIX:
            return f"{x} {INFIX[e.op]} {y}"
        return FORMS[e.op].format(a=x, b=y)
    if isinstance(e, Unary):
        return UNARY[e.op].format(a=python_text(e.a, names, atom=True))
    if isinstance(e, Select):
        cond, t, f = (python_text(part, names, atom=True) for part in (e.cond, e.t, e.f))
        return f"{t} if {cond} else {f}"
    raise InternalError("E9001", f"`{e}` outside of a kernel")


def _cast(e: Cast, names: PythonNames, atom: bool) -> str:
    if e.dtype.is_bool:
        text = f"{python_text(e.a, names, atom=True)} != 0"
        return f"({text})" if atom else text
    if e.dtype.is_int and e.a.dtype.is_int:
        return python_text(e.a, names, atom)
    return f"{'int' if e.dtype.is_int else 'float'}({python_text(e.a, names)})"
