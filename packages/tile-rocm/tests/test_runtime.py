"""Loading and launching against a driver that only writes down what it is asked."""

import ctypes
import sys
import types

import pytest

from tile_ir.diag import TileError
from tile_rocm import bindings, device, host_arch
from tile_rocm.container import ARCHIVE, Contents
from tile_rocm.launch import prepare_launch
from tile_rocm.runtime import RocmFunction

HOST = """\
def bind(rt):
    launch_0 = rt.kernel('k', 'Pif', 128)
    def call(A, n, x):
        if n > 0:
            launch_0(n, A, n, x)
    return call
"""


class Refused(Exception):
    """What a binding raises."""


class Driver:
    """The binding's functions."""

    errors = (Refused,)

    def __init__(self):
        self.launches, self.unloaded, self.refuse = [], [], ""
        self.device = 0

    def get_device(self):
        if self.refuse == "device":
            raise Refused("no ROCm-capable device is detected")
        return self.device

    def set_device(self, device):
        self.device = device

    def arch_name(self, device):
        return "gfx942:sramecc+:xnack-"

    def multiprocessors(self, device):
        return 304

    def load_module(self, code):
        if self.refuse == "load":
            raise Refused("no kernel image is available")
        return 11

    def unload_module(self, module):
        self.unloaded.append(module)

    def get_function(self, module, name):
        return 22

    def launch(self, function, blocks, threads, stream, pointers):
        if self.refuse == "launch":
            raise Refused("out of resources")
        places = (ctypes.c_void_p * 3).from_address(pointers)
        values = (
            ctypes.c_uint64.from_address(places[0]).value,
            ctypes.c_int32.from_address(places[1]).value,
            ctypes.c_float.from_address(places[2]).value,
        )
        self.launches.append((blocks, threads, stream, values))


@pytest.fixture
def driver(monkeypatch):
    fake = Driver()
    monkeypatch.setattr(device, "binding", lambda: fake)
    monkeypatch.setattr(device, "current_stream", lambda ordinal: 70 + ordinal)
    return fake


@pytest.fixture
def function(driver, tmp_path):
    path = tmp_path / "k.zip"
    path.write_bytes(ARCHIVE.pack(Contents(code=b"\x7fELF", host=HOST, usage={})))
    return RocmFunction(path, ("ptr", "i32", "f32"))


def test_a_launch_passes_grid_block_stream_and_values(driver, function):
    function(0x7F0000001000, 70000, 1.5)
    assert driver.launches == [(70000, 128, 70, (0x7F0000001000, 70000, 1.5))]


def test_an_empty_grid_is_not_launched(driver, function):
    function(0, 0, 0.0)
    assert driver.launches == []


def test_each_device_is_bound_once(driver, function):
    for ordinal in (0, 1, 1, 0):
        driver.device = ordinal
        function(1, 1, 1.0)
    assert [stream for _, _, stream, _ in driver.launches] == [70, 71, 71, 70]
    function.unload()
    assert driver.unloaded == [11, 11]


def test_arguments_on_another_device_make_it_current_for_the_launch(driver, function):
    function.prepare(1, (1.0,))(1, 1)
    function.prepare(0, (1.0,))(1, 1)
    assert [stream for _, _, stream, _ in driver.launches] == [71, 70]
    assert driver.device == 0


@pytest.mark.parametrize(
    ("refuse", "code"), [("load", "E3007"), ("launch", "E3009"), ("device", "E3008")]
)
def test_what_the_driver_refuses(driver, function, refuse, code):
    driver.refuse = refuse
    with pytest.raises(TileError) as caught:
        function(1, 1, 1.0)
    assert caught.value.code == code


def test_too_many_blocks(driver):
    launch = prepare_launch(22, "Pif", 128, 0)
    launch((1 << 25) - 1, 0, 0, 0.0)
    with pytest.raises(TileError) as caught:
        launch(1 << 25, 0, 0, 0.0)
    assert caught.value.code == "E3011"


def test_the_device_at_hand(driver):
    assert device.arch_name(0) == "gfx942"
    assert host_arch.host_arch() == "gfx942"
    assert device.multiprocessors(0) == 304


@pytest.fixture
def no_binding(monkeypatch):
    device.binding.cache_clear()
    for name in ("cupy_backends.cuda.api", "hip", "hip.hip"):
        monkeypatch.setitem(sys.modules, name, None)
    yield
    device.binding.cache_clear()


def test_without_a_binding(no_binding, tmp_path):
    path = tmp_path / "k.zip"
    path.write_bytes(ARCHIVE.pack(Contents(code=b"\x7fELF", host=HOST, usage={})))
    with pytest.raises(TileError) as caught:
        RocmFunction(path)(1, 1, 1.0)
    assert caught.value.code == "E3012"
    assert "hip-python" in caught.value.help
    assert "rocm -arch=gfx942" in caught.value.help
    with pytest.raises(TileError, match="neither CuPy"):
        host_arch.host_arch()


def fake_module(**names):
    return types.SimpleNamespace(**names)


def test_cupy_must_be_built_for_rocm(monkeypatch):
    runtime = fake_module(is_hip=False)
    modules = {"driver": fake_module(CUDADriverError=Refused), "runtime": runtime}
    monkeypatch.setattr(bindings, "import_module", lambda name: modules[name.rpartition(".")[2]])
    with pytest.raises(ImportError, match="not built for ROCm"):
        bindings.CupyBinding.found()
    runtime.is_hip = True
    assert bindings.CupyBinding.found().errors == (Refused,)


def test_cupys_functions():
    said = []
    properties = {"gcnArchName": b"gfx90a:xnack-", "multiProcessorCount": 110}
    runtime = fake_module(
        getDevice=lambda: 3,
        setDevice=said.append,
        free=said.append,
        getDeviceProperties=lambda device: properties,
    )
    driver = fake_module(
        CUDADriverError=Refused,
        moduleLoadData=lambda code: 11,
        moduleUnload=said.append,
        moduleGetFunction=lambda module, name: (module, name),
        launchKernel=lambda *arguments: said.append(arguments),
    )
    hip = bindings.CupyBinding(driver, runtime)
    hip.set_device(2)
    assert (hip.get_device(), hip.arch_name(0), hip.multiprocessors(0)) == (3, "gfx90a:xnack-", 110)
    assert hip.get_function(hip.load_module(b""), "k") == (11, "k")
    hip.launch(22, 5, 64, 7, 4096)
    hip.unload_module(11)
    assert said == [2, 0, (22, 5, 1, 1, 64, 1, 1, 0, 7, 4096, 0), 11]


def test_hip_pythons_functions(monkeypatch):
    said, ok = [], "hipSuccess"

    def properties(room, device):
        room.gcnArchName, room.multiProcessorCount = b"gfx1100", 48
        return (ok,)

    module = fake_module(
        hipError_t=fake_module(hipSuccess=ok),
        hipDeviceProp_t=types.SimpleNamespace,
        hipGetDeviceProperties=properties,
        hipGetDevice=lambda: (ok, 1),
        hipSetDevice=lambda device: ("hipErrorInvalidDevice",),
        hipModuleLoadData=lambda code: (ok, 11),
        hipModuleUnload=lambda module: (said.append(module), (ok,))[1],
        hipModuleGetFunction=lambda module, name: (ok, (module, name)),
        hipModuleLaunchKernel=lambda *arguments: (said.append(arguments), (ok,))[1],
    )
    monkeypatch.setattr(bindings, "import_module", lambda name: module)
    hip = bindings.HipPythonBinding.found()
    assert (hip.get_device(), hip.arch_name(0), hip.multiprocessors(0)) == (1, "gfx1100", 48)
    assert hip.get_function(hip.load_module(b""), "k") == (11, b"k")
    with pytest.raises(bindings.HipFailedError, match="hipErrorInvalidDevice"):
        hip.set_device(9)
    hip.launch(22, 5, 64, 7, 4096)
    hip.unload_module(11)
    assert said == [(22, 5, 1, 1, 64, 1, 1, 0, 7, 4096, None), 11]
