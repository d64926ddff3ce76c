"""Kernels whose blocks run in clusters, through the vendor's assembler."""

from pathlib import Path

import pytest

from tile_cuda.nvrtc import find_nvrtc
from tile_cuda.toolchain import compile_source
from tile_frontend import driver
from tile_frontend.target_select import select
from tile_ir.testing.by_path import module_at
from tile_ir.testing.requires import requires

pytestmark = pytest.mark.gates
kernels = module_at(Path(__file__).parents[1] / "language" / "cluster_kernels.py")


@pytest.mark.parametrize("arch", ["sm_90a", "sm_100a"])
@pytest.mark.parametrize("name", kernels.cases())
def test_it_assembles_without_local_memory(name, arch):
    requires("nvidia-cuda-nvrtc", lambda: find_nvrtc() is not None)
    make, _, _ = kernels.cases()[name]
    artifact, _ = driver.lowered(make().function, select(f"cuda -arch={arch}"))
    _, usage = compile_source(artifact.source, arch, artifact.strict)
    assert usage
    assert all(u.spill_stores == u.spill_loads == u.stack == 0 for u in usage.values())
