"""What the tests of the emulator share: kernels from PTX or CUDA C++, run on arrays."""

import itertools

import numpy as np
import pytest

from tile_cpu.emulator import Emulator
from tile_cpu.emulator.device import KERNEL_FLAGS, kernel_text
from tile_cpu.toolchain import compile as build
from tile_cuda import spec
from tile_cuda.emulate.source import compile_ptx, source_of
from tile_cuda.manifest import MANIFEST
from tile_cuda.nvrtc import find_nvrtc

HOST = """def bind(rt):
    launch = rt.kernel({name!r}, {formats!r}, {threads}, {shared})
    def call(*args):
        launch({blocks}, *args[:len(args) // 2])
    return call
"""
REGIONS = """def regions(*args):
    half = len(args) // 2
    return [(f"argument {i}", args[i], args[half + i], True) for i in range(half)]
"""
_number = itertools.count()


@pytest.fixture(scope="session")
def nvrtc():
    """NVIDIA's compiler; it needs no device."""
    if find_nvrtc() is None:
        pytest.skip("nvidia-cuda-nvrtc is not installed")


@pytest.fixture
def from_ptx(tmp_path):
    """(PTX, kernel, number of pointers) -> function of arrays, which it may write."""

    def make(ptx, name, pointers, threads=32, shared=0, blocks=1, source="", arch="sm_90a"):
        emulator = Emulator(MANIFEST, spec.load(arch))
        host = HOST.format(
            name=name, formats="P" * pointers, threads=threads, shared=shared, blocks=blocks
        )
        path = tmp_path / f"kernel{next(_number)}.so"
        text = kernel_text(emulator.emulation, source_of(ptx, source, host, REGIONS))
        build(text, path, KERNEL_FLAGS)
        function = emulator.load(None, path)

        def call(*arrays):
            assert all(isinstance(a, np.ndarray) and a.flags.c_contiguous for a in arrays)
            function(*(a.ctypes.data for a in arrays), *(a.nbytes for a in arrays))
            return function.counters[name]

        return call

    return make


@pytest.fixture
def from_cuda(nvrtc, from_ptx):
    """CUDA C++ text of a kernel `k` -> function of arrays."""

    def make(text, pointers, threads=32, shared=0, blocks=1, arch="sm_90a"):
        ptx = compile_ptx(text, arch)
        return from_ptx(ptx, "k", pointers, threads, shared, blocks, text, arch)

    return make
