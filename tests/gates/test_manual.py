"""Hand-written pipelines become the instructions they are written for: asynchronous products and
copies, barriers that count, nothing in a thread's local memory."""

import re
import subprocess
from importlib import metadata
from pathlib import Path

import pytest

from tile_cuda.nvrtc import find_nvrtc
from tile_cuda.toolchain import compile_source
from tile_frontend import driver
from tile_frontend.target_select import select
from tile_ir.testing.by_path import module_at
from tile_ir.testing.requires import requires

pytestmark = pytest.mark.gates

kernels = module_at(Path(__file__).parents[1] / "language" / "manual_kernels.py")

PIPELINES = {
    "three slots": (lambda: kernels.pipeline(depth=3), {"HGMMA", "UTMALDG", "SYNCS"}),
    "products in flight": (kernels.products_in_flight, {"HGMMA", "UTMALDG", "SYNCS"}),
    "three roles": (kernels.shared_out, {"HGMMA", "UTMALDG", "SYNCS", "USETMAXREG"}),
    "branches": (kernels.branched, {"HGMMA", "UTMALDG", "SYNCS"}),
    "attention": (kernels.attention, {"HGMMA", "UTMALDG", "UTMASTG", "SYNCS", "USETMAXREG"}),
    "copied by threads": (kernels.copied_by_threads, {"HGMMA", "SYNCS"}),
    "one role": (kernels.one_role_for_all, {"HGMMA", "UTMALDG", "SYNCS"}),
}


def opcodes(cubin, folder):
    """The set of opcodes of machine code."""
    try:
        files = metadata.files("nvidia-cuda-nvdisasm") or []
    except metadata.PackageNotFoundError:
        files = []
    found = [str(f.locate()) for f in files if f.name in ("nvdisasm", "nvdisasm.exe")]
    requires("nvidia-cuda-nvdisasm", bool(found))
    path = folder / "kernel.cubin"
    path.write_bytes(cubin)
    text = subprocess.run(
        [found[0], "-c", str(path)], capture_output=True, text=True, check=True
    ).stdout
    return set(re.findall(r"^\s*/\*[0-9a-f]+\*/\s+(?:@!?U?P\w+\s+)?([A-Z][A-Z0-9_]*)", text, re.M))


@pytest.mark.parametrize("name", PIPELINES)
def test_a_manual_pipeline_uses_what_it_is_written_for(name, tmp_path):
    requires("nvidia-cuda-nvrtc", lambda: find_nvrtc() is not None)
    make, wanted = PIPELINES[name]
    artifact, _ = driver.lowered(make().function, select("cuda -arch=sm_90a"))
    cubin, usage = compile_source(artifact.source, "sm_90a", artifact.strict)
    found = opcodes(cubin, tmp_path)
    assert found >= wanted
    assert not found & {"STL", "LDL"}
    assert all(u.spill_stores == u.spill_loads == u.stack == 0 for u in usage.values())
