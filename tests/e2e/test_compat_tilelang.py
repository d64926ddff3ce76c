"""Programs written for TileLang, run unchanged."""

import subprocess
import sys
import textwrap
import warnings

import numpy as np
import pytest

import tile_frontend as tile
import tile_frontend.language as T
from tile_frontend.compat import testing
from tile_frontend.compat.tilelang import offered
from tile_frontend.pass_configs import CompatibilityWarning
from tile_ir.diag import TileError

PROGRAM = """
import builtins
import numpy as np
import tilelang
import tilelang.language as T
import tilelang.testing
from tilelang.utils.tensor import torch_assert_close
from tilelang import PassConfigKey, TensorSupplyType
from tilelang.language import *
from tilelang.profiler import do_bench

tilelang.disable_cache()
tilelang.testing.set_random_seed(0)
assert tilelang.math.next_power_of_2(33) == 64 and tilelang.cdiv(7, 2) == 4
assert not tilelang.is_cache_enabled()


@tilelang.jit(out_idx=[-1], target="c")
def matmul(M, N, K, block_M, block_N, block_K, dtype=T.float32):
    @T.prim_func
    def main(A: T.Tensor((M, K), dtype), B: T.Tensor((K, N), dtype), C: T.Tensor((M, N), dtype)):
        with T.Kernel(T.ceildiv(N, block_N), T.ceildiv(M, block_M), threads=128) as (bx, by):
            A_shared = T.alloc_shared((block_M, block_K), dtype)
            B_shared = T.alloc_shared((block_K, block_N), dtype)
            C_local = T.alloc_fragment((block_M, block_N), T.float32)
            T.clear(C_local)
            for ko in T.Pipelined(T.ceildiv(K, block_K), num_stages=2):
                T.copy(A[by * block_M, ko * block_K], A_shared)
                T.copy(B[ko * block_K, bx * block_N], B_shared)
                T.gemm(A_shared, B_shared, C_local)
            T.copy(C_local, C[by * block_M, bx * block_N])

    return main


@tilelang.testing.requires_cuda
def test_on_a_device():
    raise RuntimeError("there is none")


kernel = matmul(100, 80, 60, 32, 32, 32)
a, b = (np.random.rand(*s).astype("float32") for s in ((100, 60), (60, 80)))
np.testing.assert_allclose(kernel(a, b), a @ b, rtol=1e-5)
assert kernel.get_profiler(TensorSupplyType.Normal).do_bench(warmup=1, rep=1) > 0
source = tilelang.lower(matmul.get_tir(64, 64, 64, 32, 32, 32), target="c").kernel_source
builtins.print("ran", "main" in source, type(kernel).__module__, infinity("float32") is not None)
"""


def test_a_program_runs_unchanged(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    command = [sys.executable, "-m", "tile_frontend.compat.tilelang", str(program)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.stdout == "ran True tile_frontend.kernel True\n", done.stderr


@pytest.mark.parametrize(
    ("text", "missing"),
    [
        ("import tilelang.carver.template", "tilelang.carver is not provided"),
        ("from tilelang import tvm", "tilelang.tvm is not provided"),
        ("import tilelang; tilelang.engine.register_postproc", "engine.register_postproc is not"),
        ("from tilelang.testing import regression", "tilelang.testing.regression is not provided"),
        ("import tilelang.language as T; T.warp_dance", "the language has no name T.warp_dance"),
    ],
)
def test_what_is_missing_is_named(text, missing):
    code = f"import tile_frontend.compat.tilelang\n{text}\n"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert missing in done.stderr
    assert "error[E1" in done.stderr


def test_it_does_not_take_the_place_of_an_imported_package():
    code = """
    import sys, types
    sys.modules["tilelang"] = types.ModuleType("tilelang")
    import tile_frontend.compat.tilelang
    """
    run = [sys.executable, "-c", textwrap.dedent(code)]
    done = subprocess.run(run, capture_output=True, text=True, check=False)
    assert "error[E1118]" in done.stderr


def test_every_offered_name_is_there():
    code = """
    import importlib, tile_frontend.compat.tilelang as compat
    lacking = []
    for module, names in compat.offered().items():
        found = importlib.import_module(module)
        for name in names:
            if name and not names[name].startswith("tile_tune"):
                getattr(found, name)
    import tilelang
    assert callable(tilelang.jit) and tilelang.jit.__module__ == "tile_frontend.jit_function"
    from tilelang.jit import JITKernel
    """
    run = [sys.executable, "-c", textwrap.dedent(code)]
    done = subprocess.run(run, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert len(offered()) > 15


def test_marks_of_devices():
    assert testing.requires_cpu.args == (False,)
    assert testing.requires_metal.args == (True,)
    assert "metal" in testing.requires_metal.kwargs["reason"]
    assert testing.requires_cuda_compute_version_ge(99, 0).args == (True,)
    assert testing.requires_package("numpy").args == (False,)
    assert testing.requires_package("no_such_package").args == (True,)


@T.prim_func
def copied(A: T.Tensor((8,), T.float32), B: T.Tensor((8,), T.float32)):
    T.annotate_pass_configs({"tl.dump_ir_path": "elsewhere"})
    with T.Kernel(1):
        for i in T.Parallel(8):
            B[i] = A[i]


def test_settings_of_passes(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    key = tile.PassConfigKey
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        configs = {key.TL_ENABLE_FAST_MATH: True, key.TL_DISABLE_WGMMA: False, "tl.odd": 1}
        tile.compile(copied, target="cpu", pass_configs={**configs, key.TL_ENABLE_DUMP_IR: True})
    texts = [str(w.message) for w in seen]
    assert [t.split(" has no effect: ")[0] for t in texts] == [
        "warning[E1119]: tl.enable_fast_math",
        "warning[E1119]: tl.odd",
    ]
    assert {w.category for w in seen} == {CompatibilityWarning}
    assert seen[0].filename == __file__
    assert (tmp_path / "elsewhere" / "copied.tir").read_text().startswith("func @copied")
    kernel = tile.compile(
        copied, target="cpu", pass_configs={key.TL_DEVICE_COMPILE_FLAGS: ["-DODD=1"]}
    )
    assert kernel.made_with[1] == ("-DODD=1",)
    a, b = np.ones(8, np.float32), np.zeros(8, np.float32)
    kernel(a, b)
    assert (a == b).all()


def test_unknown_marks_are_refused():
    with pytest.raises(TileError, match="requires_magic"):
        _ = testing.requires_magic
