"""Every case of every example: on this processor, and as code for GPUs in the emulator."""

import sys
from functools import cache
from pathlib import Path

import pytest

from tile_cpu.compilers import zig_path
from tile_cuda.nvrtc import find_nvrtc
from tile_ir.testing.by_path import module_at
from tile_ir.testing.requires import requires

FOLDER = Path(__file__).parents[2] / "examples"
FILES = sorted(p for p in FOLDER.glob("*.py") if p.stem not in ("_run", "quickstart"))


@cache
def module(path):
    """An example, by its path: it finds `_run` beside itself, as when it is a script."""
    sys.path.insert(0, str(FOLDER))
    try:
        return module_at(path)
    finally:
        sys.path.remove(str(FOLDER))


run = module(FOLDER / "_run.py")


def _cases(wanted=lambda case: True):
    for path in FILES:
        for number, case in enumerate(getattr(module(path), "CASES", ())):
            if wanted(case):
                yield pytest.param(path, number, id=f"{path.stem}-{case.name or number}")


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_an_example_explains_itself(path):
    """A docstring of sentences, cases, and no more tile code than can be read at once."""
    made = module(path)
    assert len(made.__doc__) > 80
    assert made.CASES
    assert len(path.read_text("utf-8").splitlines()) <= 250


@pytest.mark.parametrize(("path", "number"), list(_cases(lambda case: case.runs_on("cpu"))))
def test_on_this_processor(path, number):
    assert run.check(module(path).CASES[number], "cpu") <= 1


@pytest.mark.parametrize(
    ("arch", "path", "number"),
    [
        pytest.param(arch, *one.values, id=f"{arch}-{one.id}")
        for arch in ("sm_80", "sm_90a")
        for one in _cases(lambda case, arch=arch: case.emulate and case.runs_on(arch))
    ],
)
def test_in_the_emulator(arch, path, number):
    requires("nvidia-cuda-nvrtc", lambda: find_nvrtc() is not None)
    requires("ziglang", lambda: zig_path() is not None)
    assert run.check(module(path).CASES[number], f"cuda -arch={arch}", "emulator") <= 1
