"""The tuned configurations that come with a target are those of the cookbook's programs, cover the
shapes that are measured, and are what a call uses on that device without measuring anything."""

import sys
from functools import cache
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

import tile_tune
from tile_cuda.nvrtc import find_nvrtc
from tile_cuda.tuned import folder
from tile_ir.testing.by_path import module_at
from tile_ir.testing.requires import requires
from tile_tune import machine
from tile_tune.identity import digest_of
from tile_tune.problem import with_options
from tile_tune.tables import Table

ROOT = Path(__file__).parents[2]
H200 = folder() / "h200.yaml"
PRODUCTS = (
    *((n, n, n) for n in (2048, 4096, 8192, 16384)),
    *((4096, 14336, 4096), (4096, 4096, 14336), (4096, 28672, 8192)),
)


@cache
def tuned(name, kernel, target="cuda -arch=sm_90a"):
    """A kernel of the cookbook for that device, which refuses to measure."""
    sys.path.insert(0, str(ROOT / "examples"))
    try:
        example = getattr(module_at(ROOT / "examples" / f"{name}.py"), kernel)
    finally:
        sys.path.remove(str(ROOT / "examples"))
    inner = with_options(example.kernel, {}, target=target)
    return tile_tune.autotune(
        configs=example.configs, key=example.key, bucket=example.bucket, executor=Refusing()
    )(inner)


class Refusing:
    def submit(self, *args, **kwargs):
        raise AssertionError("something was measured")


@pytest.fixture(autouse=True)
def device(monkeypatch, tmp_path, request):
    """That device, with nothing tuned on it."""
    if request.node.get_closest_marker("gpu") is None:
        monkeypatch.setattr(machine, "described", lambda target: "NVIDIA H200")
    monkeypatch.setenv("TILE_TUNE_DATABASE", str(tmp_path / "t.sqlite3"))
    monkeypatch.setenv("TILE_TUNE", "on")


def operands(m, n, k, dtype=np.float16, transposed=False):
    return np.empty((m, k), dtype), np.empty((n, k) if transposed else (k, n), dtype)


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_every_measured_product_has_an_entry(dtype, transposed):
    matmul = tuned("gemm_tuned", "matmul")
    for shape in PRODUCTS:
        found = matmul.known(*operands(*shape, dtype, transposed), np.dtype(dtype).name, transposed)
        assert found.source == str(H200)
        assert found.provenance["gpu"] == "NVIDIA H200"
        m, n, k = shape
        assert 300 < 2 * m * n * k / found.milliseconds / 1e9 < 989  # TFLOP/s, of dense float16


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("dim", [64, 128])
def test_every_measured_attention_has_an_entry(dim, causal):
    attention = tuned("attention_tuned", "attention")
    for length in (2048, 4096, 8192, 16384):
        q = np.empty((16384 // length, 2048 // dim, length, dim), np.float16)
        found = attention.known(q, q, q, "float16", causal)
        assert found.source == str(H200)
        work = 4 * 16384 * length * 2048 / (2 if causal else 1)
        assert 300 < work / found.milliseconds / 1e9 < 989


def test_a_call_uses_the_entry_and_measures_nothing():
    requires("nvidia-cuda-nvrtc", lambda: find_nvrtc() is not None)
    matmul = tuned("gemm_tuned", "matmul")
    args = (*operands(2048, 2048, 2048), "float16")
    entry = matmul.known(*args).configuration
    assert matmul.best(*args) == entry
    kernel = matmul.compile(*args)
    m, n = (entry.arguments[name] for name in ("block_M", "block_N"))
    assert f"C[by * {m} : +{m}, bx * {n} : +{n}]" in kernel.ir
    # Not in the table, but rounded up to what is.
    assert matmul.best(*operands(1500, 2000, 1100), "float16") == entry


@pytest.mark.gpu
def test_calls_on_the_device_itself_measure_nothing():
    torch = pytest.importorskip("torch", reason="tensors on a GPU")
    requires("an H200", lambda: torch.cuda.get_device_name().index("H200") >= 0)
    a, b = (torch.randn(2048, 2048, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    matmul = tuned("gemm_tuned", "matmul", None)
    assert matmul.known(a, b, "bfloat16").source == str(H200)
    expected = a.float() @ b.float()
    assert (matmul(a, b, "bfloat16").float() - expected).abs().max() < 0.01 * expected.abs().max()
    q, k, v = (torch.randn(1, 2, 2048, 128, device="cuda").half() for _ in range(3))
    attention = tuned("attention_tuned", "attention", None)
    expected = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
    assert (attention(q, k, v, "float16") - expected).abs().max() < 0.01


def test_entries_are_for_the_programs_as_they_are():
    """A change of a program makes its entries useless: tune anew, with benchmarks/tune_gpu.py."""
    digests = {
        "matmul": digest_of(tuned("gemm_tuned", "matmul").kernel),
        "attention": digest_of(tuned("attention_tuned", "attention").kernel),
    }
    entries = Table.load(H200).records
    assert {(r.key.kernel, r.key.digest) for r in entries} == set(digests.items())
