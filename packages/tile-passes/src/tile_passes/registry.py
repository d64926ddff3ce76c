"""Every pass by name: ours from a lazy table, third parties' from entry points, each put where it
asks to run."""

from __future__ import annotations

from difflib import get_close_matches
from functools import cache

from tile_ir.diag import TileError
from tile_ir.plugin import PassManifest, TargetManifest, load_all, resolve
from tile_passes.base import PHASES, Pass
from tile_passes.pipeline import Pipeline, Step

BUILTIN: dict[str, str] = {
    "manual-means": "tile_passes.legalize.manual_means:PASS",
    "warp-width": "tile_passes.legalize.warp_width:PASS",
    "stage-overlaps": "tile_passes.legalize.stage_overlaps:PASS",
    "bounds": "tile_passes.legalize.bounds:PASS",
    "init-gemm": "tile_passes.legalize.init_gemm:PASS",
    "mask-init": "tile_passes.legalize.mask_init:PASS",
    "reciprocal": "tile_passes.legalize.reciprocal:PASS",
    "skip-rescale": "tile_passes.legalize.skip_rescale:PASS",
    "skip-masks": "tile_passes.legalize.skip_masks:PASS",
    "plan-split": "tile_passes.plan.plan_split:PASS",
    "split-loops": "tile_passes.plan.split_loops:PASS",
    "plan-copies": "tile_passes.plan.plan_copies:PASS",
    "unroll-copies": "tile_passes.plan.unroll_copies:PASS",
    "simplify": "tile_passes.legalize.simplify:PASS",
    "dead-buffers": "tile_passes.cleanup.dead_buffers:PASS",
    "plan-tiles": "tile_passes.plan.plan_tiles:PASS",
    "lower-threads": "tile_passes.lower.threads.lower_threads:PASS",
    "dependent-launch": "tile_passes.lower.dependent_launch:PASS",
    "plan-roles": "tile_passes.plan.plan_roles:PASS",
    "plan-pipeline": "tile_passes.plan.plan_pipeline:PASS",
    "plan-layout": "tile_passes.plan.plan_layout:PASS",
    "plan-homes": "tile_passes.plan.plan_homes:PASS",
    "plan-stores": "tile_passes.plan.plan_stores:PASS",
    "plan-crossing": "tile_passes.plan.plan_crossing:PASS",
    "plan-registers": "tile_passes.plan.plan_registers:PASS",
    "plan-memory": "tile_passes.plan.plan_memory:PASS",
    "pins": "tile_passes.plan.pins:PASS",
    "keep-operands": "tile_passes.expand.keep_operands:PASS",
    "apply-layouts": "tile_passes.expand.apply_layouts:PASS",
    "partial-sums": "tile_passes.expand.partial_sums:PASS",
    "expand-pipeline": "tile_passes.expand.expand_pipeline:PASS",
    "insert-settles": "tile_passes.expand.insert_settles:PASS",
    "warp-specialize": "tile_passes.expand.warp_specialize:PASS",
    "expand-tiles": "tile_passes.expand.expand_tiles:PASS",
    "form-clusters": "tile_passes.expand.form_clusters:PASS",
    "interleave-stores": "tile_passes.expand.interleave_stores:PASS",
    "draw-tiles": "tile_passes.expand.draw_tiles:PASS",
    "cross-tiles": "tile_passes.expand.cross_tiles:PASS",
    "insert-conversions": "tile_passes.expand.insert_conversions:PASS",
    "allocate-shared": "tile_passes.expand.allocate_shared:PASS",
    "insert-syncs": "tile_passes.expand.insert_syncs:PASS",
    "meet-blocks": "tile_passes.expand.meet_blocks:PASS",
    "check-protocol": "tile_passes.protocol.check_protocol:PASS",
}
"""Our passes: name -> "module:ATTRIBUTE", imported when first asked for."""


@cache
def builtin(name: str) -> Pass:
    """Our pass of that name.

    Raises:
        TileError: E0602 when there is none.
    """
    if name not in BUILTIN:
        near = get_close_matches(name, BUILTIN, n=1)
        raise TileError(
            "E0602",
            f"no pass named '{name}'",
            notes=(f"known: {', '.join(sorted(BUILTIN))}",),
            help=f"did you mean {near[0]}?" if near else "name one of the known passes",
        )
    found: Pass = resolve(BUILTIN[name])
    return found


def known_passes() -> dict[str, Pass]:
    """Every pass that can be named in a pipeline's text: ours, those of the installed targets'
    pipelines, third parties'.

    A plugin that is broken is left out: naming its pass is then an error like any unknown name.
    """
    manifests, _ = load_all("tile.passes")
    third = {m.name: _made(m) for m in manifests if isinstance(m, PassManifest)}
    return _passes_of_targets() | {name: builtin(name) for name in BUILTIN} | third


def _passes_of_targets() -> dict[str, Pass]:
    found: dict[str, Pass] = {}
    for manifest in load_all("tile.targets")[0]:
        assert isinstance(manifest, TargetManifest)
        try:
            pipeline: Pipeline = resolve(manifest.pipeline)(None)
        except TileError:  # a target that is announced, not there yet
            continue
        found |= {step.run.name: step.run for step in pipeline.steps}
    return found


def with_third_party(pipeline: Pipeline, target: str) -> Pipeline:
    """The pipeline with every installed third-party pass for `target` where its manifest asks.

    A stranger's broken plugin stops nobody's compile; `tile doctor` reports it.

    Raises:
        TileError: E0604 when no place satisfies a manifest's `before` and `after`, or what its
            pass requires.
    """
    manifests, _ = load_all("tile.passes")
    for manifest in manifests:
        assert isinstance(manifest, PassManifest)
        if not manifest.targets or target in manifest.targets:
            pipeline = place(pipeline, manifest)
    return pipeline


def _made(manifest: PassManifest) -> Pass:
    made: Pass = resolve(manifest.factory)()
    return made


def place(pipeline: Pipeline, manifest: PassManifest) -> Pipeline:
    """Insert a manifest's pass: after all it names in `after`, before all in `before`, else at its
    phase's end.

    Names that this pipeline does not hold put no constraint, so that one manifest serves many
    targets.
    """
    names = pipeline.names
    first = max((names.index(n) + 1 for n in manifest.after if n in names), default=0)
    last = min((names.index(n) for n in manifest.before if n in names), default=len(names))
    phase = PHASES.index(manifest.phase)
    order = [PHASES.index(s.run.phase) for s in pipeline.steps]
    first = max(first, sum(p < phase for p in order))
    last = min(last, sum(p <= phase for p in order))
    if first > last:
        raise TileError(
            "E0604",
            f"no place for pass '{manifest.name}': after {', '.join(manifest.after) or 'nothing'}"
            f" and before {', '.join(manifest.before) or 'nothing'} in phase '{manifest.phase}'",
            notes=(f"the pipeline is {pipeline}",),
            help="relax `before` or `after` in the plugin's manifest",
        )
    at = first if manifest.after and not manifest.before else last
    steps = (*pipeline.steps[:at], Step(_made(manifest)), *pipeline.steps[at:])
    _require_facts(Pipeline(steps[: at + 1]), manifest)
    return Pipeline(steps)


def _require_facts(upto: Pipeline, manifest: PassManifest) -> None:
    missing = [fact for name, fact in upto.unmet() if name == manifest.name]
    if missing:
        raise TileError(
            "E0604",
            f"pass '{manifest.name}' requires '{missing[0]}', which no pass before it ensures",
            notes=(f"before it stand {', '.join(upto.names[:-1]) or 'none'}",),
            help="name the pass that ensures it in `after` of the plugin's manifest",
        )
