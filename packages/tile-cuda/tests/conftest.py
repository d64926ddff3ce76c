"""What the tests of this package share: a compiler, a disassembler, a device where there is one."""

import subprocess
from importlib import metadata

import pytest

from tile_cuda import nvrtc
from tile_cuda.prelude.index import mentioned, pieces_for
from tile_cuda.toolchain import compile_source


@pytest.fixture(scope="session")
def compiler():
    """NVRTC; it needs no device."""
    found = nvrtc.find_nvrtc()
    if found is None:
        pytest.skip("nvidia-cuda-nvrtc is not installed")
    return found


@pytest.fixture(scope="session")
def nvdisasm():
    """The path of NVIDIA's disassembler."""
    try:
        files = metadata.files("nvidia-cuda-nvdisasm") or []
    except metadata.PackageNotFoundError:
        files = []
    paths = [str(f.locate()) for f in files if f.name in ("nvdisasm", "nvdisasm.exe")]
    if not paths:
        pytest.skip("nvidia-cuda-nvdisasm is not installed")
    return paths[0]


@pytest.fixture
def instructions(compiler, nvdisasm, tmp_path):
    """Compile the text of kernels with the prelude it mentions; returns the machine's text."""

    def run(text, arch, own=None):
        source = pieces_for(mentioned(text), own) + text
        cubin, _ = compile_source(source, arch, compiler=compiler)
        path = tmp_path / "kernel.cubin"
        path.write_bytes(cubin)
        done = subprocess.run(
            [nvdisasm, "-c", str(path)], capture_output=True, text=True, check=True
        )
        return done.stdout

    return run
