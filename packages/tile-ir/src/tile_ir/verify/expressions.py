"""Typing rules of expressions. A right node is judged once: nodes are immutable and shared."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

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
    Unary,
    Var,
)
from tile_ir.functions import FUNCTIONS
from tile_ir.numerics import convert
from tile_ir.promotion import BINARY_OPS, UNARY_OPS, binary_result, operand_dtype, unary_result
from tile_ir.types import dtype, f64, i32
from tile_ir.verify.report import shown

if TYPE_CHECKING:
    from collections.abc import Callable

    from tile_ir.types import DType
    from tile_ir.verify.report import Report

_GOOD: WeakSet[Expr] = WeakSet()


_MADE = "make expressions with tile_ir.build, which knows the operators and functions"


def check_types(e: Expr, report: Report) -> None:
    """Report every node of `e` whose operands or type break its rule (E0406 to E0409)."""
    if e in _GOOD:
        return
    before = len(report.found)
    for child in e.children():
        check_types(child, report)
    _RULES[type(e)](e, report)
    if len(report.found) == before:
        _GOOD.add(e)


def _const(e: Const, report: Report) -> None:
    t, value = e.dtype, e.value
    if t.lanes != 1:
        report("E0409", f"the literal {value} has type {t}", fix="broadcast a scalar literal")
    elif t.is_float:
        held = isinstance(value, float) and (math.isnan(value) or convert(value, f64, t) == value)
        if not held:
            report(
                "E0409",
                f"{value!r} is not a value of {t}",
                "a literal holds the exact value that its type has",
                fix="make literals with tile_ir.build.const, which rounds",
            )
    elif t.is_bool is not isinstance(value, bool) or not isinstance(value, int):
        report("E0409", f"{value!r} is not a value of {t}", fix="make it with tile_ir.build.const")
    elif not t.min_value <= value <= t.max_value:
        report("E0409", f"{value} does not fit in {t}", fix="use a wider type")


def _var(e: Var, report: Report) -> None:
    """A name may stand for a value of any type: vector loops bind vectors."""


def _load(e: Load, report: Report) -> None:
    check_indices(e.buffer, e.indices, report)


def check_indices(buffer: str, indices: tuple[Expr, ...], report: Report) -> None:
    """Indices are integers, all but the last one scalars."""
    for axis, index in enumerate(indices):
        if not index.dtype.is_int:
            report("E0408", f"index {shown(index)} of {buffer} is {index.dtype}, not an integer")
        elif index.dtype.lanes > 1 and axis + 1 < len(indices):
            report("E0408", f"{buffer} has a vector index that is not the last one")


def _binary(e: Binary, report: Report) -> None:
    a, b = e.a.dtype, e.b.dtype
    op = "floordiv" if e.op == "ceildiv" else e.op
    if op not in BINARY_OPS:
        report("E0407", f"there is no binary operator {e.op!r}", fix=_MADE)
        return
    if a is not b:
        report("E0406", f"{e.op} has operands of {a} and {b}", f"in {shown(e)}")
        return
    try:
        operand, want = operand_dtype(op, a, b), binary_result(op, a, b)
    except TileError as error:
        report("E0406", error.message, f"in {shown(e)}", fix=error.help)
        return
    if operand is not a:
        report("E0406", f"{e.op} computes in {operand}, not in {a}", f"in {shown(e)}")
    elif e.dtype is not want:
        report("E0406", f"{e.op} of {a} is {want}, not {e.dtype}", f"in {shown(e)}")


def _unary(e: Unary, report: Report) -> None:
    if e.op not in UNARY_OPS:
        report("E0407", f"there is no unary operator {e.op!r}", fix=_MADE)
        return
    try:
        want = unary_result(e.op, e.a.dtype)
    except TileError as error:
        report("E0406", error.message, f"in {shown(e)}", fix=error.help)
        return
    if e.dtype is not want or (e.op == "not" and not e.a.dtype.is_bool):
        report("E0406", f"{e.op} of {e.a.dtype} is not {e.dtype}", f"in {shown(e)}")


def _select(e: Select, report: Report) -> None:
    if not e.cond.dtype.is_bool or e.cond.dtype.lanes not in (1, e.dtype.lanes):
        report("E0406", f"select chooses by {e.cond.dtype}, not by bool", f"in {shown(e)}")
    if e.t.dtype is not e.dtype or e.f.dtype is not e.dtype:
        report("E0406", f"select of {e.t.dtype} and {e.f.dtype} is {e.dtype}", f"in {shown(e)}")


def _cast(e: Cast, report: Report) -> None:
    if e.a.dtype.lanes != e.dtype.lanes:
        report("E0406", f"{e.a.dtype} is cast to {e.dtype}", "a cast keeps the number of lanes")


def _bitcast(e: Bitcast, report: Report) -> None:
    if e.a.dtype.storage_bits != e.dtype.storage_bits:
        report("E0406", f"{e.a.dtype} and {e.dtype} have different widths", f"in {shown(e)}")


def _call(e: Call, report: Report) -> None:
    row = FUNCTIONS.get(e.fn)
    if row is None:
        report("E0407", f"there is no function {e.fn!r}", fix=_MADE)
        return
    if len(e.args) != row.arity:
        report("E0407", f"{e.fn} takes {row.arity} arguments, not {len(e.args)}", fix=_MADE)
        return
    same = e.args
    if row.on == "exchange":
        same = e.args[:1]
        if any(a.dtype is not i32 for a in e.args[1:]):
            report("E0406", f"{e.fn} names a lane by i32", f"in {shown(e)}")
    types = {a.dtype for a in same}
    if len(types) > 1:
        names = " and ".join(sorted(t.name for t in types))
        report("E0406", f"{e.fn} has arguments of {names}", f"in {shown(e)}")
        return
    common = next(iter(types), dtype("i32"))
    if (row.on == "float" and not common.is_float) or (row.on == "int" and common.is_float):
        report("E0406", f"{e.fn} works on {row.on}, not on {common}", f"in {shown(e)}")
    want = _call_result(row.result, common)
    if e.dtype is not want:
        report("E0406", f"{e.fn} gives {want}, not {e.dtype}", f"in {shown(e)}")


def _call_result(result: str, common: DType) -> DType:
    if result == "lane":
        return common.scalar
    return common if result == "same" else dtype(result).with_lanes(common.lanes)


def _ramp(e: Ramp, report: Report) -> None:
    if not e.base.dtype.is_int or e.base.dtype.with_lanes(e.dtype.lanes) is not e.dtype:
        report("E0406", f"a ramp from {e.base.dtype} is not {e.dtype}", f"in {shown(e)}")


def _broadcast(e: Broadcast, report: Report) -> None:
    if e.a.dtype.lanes != 1 or e.a.dtype.with_lanes(e.dtype.lanes) is not e.dtype:
        report("E0406", f"{e.a.dtype} in every lane is not {e.dtype}", f"in {shown(e)}")


_RULES: dict[type[Expr], Callable[[Any, Report], None]] = {
    Const: _const,
    Var: _var,
    Load: _load,
    Binary: _binary,
    Unary: _unary,
    Select: _select,
    Cast: _cast,
    Bitcast: _bitcast,
    Call: _call,
    Ramp: _ramp,
    Broadcast: _broadcast,
}
