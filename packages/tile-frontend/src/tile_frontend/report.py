"""The text of `explain()`: the Plan's decisions and nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tile_passes.plan.model import Candidate, Decision, Plan


def explain(plan: Plan, prefix: str | None = None) -> str:
    """The decisions whose key starts with `prefix` (all without), each with its reason and what it
    beat.
    """
    chosen = [d for d in plan if prefix is None or d.key.startswith(prefix)]
    if not chosen:
        return "no decisions" if prefix is None else f"no decisions under {prefix}"
    width = max(len(d.key) for d in chosen)
    return "\n".join(line for d in chosen for line in _lines(d, width))


def _lines(d: Decision, width: int) -> list[str]:
    why = f"  {d.reason}" if d.reason else ""
    head = f"{d.key:<{width}}  = {text(d.value)}  [{d.by}]{why}"
    return [head, *(f"{'':<{width}}    {_candidate(c)}" for c in d.candidates)]


def _candidate(c: Candidate) -> str:
    cost = "" if c.cost is None else f" costs {c.cost:.4g}"
    return f"{text(c.value)}{cost}: {c.reason}" if c.reason else f"{text(c.value)}{cost}"


def text(value: Any) -> str:
    """A decision's value."""
    if isinstance(value, tuple):
        return "(" + ", ".join(text(v) for v in value) + ")"
    return str(value).lower() if isinstance(value, bool) else str(value)
