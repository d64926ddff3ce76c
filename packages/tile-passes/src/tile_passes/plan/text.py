"""The canonical text of a Plan, and its YAML: both read back to an equal Plan.

One line per decision, its alternatives indented below; values are JSON, where a list stands for a
tuple:

    matmul.k.depth = 4 by user because "num_stages"
      | 3 cost 49152.0 because "bytes"
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from tile_ir.diag import TileError
from tile_passes.plan.model import Candidate, Decision, Plan
from tile_passes.plan.pins import as_value

if TYPE_CHECKING:
    from tile_passes.plan.model import PlanValue

_DECISION = re.compile(r"(?P<key>\S+) = ")
_BY = re.compile(r" by (?P<by>\w+)(?: because )?")
_CANDIDATE = re.compile(r"  \| ")
_COST = re.compile(r"(?: cost (?P<cost>\S+))? because ")
_DECODER = json.JSONDecoder()


def print_plan(plan: Plan) -> str:
    """The text of a Plan."""
    lines: list[str] = []
    for d in plan:
        reason = f" because {json.dumps(d.reason)}" if d.reason else ""
        lines.append(f"{d.key} = {print_value(d.value)} by {d.by}{reason}")
        for c in d.candidates:
            cost = "" if c.cost is None else f" cost {float(c.cost)!r}"
            lines.append(f"  | {print_value(c.value)}{cost} because {json.dumps(c.reason)}")
    return "".join(f"{line}\n" for line in lines)


def print_value(value: PlanValue) -> str:
    """The text of one value."""
    return json.dumps(value)


def parse_plan(text: str) -> Plan:
    """Read what `print_plan` wrote.

    Raises:
        TileError: E0705 at the first line that is not part of a Plan.
    """
    found: list[Decision] = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        try:
            if _CANDIDATE.match(line) and found:
                last = found[-1]
                found[-1] = Decision(
                    key=last.key,
                    value=last.value,
                    by=last.by,
                    reason=last.reason,
                    candidates=(*last.candidates, _candidate(line)),
                )
            else:
                found.append(_decision(line))
        except ValueError:
            raise TileError(
                "E0705",
                f"line {number} is not part of a plan: {line.strip()}",
                help='a decision is `key = value by model because "reason"`, its value JSON',
            ) from None
    return Plan(tuple(found))


def _decision(line: str) -> Decision:
    head = _DECISION.match(line)
    if head is None:
        raise ValueError
    value, at = _DECODER.raw_decode(line, head.end())
    by = _BY.match(line, at)
    if by is None:
        raise ValueError
    reason = json.loads(line[by.end() :]) if line[by.end() :].strip() else ""
    return Decision(key=head["key"], value=as_value(value), by=by["by"], reason=str(reason))


def _candidate(line: str) -> Candidate:
    value, at = _DECODER.raw_decode(line, len("  | "))
    cost = _COST.match(line, at)
    if cost is None:
        raise ValueError
    number = None if cost["cost"] is None else float(cost["cost"])
    return Candidate(as_value(value), number, str(json.loads(line[cost.end() :])))


def plan_to_yaml(plan: Plan) -> str:
    """The Plan as YAML: a list of decisions."""
    import yaml  # 20 ms, and only files want it

    text: str = yaml.safe_dump([_plain(d) for d in plan], sort_keys=False, width=100)
    return text


def _plain(d: Decision) -> dict[str, Any]:
    out: dict[str, Any] = {"key": d.key, "value": _listed(d.value), "by": d.by}
    if d.reason:
        out["reason"] = d.reason
    if d.candidates:
        out["candidates"] = [
            {"value": _listed(c.value), "cost": c.cost, "reason": c.reason} for c in d.candidates
        ]
    return out


def _listed(value: PlanValue) -> Any:
    return [_listed(v) for v in value] if isinstance(value, tuple) else value


def plan_from_yaml(text: str) -> Plan:
    """Read what `plan_to_yaml` wrote; `by`, `reason` and `candidates` may be left out.

    Raises:
        TileError: E0705 for anything else.
    """
    import yaml  # 20 ms, and only files want it

    try:
        entries = yaml.safe_load(text) or []
        return Plan(tuple(_entry(e) for e in entries))
    except (yaml.YAMLError, AttributeError, KeyError, TypeError, ValueError) as cause:
        raise TileError(
            "E0705",
            f"not a plan in YAML: {cause}",
            help="a plan is a list of mappings with `key` and `value`",
        ) from None


def _entry(e: dict[str, Any]) -> Decision:
    candidates = tuple(
        Candidate(as_value(c["value"]), c.get("cost"), c.get("reason", ""))
        for c in e.get("candidates", ())
    )
    return Decision(
        key=e["key"],
        value=as_value(e["value"]),
        by=e.get("by", "user"),
        reason=e.get("reason", ""),
        candidates=candidates,
    )
