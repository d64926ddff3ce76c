"""The stage layer: which ops may exist at which stage."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tile_ir.opdef import OpDef
    from tile_ir.verify.context import Context


def check_stage(op: OpDef, cx: Context) -> None:
    """Report an op that the function's stage does not know (E0460)."""
    if cx.stage not in op.stages:
        known = ", ".join(sorted(s.value for s in op.stages))
        cx.report(
            "E0460", f"{op.name} does not exist at stage {cx.stage.value}", f"only at {known}"
        )
