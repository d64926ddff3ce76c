"""A stranger's pass: `x * 1.0` is `x`, exactly, for every floating-point `x`.

The simplifier of the compiler leaves floating-point arithmetic alone, so what this pass did can be
seen in the program. The manifest names its place; nothing in the compiler knows this module.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tile_ir.plugin import PassManifest

if TYPE_CHECKING:
    from tile_ir.core import Function
    from tile_ir.expr import Expr
    from tile_passes.base import Pass, PassContext
    from tile_passes.plan.model import Plan

MANIFEST = PassManifest(
    name="fold-times-one",
    description="drop multiplications by one",
    plugin_api=1,
    factory="tile_toy_pass:make",
    phase="legalize",
    after=("simplify",),
)


def make() -> Pass:
    """Return the pass."""
    from tile_passes.base import Pass

    return Pass(name=MANIFEST.name, phase=MANIFEST.phase, rewrite=fold, doc=MANIFEST.description)


def fold(function: Function, cx: PassContext, plan: Plan) -> Function:
    """Return the function without multiplications by one; itself when it has none.

    before:  store x[i] = x[i] * 1.0
    after:   store x[i] = x[i]
    """
    from tile_ir.expr import rewrite
    from tile_ir.rewrite import map_all_exprs, with_body

    memo: dict[Expr, Expr] = {}
    body = map_all_exprs(function.body, lambda e: rewrite(e, _without_one, memo))
    return with_body(function, body)


def _without_one(e: Expr) -> Expr | None:
    from tile_ir.expr import Binary, Const

    if isinstance(e, Binary) and e.op == "mul" and e.dtype.is_float:
        for one, other in ((e.a, e.b), (e.b, e.a)):
            if isinstance(one, Const) and one.value == 1:
                return other
    return None
