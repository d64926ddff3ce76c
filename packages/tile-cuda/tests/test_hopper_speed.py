"""On a Hopper GPU: products with roles beside the vendor's library, in one run.

Run with `pytest -m gpu -s` to see the rates. The chip is limited by power, so only ratios of
bursts that alternate mean anything.
"""

import statistics
import time
from pathlib import Path

import pytest

from tile_cuda import spec
from tile_cuda.driver import CudaRuntime, CudaToolchain, emit
from tile_cuda.host_arch import host_arch
from tile_ir.testing.requires import requires
from tile_ir.text import parse_module

pytestmark = pytest.mark.gpu
ARCH = "sm_90a"
PROGRAMS = Path(__file__).parent / "programs"
ROUNDS, BURST_MS, IDLE_S = 5, 6.0, 0.1


@pytest.fixture(scope="module")
def torch():
    requires("a Hopper GPU", lambda: host_arch() == ARCH)
    return pytest.importorskip("torch")


def rates(torch, calls, flops):
    """Name -> TFLOP/s, the median of bursts that take turns."""

    def timed(call, count):
        first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        first.record()
        for _ in range(count):
            call()
        last.record()
        last.synchronize()
        return first.elapsed_time(last) / count

    found = {name: [] for name in calls}
    for _ in range(ROUNDS):
        for name, call in calls.items():
            time.sleep(IDLE_S)
            once = timed(call, 2)
            found[name].append(flops / timed(call, max(3, int(BURST_MS / once))) / 1e9)
    return {name: statistics.median(rows) for name, rows in found.items()}


@pytest.mark.parametrize("name", ["gemm_nn", "gemm_nt", "gemm_cluster"])
@pytest.mark.parametrize("size", [4096, 8192])
def test_products_reach_the_library(torch, tmp_path, name, size):
    target = spec.load(ARCH)
    made = emit(parse_module((PROGRAMS / f"{name}.tir").read_text()).functions[0], target)
    path = tmp_path / "product.zip"
    CudaToolchain(target).compile(made, path)
    launch = CudaRuntime(target).load(made, path)
    a, b = (torch.randn(size, size, device="cuda").half() for _ in range(2))
    theirs, ours = (torch.empty_like(a) for _ in range(2))
    given = b.t() if name == "gemm_nt" else b
    pointers = [x.data_ptr() for x in (a, b, ours)]
    calls = {
        "library": lambda: torch.matmul(a, given, out=theirs),
        "ours": lambda: launch(*pointers, size, size, size),
    }
    found = rates(torch, calls, 2 * size**3)
    assert torch.allclose(ours.float(), theirs.float(), rtol=1e-2, atol=0.5)
    ratio = found["ours"] / found["library"]
    print(f"\n{name} {size}: {found['ours']:.0f} and {found['library']:.0f} TFLOP/s, {ratio:.3f}")
    assert ratio > 0.95
