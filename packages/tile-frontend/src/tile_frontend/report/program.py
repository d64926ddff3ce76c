"""A kernel's way through the passes, run again for who wants to look at it, and what the model says
of it. Needs neither a device nor its compiler.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any

from tile_frontend import driver
from tile_ir.ops import Kernel
from tile_ir.rewrite import walk
from tile_passes.base import PassContext, State
from tile_passes.manager import run_pipeline
from tile_passes.model import predict
from tile_passes.model.occupancy import blocks_per_core

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tile_frontend.kernel import JITKernel
    from tile_ir.core import Function
    from tile_passes.model import Prediction
    from tile_passes.pipeline import Step

__all__ = ["Stage", "predicted", "stages", "usage_of"]

_COUNTED = ("registers", "vector_registers")
"""What a compiler of a device calls the registers of a thread."""


@dataclass(frozen=True, slots=True)
class Stage:
    """The program and its Plan after a pass; "as written" is the first one."""

    name: str
    phase: str
    state: State


def stages(kernel: JITKernel) -> tuple[Stage, ...]:
    """The program as written and after every pass of the pipeline that made the kernel."""
    found = [Stage("as written", "", State(function=kernel.function))]

    def observe(step: Step, before: State, after: State) -> None:
        found.append(Stage(step.run.name, step.run.phase, after))

    context = PassContext(target=kernel.target.spec, pins=kernel.made_with[0] or {})
    pipeline = driver.pipeline_of(kernel.target)
    run_pipeline(pipeline, found[0].state, context, verify_each=False, observer=observe)
    return tuple(found)


def scheduled(found: tuple[Stage, ...]) -> State:
    """The state that the model looks at: the last one in which roles, channels and tiles are still
    to be seen."""
    return next(s.state for s in reversed(found) if s.phase != "lower")


def usage_of(kernel: JITKernel) -> Mapping[str, Any]:
    """Kernel -> what the device's compiler counted of it; empty where it does not say."""
    found: Mapping[str, Any] = getattr(kernel.compiled.launch, "usage", None) or {}
    return found


def predicted(
    kernel: JITKernel,
    found: tuple[Stage, ...] | None = None,
    dims: Mapping[str, int] | None = None,
    contents: Mapping[str, int] | None = None,
) -> Prediction:
    """What the model says of a kernel; see `tile_passes.model.predict`."""
    state = scheduled(found or stages(kernel))
    spec = kernel.target.spec
    fits = occupancies(kernel, state.function)
    return predict(state.function, state.plan, spec, dims=dims, contents=contents, occupancy=fits)


def occupancies(kernel: JITKernel, fn: Function) -> dict[str, tuple[int, str]]:
    """Launch -> blocks that a core runs at once, and what limits them, from what the device's
    compiler counted."""
    usage = usage_of(kernel)
    found: dict[str, tuple[int, str]] = {}
    for launch in (s for s in walk(fn.body) if isinstance(s, Kernel)):
        counted = next((u for n, u in usage.items() if launch.name in n), None)
        registers = next((getattr(counted, n, 0) for n in _COUNTED if hasattr(counted, n)), 0)
        if not registers:
            continue
        plan = kernel.plan.value(f"{launch.name}.shared_bytes", 0)
        shared = getattr(counted, "static_shared", 0) or int(plan)  # type: ignore[arg-type]  # bytes
        found[launch.name] = blocks_per_core(
            kernel.target.spec, threads=prod(launch.threads), registers=registers, shared=shared
        )
    return found
