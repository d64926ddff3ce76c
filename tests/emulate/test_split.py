"""Loops that two blocks of a cluster share: their sums meet in the memory of the first one."""

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
from tile_ir.text import parse_function

kernels = module_at(Path(__file__).parents[1] / "gates" / "perturbed.py")

SIZES = {"M": 136, "N": 200, "K": 512}
CASES = {
    "product": ("matmul.k.split", lambda: kernels.matmul.get_tir(**SIZES)),
    "bias and activation": (
        "matmul.k.split",
        lambda: kernels.matmul.get_tir(**SIZES, twist="bias, gelu"),
    ),
    "one group, narrow": (
        "matmul.k.split",
        lambda: kernels.matmul.get_tir(
            **{**SIZES, "N": 24}, block_M=64, block_N=8, threads=128, stages=3
        ),
    ),
    "two sums": (
        "gated_matmul.k.split",
        lambda: kernels.gated_matmul.get_tir(**SIZES, block_M=64, block_N=64, threads=128),
    ),
}


@pytest.mark.parametrize("parts", [1, 2])
@pytest.mark.parametrize("name", CASES)
def test_a_shared_loop_equals_the_oracle(nvrtc, tmp_path, name, parts):
    key, make = CASES[name]
    fn, target = make().function, select("cuda -arch=sm_90a")
    artifact, _ = driver.lowered(fn, target, {key: parts} if parts == 1 else {})
    assert artifact.plan.find(key).value == parts
    assert ("tile_send_words<" in artifact.source) == (parts == 2)
    emulator, path = Emulator(MANIFEST, target.spec), tmp_path / "kernel.so"
    emulator.compile(artifact, path)
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


SMALL = """tile.ir 1.0 tile
func @small(A: global i8[8, 320], B: global i8[4, 320], C: global i32[8, 4]) {
  kernel @small threads = (32) {
    tiles (bx) in (1) {
      alloc A_s: shared i8[8, 32]
      alloc B_s: shared i8[4, 32]
      alloc C_l: fragment i32[8, 4]
      fill C_l[:, :], 0
      for k in (0, 10, 1) pipelined num_stages = 2 {
        copy A[:, k * 32 : +32] -> A_s[:, :]
        copy B[:, k * 32 : +32] -> B_s[:, :]
        gemm A_s[:, :], B_s[:, :] -> C_l[:, :] transpose_b
      }
      copy C_l[:, :] -> C[:, :]
    }
  }
}
"""


def test_threads_that_hold_copies_send_each_element_once(nvrtc, tmp_path):
    fn, target = parse_function(SMALL), select("cuda -arch=sm_90a")
    artifact, _ = driver.lowered(fn, target, {})
    assert artifact.plan.find("small.k.split").value == 2
    emulator, path = Emulator(MANIFEST, target.spec), tmp_path / "kernel.so"
    emulator.compile(artifact, path)
    rng = np.random.default_rng(3)
    a, b = (rng.integers(-9, 10, (n, 320)).astype(np.int8) for n in (8, 4))
    args = {"A": a, "B": b, "C": np.full((8, 4), 77, np.int32)}
    with options(schedule="random", seed=3):
        got = call_on_host(emulator.load(None, path), fn, args)
    np.testing.assert_array_equal(got["C"], a.astype(np.int32) @ b.astype(np.int32).T)
