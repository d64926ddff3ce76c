"""`explain`: the decisions of a Plan for a person to read, with the alternatives that lost. Nothing
else is printed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tile_passes.plan.text import print_value

if TYPE_CHECKING:
    from tile_passes.plan.model import Candidate, Plan, PlanValue

_MOST_SHOWN = 8
"""Alternatives printed for one decision."""


def explain(plan: Plan, prefix: str = "") -> str:
    """The decisions whose key starts with `prefix`, one line each; below it what was weighed
    against it.
    """
    lines: list[str] = []
    for d in plan:
        if not d.key.startswith(prefix):
            continue
        by = "" if d.by == "model" else f" (by {d.by})"
        why = f": {d.reason}" if d.reason else ""
        lines.append(f"{d.key} = {_short(d.value)}{by}{why}")
        others = [c for c in d.candidates if c.value != d.value]
        lines += [f"    not {_short(c.value)}{_cost(c)}" for c in others[:_MOST_SHOWN]]
        if len(others) > _MOST_SHOWN:
            lines.append(f"    and {len(others) - _MOST_SHOWN} more")
    return "".join(f"{line}\n" for line in lines)


def _short(value: PlanValue) -> str:
    return value if isinstance(value, str) else print_value(value)


def _cost(c: Candidate) -> str:
    number = "" if c.cost is None else f" {c.cost:g}"
    reason = f" {c.reason}" if c.reason else ""
    return f":{number}{reason}" if number or reason else ""
