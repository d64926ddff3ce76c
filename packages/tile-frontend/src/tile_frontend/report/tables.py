"""Tables of a report: decisions with what they beat, and what was counted of each launch."""

from __future__ import annotations

from dataclasses import asdict, is_dataclass
from html import escape
from typing import TYPE_CHECKING, Any

from tile_passes.plan.text import print_value

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tile_passes.decisions import Decision, Plan, PlanValue
    from tile_passes.model import Prediction

__all__ = ["counters", "decisions"]


def decisions(plan: Plan) -> str:
    """Every decision: key, value, who made it and why; folded below it the alternatives with their
    costs."""
    rows = "".join(_decision(d) for d in plan)
    return f'<div class="decisions">{rows}</div>' if rows else '<p class="none">There are none.</p>'


def _decision(d: Decision) -> str:
    others = [c for c in d.candidates if c.value != d.value]
    by = "" if d.by == "model" else f'<span class="by">by {escape(d.by)}</span>'
    head = (
        f'<span class="key">{escape(d.key)}</span><code>{escape(_text(d.value))}</code>{by}'
        f'<span class="why">{escape(d.reason)}</span>'
    )
    if not others:
        return f'<div class="decision">{head}</div>'
    listed = "".join(
        f"<li><code>{escape(_text(c.value))}</code> "
        f"{'' if c.cost is None else f'<b>{c.cost:g}</b>'} {escape(c.reason)}</li>"
        for c in others
    )
    return (
        f'<details class="decision"><summary>{head}<span class="count">{len(others)} not taken'
        f"</span></summary><ul>{listed}</ul></details>"
    )


def _text(value: PlanValue) -> str:
    return value if isinstance(value, str) else print_value(value)


def counters(prediction: Prediction, usage: Mapping[str, Any]) -> str:
    """What the device's compiler counted of each launch, and how many blocks fit a core."""
    rows = []
    for k in prediction.kernels:
        found = next((u for name, u in usage.items() if k.name in name), None)
        counted = asdict(found) if is_dataclass(found) and not isinstance(found, type) else {}
        facts: dict[str, object] = {name.replace("_", " "): n for name, n in counted.items()}
        limit = f", a block takes {k.limiter}" if k.limiter else ""
        facts["blocks on a core"] = f"{k.blocks_per_core}{limit}"
        facts["tiles"] = f"{k.tiles:,} in {k.waves:.2f} waves"
        cells = "".join(f"<dt>{escape(n)}</dt><dd>{escape(str(v))}</dd>" for n, v in facts.items())
        rows.append(f"<h3>{escape(k.name)}</h3><dl>{cells}</dl>")
    if not usage:
        rows.append('<p class="none">The device&#x27;s compiler was not asked for its counts.</p>')
    return "".join(rows)
