"""Anchors of the emulator: one primitive each, with random registers in and registers out.

Every test runs twice. Here the emulator executes what NVIDIA's compiler makes of the text, and its
outputs have to hash to what `digests.json` says; with `-m gpu` a Hopper GPU executes the same text
on the same inputs, and has to hash to the same. `pytest tests/anchors --update-golden` writes the
digests anew, from the emulator only.
"""

import hashlib
import json
import re
import zlib
from ctypes import c_void_p
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from tile_cpu.emulator import Emulator
from tile_cpu.emulator.device import KERNEL_FLAGS, kernel_text
from tile_cpu.toolchain import compile as build
from tile_cuda import spec
from tile_cuda.driver import CudaRuntime, CudaToolchain
from tile_cuda.emulate.source import compile_ptx, source_of
from tile_cuda.host_arch import host_arch
from tile_cuda.manifest import MANIFEST
from tile_cuda.nvrtc import find_nvrtc
from tile_cuda.prelude.index import mentioned, pieces_for
from tile_ir.testing.requires import requires

ARCH = "sm_90a"
DIGESTS = Path(__file__).with_name("digests.json")
REGIONS = "def regions(*args):\n    return [(f'argument {{i}}', args[i], n, True)" + (
    " for i, n in enumerate({sizes})]\n"
)


class EmulatedMachine:
    """Runs kernels on this processor."""

    name = "emulator"

    def __init__(self, folder):
        self.folder = folder
        requires("NVRTC", find_nvrtc() is not None)

    def run(self, source, host, arrays):
        """Launch on the arrays, which it may write."""
        emulator = Emulator(MANIFEST, spec.load(ARCH))
        regions = REGIONS.format(sizes=[a.nbytes for a in arrays])
        text = source_of(compile_ptx(source, ARCH), source, host, regions)
        path = self.folder / "kernel.so"
        build(kernel_text(emulator.emulation, text), path, KERNEL_FLAGS)
        emulator.load(None, path)(*(a.ctypes.data for a in arrays))


class Device:
    """Runs kernels on the GPU of this machine."""

    name = "device"

    def __init__(self, folder):
        self.folder = folder
        requires("a Hopper GPU", lambda: host_arch() == ARCH)
        self.cupy = pytest.importorskip("cupy")

    def run(self, source, host, arrays):
        """Launch on copies of the arrays, and copy all of them back."""
        target, path = spec.load(ARCH), self.folder / "kernel.zip"
        artifact = SimpleNamespace(source=source, host=host, strict=False, signature=())
        CudaToolchain(target).compile(artifact, path)
        function = CudaRuntime(target).load(artifact, path)
        memory = [self.cupy.cuda.alloc(a.nbytes) for a in arrays]
        for there, array in zip(memory, arrays, strict=True):
            there.copy_from_host(array.ctypes.data_as(c_void_p), array.nbytes)
        function(*(m.ptr for m in memory))
        self.cupy.cuda.runtime.deviceSynchronize()
        for there, array in zip(memory, arrays, strict=True):
            there.copy_to_host(array.ctypes.data_as(c_void_p), array.nbytes)


MACHINES = [
    pytest.param(EmulatedMachine, id="emulator"),
    pytest.param(Device, id="device", marks=pytest.mark.gpu),
]


@pytest.fixture(params=MACHINES)
def machine(request, tmp_path):
    """What the test runs on."""
    return request.param(tmp_path)


@pytest.fixture
def emulated(tmp_path):
    """This processor, for what would stop a device."""
    return EmulatedMachine(tmp_path)


@pytest.fixture
def key(request):
    """The test's name without the machine."""
    name = re.sub(r"\b(emulator|device)-?", "", request.node.name)
    return f"{request.node.path.stem}::{name.replace('[]', '')}"


@pytest.fixture
def rng(key):
    """Random numbers that are the same for both machines and all versions of numpy."""
    return np.random.RandomState(zlib.crc32(key.encode()))


@pytest.fixture(scope="session")
def digests(request):
    """What outputs hash to; new ones are written when the session ends."""
    known = json.loads(DIGESTS.read_text("utf-8")) if DIGESTS.exists() else {}
    before = dict(known)
    yield known
    if known != before:
        DIGESTS.write_text(json.dumps(known, indent=0, sort_keys=True) + "\n", "utf-8")


HOST = """def bind(rt):
    launch = rt.kernel("k", {formats!r}, {threads}, {shared})
    def call(*args):
        launch(1, *args)
    return call
"""


@pytest.fixture
def launch(machine):
    """(CUDA text, inputs, outputs, ...) -> the outputs. The text mentions our prelude where it
    likes, unless it is `complete`; one kernel `k` takes pointers to inputs and outputs, unless
    there is the text of a host part that does."""

    def run(text, inputs, outputs, *, threads=32, shared=0, own=None, host=None, complete=False):
        arrays = [np.array(a, order="C") for a in (*inputs, *outputs)]
        source = text if complete else pieces_for(mentioned(text), own) + text
        formats = "P" * len(arrays)
        plain = HOST.format(formats=formats, threads=threads, shared=shared)
        machine.run(source, host or plain, arrays)
        return arrays[len(inputs) :]

    return run


@pytest.fixture
def agree(launch, machine, key, digests, request):
    """As `launch`; the outputs have to be those of the other machine bit for bit."""
    update = request.config.getoption("--update-golden") and machine.name == "emulator"

    def check(*args, **more):
        made = launch(*args, **more)
        got = [hashlib.sha256(a.tobytes()).hexdigest()[:32] for a in made]
        if update:
            digests[key] = got
        assert digests.get(key) == got, f"{machine.name}:\n" + "\n".join(map(str, made))
        return made

    return check
