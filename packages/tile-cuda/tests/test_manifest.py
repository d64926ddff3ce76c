"""The target is found by its entry point, and everything that its manifest names is there."""

import pytest

import tile_cuda
from tile_cuda import spec
from tile_cuda.driver import CudaRuntime, CudaToolchain
from tile_ir.diag import TileError
from tile_ir.plugin import load, resolve
from tile_ir.target import find_spec, parse_target


def test_the_entry_point_leads_to_the_manifest():
    assert load("tile.targets", "cuda") is tile_cuda.MANIFEST
    assert tile_cuda.MANIFEST.status == "ready"


def test_every_factory_is_there():
    made = {name: resolve(ref) for name, ref in tile_cuda.MANIFEST.factories().items()}
    wanted = {"specs", "pipeline", "emit", "toolchain", "runtime"}
    wanted |= {"host_arch", "emulate", "export", "tables"}
    assert set(made) == wanted
    assert made["specs"]() == spec.folder()
    assert made["toolchain"] is CudaToolchain
    assert made["runtime"] is CudaRuntime
    assert made["pipeline"](None).steps[-1].run is not None


@pytest.mark.parametrize(
    ("text", "arch"), [("cuda -arch=sm_90a", "sm_90a"), ("cuda -arch=ampere", "sm_80")]
)
def test_an_architecture_by_name(text, arch):
    assert find_spec(tile_cuda.MANIFEST, parse_target(text)).arch == arch


def test_without_a_device_the_error_says_how_to_compile(monkeypatch):
    def absent():
        raise RuntimeError("no CUDA-capable device is detected")

    monkeypatch.delenv("TILE_CUDA_ARCH", raising=False)
    monkeypatch.setattr("tile_cuda.device._device_getter", lambda: absent)
    with pytest.raises(TileError) as caught:
        find_spec(tile_cuda.MANIFEST, parse_target("cuda"))
    assert caught.value.code == "E3008"
    assert caught.value.help == (
        "To compile only, name an architecture: target='cuda -arch=sm_90a'."
    )
