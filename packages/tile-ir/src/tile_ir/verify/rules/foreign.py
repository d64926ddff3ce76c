"""Rules of functions that are given as source text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tile_ir import ops
from tile_ir.expr import Load

if TYPE_CHECKING:
    from collections.abc import Callable

    from tile_ir.opdef import Stmt
    from tile_ir.verify.context import Context


def _call_extern(s: ops.CallExtern, cx: Context) -> None:
    cx.check_name(s.name)
    for at in s.places:
        if not 0 <= at < len(s.args) or not isinstance(s.args[at], Load):
            cx.report("E0465", f"argument {at} of {s.name} is no element, and has no address")


RULES: dict[type[Stmt], Callable[[Any, Context], None]] = {ops.CallExtern: _call_extern}
