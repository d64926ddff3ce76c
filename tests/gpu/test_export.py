"""Exported kernels on a GPU, in processes without our packages: the self-check, tensors of PyTorch
and arrays of CuPy, streams, graphs, variants for odd arguments."""

import json
import os
import shutil
import subprocess
import sys
import zipfile
from importlib.util import find_spec
from pathlib import Path

import pytest

import tile_frontend as tile
import tile_frontend.language as T
from tile_ir.testing.by_path import module_at
from tile_ir.testing.requires import requires

pytestmark = pytest.mark.gpu
KERNELS = Path(__file__).parents[1] / "e2e" / "export_kernels.py"


@pytest.fixture(scope="module")
def site(torch, cache_of_the_session, tmp_path_factory):
    """A folder with two installed wheels: tiles drawn from a counter, and a workspace."""
    requires("a C compiler", shutil.which("cc"))
    folder = tmp_path_factory.mktemp("exported")
    hopper = torch.cuda.get_device_capability()[0] == 9
    plan = {"product.tiles.claim": "dynamic"} if hopper else None
    kernels = module_at(KERNELS)
    func = kernels.product(T.dynamic("M"), 256, 320, 128, 64)
    made = tile.compile(func, out_idx=-1, target="cuda", plan=plan)
    wheels = [made.export(folder, "wheel", targets=["cuda -arch=sm_80"])]
    made = tile.compile(kernels.steps(T.dynamic("N")), out_idx=-1, target="cuda")
    wheels.append(made.export(folder, "wheel"))
    for wheel in wheels:
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(folder / "site")
    return folder / "site"


def ran(site, *words):
    """What a process prints that finds the exported packages."""
    clean = {k: v for k, v in os.environ.items() if not k.startswith("TILE")}
    done = subprocess.run(
        [sys.executable, *words], env={**clean, "PYTHONPATH": str(site)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("name", ["product", "steps"])
def test_a_wheel_checks_itself(site, name):
    assert "for this machine checked by" in ran(site, "-m", name, "--self-check")


TORCH = """
import json, sys, torch, product, steps
torch.manual_seed(0)
a = torch.randn(1000, 320, device="cuda", dtype=torch.float16)
b = torch.randn(320, 256, device="cuda", dtype=torch.float16)
want = a.double() @ b.double()
def off(c):
    return (c.double() - want).abs().max().item() / want.abs().max().item()
told = {"fast": [off(product.kernel(a, b)), product.kernel.used()]}
flat = torch.empty(1000 * 320 + 1, device="cuda", dtype=torch.float16)[1:].view(1000, 320)
flat.copy_(a)
told["odd"] = [off(product.kernel(flat, b)), product.kernel.used()]
side = torch.cuda.Stream()
side.wait_stream(torch.cuda.current_stream())
with torch.cuda.stream(side):
    told["stream"] = off(product.kernel(a, b))
graph, out = torch.cuda.CUDAGraph(), torch.empty(1000, 256, device="cuda", dtype=torch.float16)
with torch.cuda.graph(graph):
    product.kernel(a, b, out=out)
for _ in range(3):
    out.zero_()
    graph.replay()
torch.cuda.synchronize()
told["graph"] = off(out)
x = torch.arange(1000, device="cuda", dtype=torch.float32)
told["steps"] = torch.equal(steps.kernel(x, 2.0), x * 2 + 1)
for _ in range(200):
    last = product.kernel(a, b)
told["again"] = off(last)
def code(*args):
    try:
        product.kernel(*args)
    except product.KernelError as error:
        return error.code
told["codes"] = [code(a, b.float()), code(a, b.cpu()), code(a, b[:, ::2]), code(a, b[1:])]
told["ours"] = [m for m in sys.modules if m.startswith("tile_")]
if torch.cuda.device_count() > 1:
    c = product.kernel(a.to("cuda:1"), b.to("cuda:1"))
    told["second"] = [off(c.to("cuda:0")), c.device.index, code(a, b.to("cuda:1"))]
print(json.dumps(told))
"""


def test_tensors_of_torch(site):
    told = json.loads(ran(site, "-c", TORCH))
    error, used = told["fast"]
    assert error < 2e-3
    assert used == 0
    error, used = told["odd"]
    assert error < 2e-3
    assert used > 0
    assert max(told["stream"], told["graph"], told["again"]) < 2e-3
    assert told["steps"] is True
    assert told["codes"] == ["E2002", "E2007", "E2004", "E2004"]
    assert told["ours"] == []
    if "second" in told:
        assert told["second"][0] < 2e-3
        assert told["second"][1:] == [1, "E2007"]


CUPY = """
import json, cupy, product, steps
a = cupy.random.rand(300, 320).astype("f2")
b = cupy.random.rand(320, 256).astype("f2")
c = product.kernel(a, b)
want = a.astype("f8") @ b.astype("f8")
x = cupy.arange(100, dtype="f4")
y = steps.kernel(x, -1.0)
print(json.dumps([float(abs(c - want).max() / want.max()), bool((y == 1 - x).all()), str(type(c))]))
"""


def test_arrays_of_cupy(site):
    requires("cupy", lambda: find_spec("cupy") is not None)
    error, exact, kind = json.loads(ran(site, "-c", CUPY))
    assert error < 2e-3
    assert exact
    assert "cupy" in kind
