"""Every case of every example becomes machine code for seven GPUs, which need not be there, and its
registers suffice.
"""

import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from tile_cuda.nvrtc import find_nvrtc
from tile_cuda.toolchain import compile_source as compile_cuda
from tile_frontend import driver
from tile_frontend.target_select import select
from tile_ir.diag import TileError
from tile_ir.testing.by_path import module_at
from tile_ir.testing.requires import requires
from tile_metal.checkers import find_checker
from tile_metal.toolchain import check_source
from tile_rocm.compilers import find_compiler
from tile_rocm.toolchain import compile_source as compile_rocm

pytestmark = pytest.mark.gates

FOLDER = Path(__file__).parents[2] / "examples"
FILES = sorted(p for p in FOLDER.glob("*.py") if p.stem not in ("_run", "quickstart"))
TARGETS = (
    "cuda -arch=sm_80",
    "cuda -arch=sm_90a",
    "cuda -arch=sm_100a",
    "cuda -arch=sm_120",
    "rocm -arch=gfx942",
    "rocm -arch=gfx1100",
    "metal -arch=apple9",
)
REFUSED = {
    ("mla_decode 1", "metal -arch=apple9"): ("E0703", "a tile of keys takes all memory of a block"),
}
"""(file, or file and number of its case, target) -> the code of the error for a target that cannot
have it, and why."""


@cache
def module(path):
    """An example, by its path: it finds `_run` beside itself, as when it is a script."""
    sys.path.insert(0, str(FOLDER))
    try:
        return module_at(path)
    finally:
        sys.path.remove(str(FOLDER))


def _cases():
    """Every case, for every target that it does not exclude itself."""
    for path in FILES:
        for number, case in enumerate(getattr(module(path), "CASES", ())):
            for target in TARGETS:
                if case.runs_on(target.partition("-arch=")[2]):
                    name = f"{path.stem}-{case.name or number}-{target}"
                    yield pytest.param(path, number, target, id=name)


def spills_of_cuda(artifact, arch):
    """What a thread keeps in memory: bytes of it."""
    requires("nvidia-cuda-nvrtc", lambda: find_nvrtc() is not None)
    usage = compile_cuda(artifact.source, arch, artifact.strict)[1].values()
    return sum(row.spill_stores + row.spill_loads + row.stack for row in usage)


def spills_of_rocm(artifact, arch):
    """What a thread keeps in memory: registers of it."""
    requires("ziglang", _has_rocm_compiler)
    usage = compile_rocm(artifact.source, arch, artifact.strict)[1].values()
    return sum(row.vector_spills for row in usage)


def _has_rocm_compiler():
    try:
        return bool(find_compiler())
    except TileError:
        return False


def spills_of_metal(artifact, arch):
    """Nothing, which only a device knows; the memory of a block is checked instead."""
    found = find_checker()
    requires("a compiler that checks Metal source", found is not None)
    check_source(artifact.source, found)
    assert all(row.shared <= 32768 for row in artifact.usage.values())
    return 0


SPILLS = {"cuda": spills_of_cuda, "rocm": spills_of_rocm, "metal": spills_of_metal}


@pytest.mark.parametrize(("path", "number", "target"), list(_cases()))
def test_an_example_becomes_machine_code(path, number, target):
    case = module(path).CASES[number]
    args = case.inputs(np.random.default_rng(0))
    function = case.kernel.get_tir(*args, **case.options_for(target)).function
    chosen = select(target)
    key = (f"{path.stem} {number}", target)
    refused = REFUSED.get(key, REFUSED.get((path.stem, target)))
    if refused is not None:
        with pytest.raises(TileError) as caught:
            driver.lowered(function, chosen)
        assert caught.value.code == refused[0]
        return
    artifact, _ = driver.lowered(function, chosen)
    assert artifact.kernels
    family, arch = target.split(" -arch=")
    assert SPILLS[family](artifact, arch) == 0
