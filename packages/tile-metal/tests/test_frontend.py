"""From the language to an archive, by the target's name and a family."""

from dataclasses import replace

import pytest

from tile_ir.diag import TileError
from tile_metal import device
from tile_metal.container import ARCHIVE

torch = pytest.importorskip("torch")
tile = pytest.importorskip("tile_frontend")
TorchAdapter = pytest.importorskip("tile_frontend.adapters.torch_tensors").TorchAdapter
T = pytest.importorskip("tile_frontend.language")


@T.prim_func
def scale(x: T.Tensor((4096,), "float32"), y: T.Tensor((4096,), "float32")):
    with T.Kernel(4, threads=256) as bx:
        for i in T.Parallel(1024):
            y[bx * 1024 + i] = x[bx * 1024 + i] * 2.0


@T.prim_func
def staged(x: T.Tensor((64, 64), "float16"), y: T.Tensor((64, 64), "float16")):
    with T.Kernel(1, threads=128):
        tile_of_x = T.alloc_shared((64, 64), "float16")
        T.copy(x, tile_of_x)
        T.copy(tile_of_x, y)


@T.prim_func
def printing(x: T.Tensor((1024,), "float32"), y: T.Tensor((1024,), "float32")):
    with T.Kernel(4, threads=256) as bx:
        T.print(bx)
        for i in T.Parallel(256):
            y[bx * 256 + i] = x[bx * 256 + i] * 2.0


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("TILE_CACHE_DIR", str(tmp_path))


@pytest.mark.parametrize("arch", ["apple7", "apple10", "m3"])
def test_a_kernel_is_compiled_anywhere(checker, arch):
    kernel = tile.compile(scale, target=f"metal -arch={arch}", out_idx=[1])
    source = kernel.get_kernel_source()
    assert "TILE_KERNEL(256) scale(" in source
    assert "y[bx * 1024 + i] = x[bx * 1024 + i] * 2.0" in source  # the user's line, as a comment
    usage = ARCHIVE.unpack(kernel.compiled.library_path).usage
    assert {name: row.threads for name, row in usage.items()} == {"scale": 256}


class Shaders:
    """What torch.mps.compile_shader returns: the kernel as torch would compute it."""

    def __init__(self):
        self.launches = []

    def scale(self, y, x, *, threads, group_size):
        self.launches.append((threads, group_size))
        torch.mul(x, 2.0, out=y)

    def staged(self, x, y, *, threads, group_size):
        y.copy_(x)


@pytest.fixture
def shaders(monkeypatch):
    """The GPU that PyTorch would have here, with the memory of the host."""
    found = Shaders()
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: True)
    monkeypatch.setattr(torch.mps, "compile_shader", lambda source: found, raising=False)
    inspect, maker = TorchAdapter.inspect, TorchAdapter.maker
    monkeypatch.setattr(
        TorchAdapter, "inspect", lambda self, x: replace(inspect(self, x), device="mps")
    )
    monkeypatch.setattr(
        TorchAdapter, "maker", lambda self, shape, dtype, device: maker(self, shape, dtype, "cpu")
    )
    device._torch.cache_clear()
    yield found
    device._torch.cache_clear()


def test_a_call_passes_tensors(checker, shaders):
    kernel = tile.compile(scale, target="metal -arch=apple9", out_idx=[1])
    x = torch.arange(4096, dtype=torch.float32)
    for _ in range(3):
        assert torch.equal(kernel(x), 2 * x)
    assert shaders.launches == [((4 * 256,), (256,))] * 3


def test_a_view_that_begins_between_accesses_is_refused(checker, shaders):
    kernel = tile.compile(staged, target="metal -arch=apple9", out_idx=[1])
    memory = torch.zeros(4200, dtype=torch.float16)
    with pytest.raises(TileError, match="no multiple of 16 bytes") as caught:
        kernel(memory[4:4100].view(64, 64))
    assert caught.value.code == "E2016"
    assert kernel(memory[8:4104].view(64, 64)).shape == (64, 64)


def test_what_kernels_cannot_do_names_the_line():
    with pytest.raises(TileError, match="cannot print") as caught:
        tile.compile(printing, target="metal -arch=apple9", out_idx=[1])
    assert caught.value.code == "E3101"
    assert caught.value.span.text().strip() == "T.print(bx)"


def test_an_unknown_architecture_names_those_that_exist():
    with pytest.raises(TileError, match="no architecture 'apple1'") as caught:
        tile.compile(scale, target="metal -arch=apple1", out_idx=[1])
    assert caught.value.code == "E0916"
    assert "apple9" in str(caught.value.notes)
