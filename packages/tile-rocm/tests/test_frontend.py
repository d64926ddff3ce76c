"""From the language to a code object, by the target's name and an architecture."""

import sys

import numpy as np
import pytest

from tile_ir.diag import TileError
from tile_rocm import device
from tile_rocm.container import ARCHIVE

tile = pytest.importorskip("tile_frontend")
T = pytest.importorskip("tile_frontend.language")


@T.prim_func
def scale(x: T.Tensor((1024,), "float32"), y: T.Tensor((1024,), "float32")):
    with T.Kernel(4, threads=256) as bx:
        for i in T.Parallel(256):
            y[bx * 256 + i] = x[bx * 256 + i] * 2.0


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("TILE_CACHE_DIR", str(tmp_path))


@pytest.mark.parametrize("arch", ["gfx90a", "gfx1200", "mi300x"])
def test_a_kernel_is_compiled_anywhere(compiler, arch):
    kernel = tile.compile(scale, target=f"rocm -arch={arch}", out_idx=[1])
    source = kernel.get_kernel_source()
    assert "TILE_KERNEL(256) void scale" in source
    assert "y[bx * 256 + i] = x[bx * 256 + i] * 2.0" in source  # the user's line, as a comment
    usage = ARCHIVE.unpack(kernel.compiled.library_path).usage
    assert [row.vector_spills for row in usage.values()] == [0]


def test_calling_needs_the_devices_memory(compiler):
    kernel = tile.compile(scale, target="rocm -arch=gfx942", out_idx=[1])
    with pytest.raises(TileError) as caught:
        kernel(np.zeros(1024, np.float32))
    assert caught.value.code == "E2007"


def test_launching_without_a_binding_is_a_coded_error(compiler, monkeypatch):
    device.binding.cache_clear()
    for name in ("cupy_backends.cuda.api", "hip", "hip.hip"):
        monkeypatch.setitem(sys.modules, name, None)
    kernel = tile.compile(scale, target="rocm -arch=gfx942", out_idx=[1])
    with pytest.raises(TileError) as caught:
        kernel.compiled.launch(4096, 8192)
    assert caught.value.code == "E3012"
    device.binding.cache_clear()


def test_an_unknown_architecture_names_those_that_exist():
    with pytest.raises(TileError, match="no architecture 'gfx1'") as caught:
        tile.compile(scale, target="rocm -arch=gfx1", out_idx=[1])
    assert caught.value.code == "E0916"
    assert "gfx950" in str(caught.value.notes)
