"""Every kernel of the GPU benchmarks, with the tile parameters of its table, becomes machine code
whose registers suffice, and uses the engines that its figures depend on."""

import sys
from functools import cache
from pathlib import Path

import pytest

from tile_cuda.nvrtc import find_nvrtc
from tile_cuda.toolchain import compile_source
from tile_frontend import driver
from tile_frontend.target_select import select
from tile_ir.testing.by_path import module_at
from tile_ir.testing.requires import requires

pytestmark = pytest.mark.gates

FOLDER = Path(__file__).parents[2] / "benchmarks"
TARGET = "cuda -arch=sm_90a"
NO_PRODUCT = ("softmax.", "rms_norm.", "layer_norm.", "transpose.", "column_sum.")
BY_WARPS = ("flash_decoding.", "gemv.")
"""Programs whose products are so narrow that single warps multiply."""
BY_THREADS = (*NO_PRODUCT, "gemv.")
"""Programs that bring everything to registers themselves."""


@cache
def benchmark():
    """The script, which finds its families beside itself."""
    sys.path.insert(0, str(FOLDER))
    try:
        return module_at(FOLDER / "gpu.py")
    finally:
        sys.path.remove(str(FOLDER))


def builds():
    """What the families of the cookbook build, one case for each program and table."""
    gpu = benchmark()
    cases = gpu.all_builds(list(gpu.COOKBOOK), "")
    sizes = ("M", "N", "K", "S", "B", "G", "pages", "most")
    kinds = {}
    for case in cases:
        name, pins, keywords = case
        kept = {k: v for k, v in keywords.items() if k not in sizes}
        kinds.setdefault(repr((name, pins, kept)), case)
    return [pytest.param(c, id=f"{c[0]}-{i}") for i, c in enumerate(kinds.values())]


@pytest.mark.parametrize("case", builds())
def test_a_measured_kernel_keeps_its_numbers_in_registers(case):
    requires("nvidia-cuda-nvrtc", lambda: find_nvrtc() is not None)
    name, pins, keywords = case
    program = sys.modules["gpu_programs"].program(name, pins, TARGET)
    artifact, _ = driver.lowered(program.get_tir(**keywords).function, select(TARGET), dict(pins))
    _, usage = compile_source(artifact.source, "sm_90a", artifact.strict)
    assert all(u.spill_stores == u.spill_loads == u.stack == 0 for u in usage.values())
    if "." not in name:
        return
    assert ("cp.async.bulk.tensor" in artifact.source) != name.startswith(BY_THREADS)
    assert ("wgmma" in artifact.source) != name.startswith((*NO_PRODUCT, *BY_WARPS))
