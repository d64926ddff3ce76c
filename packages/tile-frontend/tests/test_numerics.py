"""`kernel.numerics` and `tile numerics`: a call beside the program in float64."""

import json

import numpy as np
import pytest

import tile_frontend as tile
import tile_frontend.language as T
from tile_frontend import cli

SOURCE = """
import tile_frontend as tile
import tile_frontend.language as T

@tile.jit
def scaled(A):
    N = T.const("N")
    A: T.Tensor((N,), T.float16)
    B = T.empty((N,), T.float16)
    with T.Kernel(N) as i:
        B[i] = A[i] * T.float16(1.5)
    return B
"""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "scaled.py"
    path.write_text(SOURCE)
    return str(path)


@T.prim_func
def added(A: T.Tensor((16,), T.float32), B: T.Tensor((16,), T.float32)):
    with T.Kernel(16) as i:
        B[i] += A[i] + 1


def test_a_kernel_says_how_exact_it_is():
    pytest.importorskip("tile_cpu")
    kernel = tile.compile(added, target="cpu")
    a, b = np.full(16, 0.1, np.float32), np.ones(16, np.float32)
    report = kernel.numerics(a, b)
    (out,) = report.outputs
    assert (out.name, out.shape, report.order.kind) == ("B", (16,), "bitwise")
    assert out.want == pytest.approx(float(np.float32(0.1)) + 2.0, abs=1e-12)
    assert out.worst <= 1.0
    np.testing.assert_allclose(b, 2.1, rtol=1e-6)  # the call happened, once


def test_the_command(file, capsys):
    pytest.importorskip("tile_cpu")
    assert cli.main(["numerics", file, "N=64", "--target", "cpu"]) == 0
    assert "B: f16 64, 64 elements against float64" in capsys.readouterr().out
    assert cli.main(["numerics", file, "N=64", "--target", "cpu", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["sizes"] == {"N": 64}
    (out,) = document["outputs"]
    assert (out["kind"], out["counts"][0], out["worst"] <= 0.5) == ("float", 64, True)
