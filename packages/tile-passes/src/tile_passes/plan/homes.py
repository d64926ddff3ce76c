"""What the Plan says about operands that registers hold throughout a loop."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tile_passes.plan.model import Plan
    from tile_passes.plan.survey import Keep, Survey

REGISTER, SHARED = "register", "shared"


def home_key(keep: Keep, kernel: str) -> str:
    """The key of the decision."""
    return f"{kernel}.{keep.product.name}.a_home"


def kept(found: Survey, kernel: str, plan: Plan) -> tuple[Keep, ...]:
    """The operands that registers hold by the Plan."""
    return tuple(k for k in found.keeps if plan.value(home_key(k, kernel), SHARED) == REGISTER)
