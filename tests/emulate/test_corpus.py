"""The programs of the corpus, compiled for devices and run without one, equal the oracle."""

import re

import numpy as np
import pytest

from tile_cpu.emulator import Emulator, options
from tile_cuda.manifest import MANIFEST as CUDA
from tile_ir.interp import run
from tile_ir.plugin import resolve
from tile_ir.target import load_spec
from tile_ir.testing.compare import assert_close
from tile_ir.testing.corpus import corpus
from tile_ir.testing.host_memory import call_on_host
from tile_metal.manifest import MANIFEST as METAL
from tile_passes.base import PassContext, State
from tile_rocm.manifest import MANIFEST as ROCM

TARGETS = {"sm": CUDA, "gfx": ROCM, "apple": METAL}
"""First letters of an architecture -> its target."""
WHOLE = ("sm_80", "gfx942", "gfx1100", "apple7")
OTHERS = ("attention_causal", "gemm_nt_f16", "softmax", "scan", "two_kernels")
FURTHER = ("sm_75", "sm_90a", "sm_120", "gfx90a", "gfx950", "gfx1200", "apple9")
CASES = [
    (arch, name)
    for arch in FURTHER
    for name in OTHERS
    if (arch, name) not in (("sm_90a", "gemm_nt_f16"), ("sm_120", "gemm_nt_f16"))
]
"""Programs for more architectures; their bulk copies do not take all sizes of that product."""


def built(sample, arch, folder):
    manifest = TARGETS[re.match("[a-z]+", arch)[0]]
    target = load_spec(resolve(manifest.specs)() / f"{arch}.yaml")
    state = State(function=sample.function)
    for step in resolve(manifest.pipeline)().steps:
        state = step.run(state, PassContext(target=target, pins={}))
    emulator, path = Emulator(manifest, target), folder / f"{arch}.so"
    emulator.compile(resolve(manifest.emit)(state.function, target), path)
    return emulator.load(None, path)


def compare(sample, function, dims):
    args = sample.inputs(dims)
    want = run(sample.function, args)
    got = call_on_host(function, sample.function, args)
    assert got.keys() == want.keys()
    for name, array in got.items():
        assert_close(array, want[name], rtol=sample.rtol, what=f"{sample.name}: {name}")


@pytest.mark.parametrize("arch", WHOLE)
@pytest.mark.parametrize("name", sorted(corpus()))
def test_a_program(nvrtc, zig, tmp_path, name, arch):
    sample = corpus()[name]
    function = built(sample, arch, tmp_path)
    for dims in sample.sizes:
        compare(sample, function, dims)


@pytest.mark.parametrize(("arch", "name"), CASES)
def test_other_architectures_and_schedules(nvrtc, zig, tmp_path, name, arch):
    sample = corpus()[name]
    function = built(sample, arch, tmp_path)
    for how in ({"schedule": "reverse"}, {"schedule": "random", "seed": 1}):
        with options(**how):
            compare(sample, function, sample.sizes[-1])
    assert sum(c["switches"] for c in function.counters.values()) > 0
    assert np.all([c["global_store_bytes"] + c["atomics"] > 0 for c in function.counters.values()])
