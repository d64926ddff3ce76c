"""Kernels one step away from the measured ones, for Hopper, run without one, equal the oracle."""

from pathlib import Path

import numpy as np
import pytest

from tile_cpu.emulator import Emulator, options
from tile_cuda.manifest import MANIFEST
from tile_frontend import driver
from tile_frontend.target_select import select
from tile_ir.interp import run
from tile_ir.testing.by_path import module_at
from tile_ir.testing.compare import assert_close
from tile_ir.testing.host_memory import call_on_host

kernels = module_at(Path(__file__).parents[1] / "gates" / "perturbed.py")

HEADS = {"B": 1, "H": 1, "S": 200, "D": 64}
SIZES = {"M": 136, "N": 200, "K": 200}
PINNED = {"attention.j.pin": ("parallel:total",)}


def attention(twist, **more):
    return lambda: kernels.attention.get_tir(**HEADS, twist=twist, **more)


def matmul(**more):
    return lambda: kernels.matmul.get_tir(**{**SIZES, **more})


CASES = {
    "soft cap": (attention("cap"), {}),
    "soft cap, pinned": (attention("cap"), PINNED),
    "bias by distance, causal": (attention("distance", causal=True), {}),
    "second values": (attention("second values"), {}),
    "three groups": (attention("", block_M=192, threads=384), {}),
    "scores in halves": (lambda: kernels.attention_by_halves.get_tir(**HEADS), {}),
    **{f"{n} columns": (matmul(block_N=n), {}) for n in (80, 144, 192)},
    "bias and activation": (matmul(twist="bias, gelu"), {}),
    "one trip": (matmul(K=64), {}),
    "gated": (lambda: kernels.gated_matmul.get_tir(**SIZES), {}),
    "scale in the loop": (lambda: kernels.scaled_matmul.get_tir(**SIZES), {}),
    "copies of registers": (lambda: kernels.scaled_matmul.get_tir(M=136, N=200, K=256), {}),
    "one product at a time": (
        lambda: kernels.scaled_matmul.get_tir(M=136, N=200, K=256),
        {"scaled_matmul.k.copies": 1},
    ),
    "nested loops": (lambda: kernels.matmul_of_sums.get_tir(M=136, N=200, K=384, parts=2), {}),
    "no product": (lambda: kernels.squares.get_tir(M=100, K=328), {}),
}


@pytest.mark.parametrize("name", CASES)
def test_a_perturbed_kernel_equals_the_oracle(nvrtc, tmp_path, name):
    make, pins = CASES[name]
    fn, target = make().function, select("cuda -arch=sm_90a")
    artifact, _ = driver.lowered(fn, target, pins)
    emulator, path = Emulator(MANIFEST, target.spec), tmp_path / "kernel.so"
    emulator.compile(artifact, path)
    rng = np.random.default_rng(7)
    args = {p.name: _array(p, rng) for p in fn.params}
    with options(schedule="random", seed=len(name)):
        got = call_on_host(emulator.load(None, path), fn, args)
    for key, want in run(fn, args).items():
        assert_close(got[key], want, rtol=4e-3, what=f"{name}: {key}")


def _array(param, rng):
    """Small numbers, whose products are exact."""
    shape = tuple(int(e.value) for e in param.buffer.shape)
    kind = np.float16 if param.buffer.dtype.name == "f16" else np.float32
    return (rng.integers(-8, 9, shape) / 8).astype(kind)
