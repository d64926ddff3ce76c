"""The GPU target on a machine without a GPU: kernels are compiled and read, not run."""

import numpy as np
import pytest

import tile_frontend as tile
import tile_frontend.language as T
from tile_cuda.nvrtc import find_nvrtc
from tile_ir.diag import TileError
from tile_ir.testing.requires import requires


@T.prim_func
def double(X: T.Tensor((256,), T.float16)):
    Y = T.empty((256,), T.float16)
    with T.Kernel(1, threads=32):
        for i in T.Parallel(256):
            Y[i] = X[i] * 2
    return Y


@pytest.fixture(autouse=True)
def _compiler(monkeypatch):
    requires("nvidia-cuda-nvrtc", lambda: find_nvrtc() is not None)
    monkeypatch.delenv("TILE_CUDA_ARCH", raising=False)


@pytest.mark.parametrize("arch", ["sm_80", "sm_90a", "hopper", "sm_120"])
def test_a_named_architecture_is_compiled_for(arch):
    kernel = tile.compile(double, target=f"cuda -arch={arch}")
    source = kernel.get_kernel_source()
    assert "double" in source
    assert "__launch_bounds__(32)" in source
    assert kernel.source_path.suffix == ".cu"
    assert kernel.target.device == "cuda"


def test_what_a_kernel_needs_survives_the_cache():
    first = tile.compile(double, target="cuda -arch=sm_89")
    again = tile.compile(double, target="cuda -arch=sm_89")
    assert (first.compiled.cached, again.compiled.cached) == (False, True)
    assert first.compiled.artifact == again.compiled.artifact
    assert len(again.compiled.artifact.alignments) == 2


def test_flags_reach_the_compiler():
    with pytest.raises(TileError) as caught:
        tile.compile(double, target="cuda -arch=sm_80", compile_flags="--no-such-flag")
    assert caught.value.code == "E3002"
    tile.compile(double, target="cuda -arch=sm_80", compile_flags=["--use_fast_math"])


def test_memory_of_the_host_is_refused():
    kernel = tile.compile(double, target="cuda -arch=sm_90a")
    with pytest.raises(TileError) as caught:
        kernel(np.zeros(256, np.float16))
    assert caught.value.code == "E2007"
    assert "'cpu'" in caught.value.message


def test_the_device_at_hand_is_asked_for_only_where_none_is_named(monkeypatch):
    def absent():
        raise TileError("E3008", "there is no device", help="name an architecture")

    monkeypatch.setattr("tile_cuda.device.current_device", absent)
    with pytest.raises(TileError) as caught:
        tile.compile(double, target="cuda")
    assert caught.value.code == "E3008"
    assert caught.value.help == "name an architecture"
