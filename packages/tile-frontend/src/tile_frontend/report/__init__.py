"""The text of `kernel.explain()`: the Plan's decisions and nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tile_passes.plan.explain import explain as decisions

if TYPE_CHECKING:
    from tile_passes.plan.model import Plan


def explain(plan: Plan, prefix: str | None = None) -> str:
    """The decisions whose key starts with `prefix` (all without), each with its reason and what it
    beat.
    """
    text = decisions(plan, prefix or "").rstrip("\n")
    if text:
        return text
    return "no decisions" if prefix is None else f"no decisions under {prefix}"
