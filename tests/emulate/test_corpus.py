"""The programs of the corpus, compiled for a device and run without one, equal the oracle."""

import numpy as np
import pytest

from tile_cpu.emulator import Emulator, options
from tile_cuda import spec
from tile_cuda.driver import emit
from tile_cuda.manifest import MANIFEST
from tile_cuda.pipeline import pipeline
from tile_ir.interp import run
from tile_ir.testing.compare import assert_close
from tile_ir.testing.corpus import corpus
from tile_ir.testing.host_memory import call_on_host
from tile_passes.base import PassContext, State

OTHERS = ("attention_causal", "softmax", "scan", "two_kernels")
"""Programs for architectures besides the first."""


def built(sample, arch, folder):
    target = spec.load(arch)
    state = State(function=sample.function)
    for step in pipeline().steps:
        state = step.run(state, PassContext(target=target, pins={}))
    emulator, path = Emulator(MANIFEST, target), folder / f"{arch}.so"
    emulator.compile(emit(state.function, target), path)
    return emulator.load(None, path)


def compare(sample, function, dims):
    args = sample.inputs(dims)
    want = run(sample.function, args)
    got = call_on_host(function, sample.function, args)
    assert got.keys() == want.keys()
    for name, array in got.items():
        assert_close(array, want[name], rtol=sample.rtol, what=f"{sample.name}: {name}")


@pytest.mark.parametrize("name", sorted(corpus()))
def test_a_program(nvrtc, tmp_path, name):
    sample = corpus()[name]
    function = built(sample, "sm_80", tmp_path)
    for dims in sample.sizes:
        compare(sample, function, dims)


@pytest.mark.parametrize("arch", ["sm_75", "sm_90a", "sm_120"])
@pytest.mark.parametrize("name", OTHERS)
def test_other_architectures_and_schedules(nvrtc, tmp_path, name, arch):
    sample = corpus()[name]
    function = built(sample, arch, tmp_path)
    for how in ({"schedule": "reverse"}, {"schedule": "random", "seed": 1}):
        with options(**how):
            compare(sample, function, sample.sizes[-1])
    assert sum(c["switches"] for c in function.counters.values()) > 0
    assert np.all([c["global_store_bytes"] + c["atomics"] > 0 for c in function.counters.values()])
