"""A stranger's target: found by entry point, under 300 lines, conforms. Where there is a device its
kernels run; the session `plugins` makes sure that there is one."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tile_ir.diag import TileError
from tile_ir.plugin import discover, load
from tile_ir.target import find_spec, parse_target
from tile_ir.testing.conformance import TargetConformance
from tile_ir.testing.corpus import corpus
from tile_ir.testing.requires import requires
from tile_ir.text import parse_function
from tile_passes.whole import compile_function

FOLDER = Path(__file__).parent / "opencl"
ATOMICS = """
func @f(A: global f32[64], N: global i32[1], S: global {kind}[1]) {{
  kernel @f {{
    tiles (b) in (1) {{
      parallel (i) in (64) {{
        atomic add N[0], 1
        atomic max S[0], {kind}(A[i])
      }}
    }}
  }}
}}
"""


@pytest.fixture(scope="module", autouse=True)
def _installed(distribution):
    distribution("tile-opencl", "opencl")


def compiled(text):
    spec = find_spec(load("tile.targets", "opencl"), parse_target("opencl -arch=cl12"))
    return compile_function(parse_function(text), spec)


class TestConformance(TargetConformance):
    target = "opencl"
    arch = "cl12"
    samples = ("gemm_nn_f16", "softmax_online", "histogram", "branches", "gemm_fp8_scaled")
    seeds = 5
    run_seeds = 4


def test_it_is_found_with_its_distribution():
    (entry,) = [e for e in discover("tile.targets") if e.name == "opencl"]
    assert (entry.distribution, entry.version) == ("tile-opencl", "0.1.0")


def test_it_stays_under_300_lines():
    lines = [line for f in FOLDER.rglob("*.py") for line in f.read_text().splitlines()]
    assert 100 < len(lines) < 300


def test_it_stays_in_its_folder():
    """No file of the packages names it."""
    done = subprocess.run(
        [
            "grep",
            "-rlE",
            "pyopencl|pocl|tile.opencl",
            "--include=*.py",
            "--include=*.toml",
            "packages",
        ],
        cwd=FOLDER.parents[2],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == ""


def test_integers_are_counted_by_the_device_and_floats_by_exchange():
    source = compiled(ATOMICS.format(kind="f32")).source
    kernel = source[source.index("__kernel") :]
    assert "atomic_add(&N[0], 1);" in kernel
    assert "seen = atomic_cmpxchg(at, was, as_uint((float)(tile_max_f32(old, A[t0]))));" in kernel
    assert "__global float *S" in kernel
    assert "__global const float *A" in kernel


def test_a_half_is_no_word_that_can_be_exchanged():
    with pytest.raises(TileError, match="no atomic max on f16") as caught:
        compiled(ATOMICS.format(kind="f16"))
    assert caught.value.code == "E3101"


def test_a_type_without_arithmetic_is_refused():
    with pytest.raises(TileError, match="in f8e4m3fn: kernels of this target have no such") as e:
        compiled(corpus()["gemm_fp8_scaled"].text)
    assert e.value.code == "E3101"
    assert e.value.span is not None


def test_a_kernel_is_called_with_arrays(tmp_path, monkeypatch):
    """The whole way of a user, where the frontend is installed."""
    tile = pytest.importorskip("tile_frontend")
    from tile_opencl.driver import host_arch

    requires("an OpenCL device", host_arch)
    T = tile.language
    monkeypatch.setenv("TILE_CACHE_DIR", str(tmp_path))
    n = T.dynamic("n")

    @T.prim_func
    def scaled(A: T.Tensor((n, 32), T.bfloat16), x: T.float32):
        B = T.empty((n, 32), T.float32)
        with T.Kernel(T.ceildiv(n, 8)) as b:
            a = T.alloc_shared((8, 32), T.bfloat16)
            T.copy(A[b * 8, 0], a)
            for i, j in T.Parallel(8, 32):
                B[b * 8 + i, j] = T.cast(a[i, j], T.float32) * x
        return B

    import ml_dtypes

    given = np.arange(20 * 32, dtype=np.float32).reshape(20, 32).astype(ml_dtypes.bfloat16)
    got = tile.compile(scaled, target="opencl")(given, 0.5)
    np.testing.assert_array_equal(got, given.astype(np.float32) * 0.5)


def test_without_a_device_it_says_so(monkeypatch):
    from tile_opencl import driver

    monkeypatch.setitem(sys.modules, "pyopencl", None)
    driver._context.cache_clear()
    with pytest.raises(TileError, match="no OpenCL device") as caught:
        driver.host_arch()
    driver._context.cache_clear()
    assert caught.value.code == "E3008"
    assert "Install" in caught.value.help
