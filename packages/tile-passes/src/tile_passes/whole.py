"""A function through the whole of an installed target, its pipeline and its emitter, or through one
pass by its name.

No device, no toolchain and no cache: what tests of a target and tools start from.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tile_ir.plugin import load, resolve
from tile_ir.target import TargetSpec
from tile_ir.verify import check
from tile_passes.base import PassContext, State
from tile_passes.manager import run_pipeline
from tile_passes.pipeline import parse_pipeline
from tile_passes.registry import known_passes, with_third_party

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tile_ir.core import Function

__all__ = ["GENERIC", "apply_pass", "compile_function"]

GENERIC = TargetSpec(name="generic", arch="generic", family="gpu")
"""What passes see when no target is named: nothing but threads and memory."""


def compile_function(
    fn: Function, spec: TargetSpec, pins: Mapping[str, object] | None = None
) -> Any:
    """The artifact that the target named by `spec.name` emits for a function of stage `tile`.

    Every pass is followed by the verifier. Passes of installed plugins take part, as they do for
    users. Raises TileError for what the verifier, a pass or the emitter refuses.
    """
    check(fn)
    manifest = load("tile.targets", spec.name)
    pipeline = with_third_party(resolve(manifest.pipeline)(None), manifest.name)
    cx = PassContext(target=spec, pins=pins or {})
    state = run_pipeline(pipeline, State(function=fn), cx).state
    return resolve(manifest.emit)(state.function, spec, state.plan)


def apply_pass(name: str, fn: Function, spec: TargetSpec = GENERIC) -> Function:
    """A function after the rewrite of the pass of that name, ours or a plugin's, by itself.

    Raises TileError E0602 for no such pass, and what the pass refuses.
    """
    step = parse_pipeline(name, known_passes()).steps[0]
    return step.run(State(function=fn), PassContext(target=spec)).function
