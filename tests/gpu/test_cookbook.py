"""Every case of every example on the device at hand, against its float64 reference: within the
tolerance that follows from the types and the lengths of its sums, in outputs that begin as NaN.

The kernels are built in as many processes as there are cores before the first test, or were
prepared elsewhere: `TILE_PREPARED_DIR` names their folder, as for `benchmarks/gpu.py`. This file
run as a script fills that folder, without a GPU:

    python tests/gpu/test_cookbook.py FOLDER
"""

import os
import subprocess
import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from tile_ir.testing.by_path import module_at

pytestmark = pytest.mark.gpu

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
FILES = sorted(p for p in EXAMPLES.glob("*.py") if p.stem not in ("_run", "quickstart"))


def beside(folder, path):
    """A module by its path, which finds what it imports in `folder`."""
    sys.path.insert(0, str(folder))
    try:
        return module_at(path)
    finally:
        sys.path.remove(str(folder))


@cache
def example(path):
    """The module of an example."""
    return beside(EXAMPLES, path)


@cache
def shared():
    """What the examples share."""
    return beside(EXAMPLES, EXAMPLES / "_run.py")


@cache
def builder():
    """What builds and finds the kernels of the benchmarks."""
    return beside(ROOT / "benchmarks", ROOT / "benchmarks" / "gpu_build.py")


def named_cases():
    """(file, number) of every case."""
    return [(p, i) for p in FILES for i in range(len(getattr(example(p), "CASES", ())))]


def built(job):
    """Compile a case for a target; why that failed, where it did."""
    path, number, target = job
    builder().follow_environment()
    case = example(path).CASES[number]
    try:
        args = case.inputs(np.random.default_rng(0))
        kernel = shared().built_for(case.kernel, target, None)
        kernel.compile(*args, **case.options_for(target))
    except Exception as error:  # the case's own test tells it in full
        return f"{path.stem} {number}: {str(error).splitlines()[0]}"
    return None


@pytest.fixture(scope="module", autouse=True)
def prepared(torch, cache_of_the_session, tmp_path_factory):
    """The kernels of all cases on disk; the target that they are for."""
    from tile_cuda.driver import CudaToolchain
    from tile_cuda.host_arch import host_arch
    from tile_frontend import driver

    target = f"cuda -arch={host_arch()}"
    folder = os.environ.get(builder().PREPARED) or str(tmp_path_factory.mktemp("prepared"))
    subprocess.run([sys.executable, __file__, folder, target], check=False)
    with pytest.MonkeyPatch.context() as patch:
        for name in (builder().PREPARED, "TILE_CACHE_DIR"):
            patch.setenv(name, folder)
        # They are replaced, and what was there returns when the module ends.
        patch.setattr(driver, "_versions", driver._versions)
        patch.setattr(CudaToolchain, "fingerprint", CudaToolchain.fingerprint)
        builder().use_prepared(folder)
        yield target


@pytest.mark.parametrize(
    ("path", "number"), [pytest.param(p, i, id=f"{p.stem}-{i}") for p, i in named_cases()]
)
def test_a_case_agrees_with_float64(path, number, prepared):
    assert shared().check(example(path).CASES[number], prepared) <= 1


def main(folder, target="cuda -arch=sm_90a"):
    """Build every case for a target into a folder; return how many failed."""
    builder().use_prepared(folder)
    return builder().build_all([(*case, target) for case in named_cases()], built)


if __name__ == "__main__":
    raise SystemExit(min(1, main(*sys.argv[1:])))
