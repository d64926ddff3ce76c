"""Pairs of blocks and drawn tiles in machine code: the instructions that they are about, and no
registers in a thread's local memory."""

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

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.gates
ARCH = "sm_90a"


@pytest.fixture(scope="module")
def measured():
    """The kernels of the benchmarks."""
    return module_at(ROOT / "benchmarks/gpu_kernels.py")


@pytest.fixture
def assembly(tmp_path):
    """The machine code of a function with pinned decisions, as text, and the artifact."""
    requires("nvidia-cuda-nvrtc", lambda: find_nvrtc() is not None)
    try:
        files = metadata.files("nvidia-cuda-nvdisasm") or []
    except metadata.PackageNotFoundError:
        files = []
    found = [str(f.locate()) for f in files if f.name in ("nvdisasm", "nvdisasm.exe")]
    requires("nvidia-cuda-nvdisasm", bool(found))

    def run(function, pins):
        artifact, _ = driver.lowered(function, select(f"cuda -arch={ARCH}"), pins)
        cubin, usage = compile_source(artifact.source, ARCH, artifact.strict)
        assert all(u.spill_stores == u.spill_loads == u.stack == 0 for u in usage.values())
        path = tmp_path / "kernel.cubin"
        path.write_bytes(cubin)
        command = [found[0], "-c", str(path)]
        made = subprocess.run(command, capture_output=True, text=True, check=True)
        return artifact, made.stdout

    return run


@pytest.mark.parametrize("transposed", [False, True])
def test_the_planner_pairs_the_blocks_of_a_large_product(measured, assembly, transposed):
    sizes = dict.fromkeys("MNK", 8192)
    made = measured.kernel("matmul").get_tir(**sizes, dtype="float16", transposed=transposed)
    artifact, text = assembly(made.function, {})
    assert artifact.plan.value("matmul.tiles.cluster", ()) == ("by", 2, "B_s")
    assert re.search(r"UTMALDG\.2D\.MULTICAST", text)
    assert re.search(r"UTMALDG\.2D \[", text)  # the other operand
    assert "UCGABAR_WAIT" in text


@pytest.mark.parametrize(
    ("length", "dim", "table"),
    [
        (4096, 128, {}),
        (16384, 128, {}),
        (8192, 64, {"block_M": 192, "threads": 384}),
        (2048, 64, {}),
    ],
)
def test_attention_whose_tiles_are_drawn(measured, assembly, length, dim, table):
    sizes = {"B": 16384 // length, "H": 2048 // dim, "S": length, "D": dim}
    made = measured.kernel("attention").get_tir(**sizes, dtype="float16", causal=True, **table)
    artifact, text = assembly(made.function, {"attention.tiles.claim": "dynamic"})
    assert artifact.source.count("tile_claim(drawn, ") == 1
    assert re.search(r"ATOMG?\.E\.INC", text)
    assert "HGMMA" in text


def test_a_large_product_whose_pairs_draw_together(measured, assembly):
    made = measured.kernel("matmul").get_tir(**dict.fromkeys("MNK", 8192), dtype="float16")
    artifact, text = assembly(made.function, {"matmul.tiles.claim": "dynamic"})
    assert artifact.source.count("tile_send(&shared_next") == 2
    assert re.search(r"UTMALDG\.2D\.MULTICAST", text)
    assert re.search(r"ATOMG?\.E\.INC", text)
    assert "STAS" in text
