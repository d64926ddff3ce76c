"""Pins: decisions that the user made. They are taken as given, and refused when they name nothing
or are impossible.
"""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING

from tile_ir.diag import TileError
from tile_passes.base import Pass
from tile_passes.plan.model import Candidate, Decision, Plan, PlanValue

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tile_ir.core import Function
    from tile_passes.base import PassContext


def as_value(value: object) -> PlanValue:
    """A pin's value as a Plan holds it: lists become tuples.

    Raises:
        TileError: E0702 for a value of another kind.
    """
    if isinstance(value, (list, tuple)):
        return tuple(as_value(v) for v in value)
    if isinstance(value, (bool, int, float, str)):
        return value
    fix = "pass a bool, a number, text, or a list or tuple of those"
    raise TileError("E0702", f"a pin cannot be a {type(value).__name__}", help=fix)


def pinned(cx: PassContext, key: str) -> PlanValue | None:
    """The user's value for a decision, or None."""
    return as_value(cx.pins[key]) if key in cx.pins else None


def impossible(key: str, value: PlanValue, why: str, possible: str) -> TileError:
    """The error for a pin that cannot be met."""
    return TileError(
        "E0702",
        f"{key} cannot be {value!r}",
        notes=(why,) if why else (),
        help=f"possible: {possible}",
    )


def decide(
    plan: Plan,
    cx: PassContext,
    key: str,
    value: PlanValue,
    *,
    reason: str,
    allowed: Sequence[PlanValue] | None = None,
    candidates: tuple[Candidate, ...] = (),
    by: str = "model",
) -> Plan:
    """Record a decision: the pin when there is one, else `value`.

    Raises:
        TileError: E0702 when the pin is none of `allowed` (None: any value of the kind of `value`).
    """
    pin = pinned(cx, key)
    if pin is None:
        return plan.decide(
            Decision(key=key, value=value, by=by, reason=reason, candidates=candidates)
        )
    if allowed is not None and pin not in allowed:
        only = reason if len(allowed) == 1 else ""
        why = next((c.reason for c in candidates if c.value == pin), only)
        raise impossible(key, pin, why, ", ".join(map(repr, allowed)))
    if allowed is None and type(pin) is not type(value):
        raise impossible(key, pin, "", f"a value like {value!r}")
    made = Decision(key=key, value=pin, by="user", reason="pinned", candidates=candidates)
    return plan.decide(made)


def check_pins(fn: Function, cx: PassContext, plan: Plan) -> None:
    """Refuse pins that no decision asked for.

    Raises:
        TileError: E0701, with the closest key.
    """
    known = [d.key for d in plan]
    parts = {f"{d.key[: -len(_ORDER)]}.stage[{n}]" for d in plan for n in _ordered(d)}
    for key in cx.pins:
        if key in known or key in parts:
            continue
        close = get_close_matches(key, known, 1)
        raise TileError(
            "E0701",
            f"no decision is named {key}",
            notes=(f"the decisions are {', '.join(known) or 'none'}",),
            help=f"did you mean {close[0]}?" if close else "remove the pin",
        )


_ORDER = ".order"


def _ordered(decision: Decision) -> tuple[PlanValue, ...]:
    """The statements of a loop whose order was decided: each has a stage that can be pinned by
    itself.
    """
    ordered = decision.key.endswith(_ORDER) and isinstance(decision.value, tuple)
    return decision.value if ordered else ()  # type: ignore[return-value]  # a tuple, as just checked


PASS = Pass(
    name="pins",
    phase="plan",
    check=check_pins,
    requires=("planned",),
    doc=__doc__,
)
