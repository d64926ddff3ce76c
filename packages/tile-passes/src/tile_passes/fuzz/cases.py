"""What one trial is: a program, its inputs, a target, and the passes that it goes through."""

from __future__ import annotations

import random
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from tile_ir.diag import TileError
from tile_ir.plugin import discover, load, resolve
from tile_ir.target import find_spec, parse_target, spec_files
from tile_passes.fuzz.pipelines import thinned

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tile_ir.core import Function
    from tile_ir.target import TargetSpec
    from tile_passes.pipeline import Pipeline

__all__ = ["Case", "at_hand", "drawn", "every_target", "pipeline_of", "spec_of"]

_EXTENTS = (1, 2, 3, 5, 7, 8, 12, 16, 17, 24, 31, 33)
"""Of symbolic dimensions: around powers of two, and mostly no multiple of a tile."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A trial, wholly determined by its fields.

    `tolerance` is the absolute error allowed of each result, 0 for what is exact. Inputs follow
    from `seed` and the values `dims` of symbolic dimensions. `target` is text as in
    "NAME -arch=ARCH".
    """

    function: Function
    tolerance: Mapping[str, float]
    seed: int
    dims: Mapping[str, int]
    target: str
    pipeline: Pipeline

    def inputs(self) -> dict[str, Any]:
        """The arguments by name, as the oracle takes them."""
        from tile_ir.testing.random.inputs import random_inputs

        return random_inputs(self.function, self.seed, self.dims)


def every_target() -> tuple[str, ...]:
    """Each architecture that an installed target describes, as text."""
    names = [
        (entry.name, arch)
        for entry in discover("tile.targets")
        for arch in spec_files(load("tile.targets", entry.name))
    ]
    # Some names are of products, and stand for an architecture that has a name, too.
    found = {f"{name} -arch={spec_of(f'{name} -arch={arch}').arch}" for name, arch in names}
    return tuple(sorted(found))


@cache
def spec_of(target: str) -> TargetSpec:
    """The description that the text names; raises TileError as `find_spec` does."""
    request = parse_target(target)
    return find_spec(load("tile.targets", request.name), request)


@cache
def pipeline_of(target: str) -> Pipeline:
    """The target's own pipeline."""
    found: Pipeline = resolve(load("tile.targets", parse_target(target).name).pipeline)(None)
    return found


@cache
def at_hand(name: str) -> str | None:
    """The architecture of this kind of target that the machine has, where its runtime can be called
    with memory of the host (`on_host_arrays`); None where there is no such device."""
    manifest = load("tile.targets", name)
    if manifest.host_arch is None:
        return None
    try:
        arch: str | None = resolve(manifest.host_arch)()
    except TileError:
        return None
    return arch if hasattr(resolve(manifest.runtime), "on_host_arrays") else None


def drawn(seed: int, targets: Sequence[str], *, thin: bool = True) -> tuple[Case, ...]:
    """The cases of a seed: one program for each kind of target, on an architecture of that kind.

    With `thin`, half of them go through a pipeline that lacks some passes it may lack. The same
    seed and targets give the same cases.
    """
    from tile_ir.testing.random import random_program

    rng = random.Random(seed)
    program = random_program(rng, rng.choice((2, 4, 6, 8)))
    dims = {d.name: rng.choice(_EXTENTS) for d in program.function.dims}
    kinds: dict[str, list[str]] = {}
    for target in targets:
        kinds.setdefault(parse_target(target).name, []).append(target)
    made = []
    for choices in kinds.values():
        target = rng.choice(choices)
        pipeline = pipeline_of(target)
        made.append(
            Case(
                function=program.function,
                tolerance=program.tolerance,
                seed=seed,
                dims=dims,
                target=target,
                pipeline=thinned(pipeline, rng) if thin and rng.random() < 0.5 else pipeline,
            )
        )
    return tuple(made)
