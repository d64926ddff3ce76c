"""Each barrier of an emitted product taken out: the emulator notices, whatever the schedule."""

import dataclasses
import re

import pytest

from tile_cpu.emulator import Emulator, options
from tile_ir.diag import TileError
from tile_ir.plugin import resolve
from tile_ir.target import load_spec
from tile_ir.testing.corpus import corpus
from tile_ir.testing.host_memory import call_on_host
from tile_metal.manifest import MANIFEST as METAL
from tile_passes.base import PassContext, State
from tile_rocm.manifest import MANIFEST as ROCM

TARGETS = {"gfx942": ROCM, "gfx1100": ROCM, "apple7": METAL}
BARRIER = re.compile(r"^ +tile_sync\(\);$", re.MULTILINE)
SCHEDULES = ({}, {"schedule": "reverse"}, {"schedule": "random", "seed": 2})


@pytest.mark.parametrize("arch", list(TARGETS))
def test_without_one_barrier(zig, tmp_path, arch):
    manifest, sample = TARGETS[arch], corpus()["gemm_nn_f16"]
    target = load_spec(resolve(manifest.specs)() / f"{arch}.yaml")
    state = State(function=sample.function)
    for step in resolve(manifest.pipeline)().steps:
        state = step.run(state, PassContext(target=target, pins={}))
    artifact = resolve(manifest.emit)(state.function, target)
    barriers = list(BARRIER.finditer(artifact.source))
    assert barriers
    for n, barrier in enumerate(barriers):
        source = f"{artifact.source[: barrier.start()]};{artifact.source[barrier.end() :]}"
        emulator, path = Emulator(manifest, target), tmp_path / f"{n}.so"
        emulator.compile(dataclasses.replace(artifact, source=source), path)
        run = emulator.load(None, path)
        for how in SCHEDULES:
            with options(**how), pytest.raises(TileError) as caught:
                call_on_host(run, sample.function, sample.inputs(sample.sizes[0]))
            assert caught.value.code in ("E2305", "E2306")
            assert caught.value.span is not None
