"""What the tests of the emulator share: kernels from PTX, CUDA C++, HIP C++ or
Metal source, run on arrays."""

import itertools

import numpy as np
import pytest

from tile_cpu.compilers import zig_path
from tile_cpu.emulator import Emulator
from tile_cpu.emulator.device import KERNEL_FLAGS, kernel_text
from tile_cpu.emulator.native import build_native
from tile_cpu.toolchain import compile as build
from tile_cuda import spec
from tile_cuda.emulate.source import compile_ptx, source_of
from tile_cuda.manifest import MANIFEST
from tile_cuda.nvrtc import find_nvrtc
from tile_metal import spec as metal_spec
from tile_metal.emulate.source import source_of as metal_source
from tile_metal.manifest import MANIFEST as METAL
from tile_metal.prelude.index import mentioned as metal_words
from tile_metal.prelude.index import pieces_for as metal_pieces
from tile_rocm import spec as rocm_spec
from tile_rocm.emulate.source import source_of as hip_source
from tile_rocm.manifest import MANIFEST as ROCM
from tile_rocm.prelude.index import mentioned, pieces_for

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
        return on_arrays(emulator.load(None, path), name)

    return make


def on_arrays(function, name):
    """A function of addresses as one of arrays, which gives what it counted."""

    def call(*arrays):
        assert all(isinstance(a, np.ndarray) and a.flags.c_contiguous for a in arrays)
        function(*(a.ctypes.data for a in arrays), *(a.nbytes for a in arrays))
        return function.counters[name]

    return call


@pytest.fixture
def from_cuda(nvrtc, from_ptx):
    """CUDA C++ text of a kernel `k` -> function of arrays."""

    def make(text, pointers, threads=32, shared=0, blocks=1, arch="sm_90a"):
        ptx = compile_ptx(text, arch)
        return from_ptx(ptx, "k", pointers, threads, shared, blocks, text, arch)

    return make


@pytest.fixture(scope="session")
def zig():
    """The clang that compiles kernels for this processor."""
    if zig_path() is None:
        pytest.skip("ziglang is not installed")


@pytest.fixture
def from_hip(zig, tmp_path):
    """HIP C++ text of a kernel `k`, with what it mentions of the prelude -> function of arrays."""

    def make(text, pointers, threads=64, shared=0, blocks=1, arch="gfx942", own=None):
        target = rocm_spec.load(arch)
        emulator = Emulator(ROCM, target)
        made = {"TILE_WAVE": f"#define TILE_WAVE {target.warp_width}", **(own or {})}
        host = HOST.format(
            name="k", formats="P" * pointers, threads=threads, shared=shared, blocks=blocks
        )
        source = pieces_for(mentioned(text), made) + text
        path = tmp_path / f"kernel{next(_number)}.so"
        given = hip_source(source, target.toolchain.cpu, host, REGIONS)
        build_native(kernel_text(emulator.emulation, given), path)
        return on_arrays(emulator.load(None, path), "k")

    return make


@pytest.fixture
def from_metal(zig, tmp_path):
    """Metal source of a kernel `k`, with what it mentions of the prelude -> function of arrays."""

    def make(text, pointers, threads=32, shared=0, blocks=1, arch="apple7", own=None):
        emulator = Emulator(METAL, metal_spec.load(arch))
        host = HOST.format(
            name="k", formats="P" * pointers, threads=threads, shared=shared, blocks=blocks
        )
        given = metal_source(metal_pieces(metal_words(text), own or {}) + text, host, REGIONS)
        path = tmp_path / f"kernel{next(_number)}.so"
        build_native(kernel_text(emulator.emulation, given), path)
        return on_arrays(emulator.load(None, path), "k")

    return make
