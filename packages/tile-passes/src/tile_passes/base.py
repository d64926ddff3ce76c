"""What a pass is: a named pure function with a contract, over a program and its Plan.

A *rewrite* pass maps the program, a *plan* pass only the Plan, a *check* pass returns nothing and
raises. A rewrite returns the same object when it changed nothing, so the manager can tell.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING

from tile_passes.decisions import Plan

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tile_ir.core import Function
    from tile_ir.target import TargetSpec

PHASES = ("legalize", "plan", "expand", "lower")
"""The phases of every pipeline, in order."""

OptionValue = bool | int | float | str


@dataclass(frozen=True, slots=True, kw_only=True)
class PassContext:
    """What passes may ask: the target's description, the user's pins, options of this pass's
    pipeline entry."""

    target: TargetSpec
    pins: Mapping[str, object] = field(default_factory=lambda: MappingProxyType({}))
    options: Mapping[str, OptionValue] = field(default_factory=lambda: MappingProxyType({}))
    debug: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """What flows through a pipeline: the program and the Plan so far."""

    function: Function
    plan: Plan = field(default_factory=Plan)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pass:
    """A pass and its contract.

    Exactly one of `rewrite`, `plan`, `check` is set. `requires` names facts about the program or
    the Plan that a pass before it in the pipeline has to ensure, `ensures` those that hold after
    it; `Pipeline.unmet` tells what is missing.
    """

    name: str
    phase: str
    rewrite: Callable[[Function, PassContext, Plan], Function] | None = None
    plan: Callable[[Function, PassContext, Plan], Plan] | None = None
    check: Callable[[Function, PassContext, Plan], None] | None = None
    requires: tuple[str, ...] = ()
    ensures: tuple[str, ...] = ()
    doc: str = ""

    def __call__(self, state: State, cx: PassContext) -> State:
        """Run on a state; the same object comes back when nothing changed."""
        from dataclasses import replace

        if self.rewrite is not None:
            made = self.rewrite(state.function, cx, state.plan)
            return state if made is state.function else replace(state, function=made)
        if self.plan is not None:
            plan = self.plan(state.function, cx, state.plan)
            return state if plan is state.plan else replace(state, plan=plan)
        if self.check is not None:
            self.check(state.function, cx, state.plan)
        return state
