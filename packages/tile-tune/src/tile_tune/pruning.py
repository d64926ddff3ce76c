"""Ruling candidates out by what is known before they run: each rule gives a reason, or nothing.

The compiler's own refusals (shared memory over budget, pins that cannot be met, registers of
asynchronous products that spill) come before; these rules look at what it accepted.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tile_ir.target import TargetSpec
    from tile_tune.trial import Facts

__all__ = ["Limits", "occupancy", "pruned"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What a candidate may take.

    `spilled`: bytes (or registers) that may be spilled. `margin`: a candidate goes when even its
    lower bound is so many times the best time. `blocks`: how many blocks of it must fit a core.
    """

    spilled: int = 256
    margin: float = 1.25
    blocks: int = 1


def occupancy(facts: Facts, spec: TargetSpec) -> int | None:
    """Blocks that fit one core at once, by registers and by shared memory (of which a core is taken
    to have what one block may have); None where the target or the compiled object does not say."""
    if spec.registers is None or not facts.registers or not facts.threads:
        return None
    unit = max(1, spec.registers.unit)
    each = -(-facts.registers // unit) * unit
    fits = [spec.registers.per_core // max(1, each * facts.threads), spec.max_blocks_per_core]
    if facts.shared and spec.capacity("shared"):
        fits.append(spec.capacity("shared") // facts.shared)
    return min(fits)


Rule = Callable[["Facts", "TargetSpec", Limits, float], str]


def _spills(facts: Facts, spec: TargetSpec, limits: Limits, best: float) -> str:
    if facts.spilled <= limits.spilled:
        return ""
    return f"it spills {facts.spilled}, at most {limits.spilled} are allowed"


def _too_large(facts: Facts, spec: TargetSpec, limits: Limits, best: float) -> str:
    fits = occupancy(facts, spec)
    if fits is None or fits >= limits.blocks:
        return ""
    return (
        f"{fits} blocks fit a core: {facts.threads} threads of {facts.registers} registers, "
        f"{facts.shared} bytes of shared memory"
    )


def _bound(facts: Facts, spec: TargetSpec, limits: Limits, best: float) -> str:
    if facts.bound_ms <= best * limits.margin:
        return ""
    return f"it takes {facts.bound_ms:.4g} ms at the machine's full rate, the best {best:.4g} ms"


RULES: tuple[Rule, ...] = (_spills, _too_large, _bound)


def pruned(facts: Facts, spec: TargetSpec, limits: Limits, best_ms: float) -> str:
    """Why a candidate need not run; empty where it should."""
    reasons = (rule(facts, spec, limits, best_ms) for rule in RULES)
    return next((reason for reason in reasons if reason), "")
