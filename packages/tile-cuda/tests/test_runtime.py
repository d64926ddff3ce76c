"""Loading and launching against a driver that only writes down what it is asked."""

import ctypes
import struct

import pytest

from tile_cuda import device, launch, runtime
from tile_cuda.container import Contents, pack
from tile_cuda.launch import Layout, prepare_launch
from tile_cuda.runtime import CudaFunction
from tile_ir.diag import TileError

HOST = """\
def bind(rt):
    launch_0 = rt.kernel('k', 'Pif', 128, {shared})
    def call(A, n, x):
        if n > 0:
            launch_0(n, A, n, x)
    return call
"""


class Refused(Exception):
    """What CuPy raises."""


class Driver:
    """The functions of CuPy's driver and runtime modules that the runtime uses."""

    CUDADriverError = Refused

    def __init__(self):
        self.launches, self.attributes, self.unloaded, self.refuse = [], [], [], ""
        self.device = 0

    def moduleLoadData(self, cubin):
        if self.refuse == "load":
            raise Refused("no kernel image is available")
        return 11

    def moduleGetFunction(self, module, name):
        return 22

    def moduleUnload(self, module):
        self.unloaded.append(module)

    def funcSetAttribute(self, function, attribute, value):
        if self.refuse == "shared":
            raise Refused("invalid argument")
        self.attributes.append((function, attribute, value))

    def launchKernel(self, f, gx, gy, gz, bx, by, bz, shared, stream, pointers, extra):
        if self.refuse == "launch":
            raise Refused("out of resources")
        places = (ctypes.c_void_p * 3).from_address(pointers)
        values = (
            ctypes.c_uint64.from_address(places[0]).value,
            ctypes.c_int32.from_address(places[1]).value,
            ctypes.c_float.from_address(places[2]).value,
        )
        self.launches.append(((gx, gy, gz), (bx, by, bz), shared, stream, values))

    def getDevice(self):
        return self.device

    def deviceGetAttribute(self, which, device):
        return {75: 9, 76: 0, 16: 132}[which]

    def free(self, address):
        assert address == 0


@pytest.fixture
def driver(monkeypatch):
    fake = Driver()
    monkeypatch.setattr(device, "_modules", lambda: (fake, fake))
    monkeypatch.setattr(device, "current_stream", lambda ordinal: 70 + ordinal)
    device._device_getter.cache_clear()
    yield fake
    device._device_getter.cache_clear()


@pytest.fixture
def function(driver, tmp_path):
    def make(shared=0):
        path = tmp_path / "k.zip"
        path.write_bytes(
            pack(Contents(cubin=b"\x7fELF", host=HOST.format(shared=shared), usage={}))
        )
        return CudaFunction(path, ("ptr", "i32", "f32"))

    return make


def test_a_launch_passes_grid_block_stream_and_values(driver, function):
    function()(0x7F0000001000, 70000, 1.5)
    assert driver.launches == [((70000, 1, 1), (128, 1, 1), 0, 70, (0x7F0000001000, 70000, 1.5))]


def test_an_empty_grid_is_not_launched(driver, function):
    function()(0, 0, 0.0)
    assert driver.launches == []


def test_each_device_is_bound_once(driver, function):
    made = function()
    for ordinal in (0, 1, 1, 0):
        driver.device = ordinal
        made(1, 1, 1.0)
    assert [stream for *_, stream, _ in driver.launches] == [70, 71, 71, 70]
    made.unload()
    assert driver.unloaded == [11, 11]


def test_much_shared_memory_is_asked_for(driver, function):
    function(48 << 10)(1, 1, 1.0)
    assert driver.attributes == []
    function(100 << 10)(1, 1, 1.0)
    assert driver.attributes == [(22, runtime.MAX_SHARED_ATTRIBUTE, 100 << 10)]
    assert driver.launches[-1][2] == 100 << 10


@pytest.mark.parametrize(
    ("refuse", "shared", "code"),
    [("load", 0, "E3007"), ("shared", 300 << 10, "E3010"), ("launch", 0, "E3009")],
)
def test_what_the_driver_refuses(driver, function, refuse, shared, code):
    driver.refuse = refuse
    with pytest.raises(TileError) as caught:
        function(shared)(1, 1, 1.0)
    assert caught.value.code == code


def test_too_many_blocks(driver):
    with pytest.raises(TileError) as caught:
        prepare_launch(22, Layout("P"), 128, 0, 0)(1 << 31, 0)
    assert caught.value.code == "E3011"
    assert launch.MAX_BLOCKS == 2147483647


def test_arguments_lie_as_in_c():
    layout = Layout("?iPbhdf")
    assert layout.offsets == (0, 4, 8, 16, 18, 24, 32)
    assert layout.size == struct.calcsize("@?iPbhdf") == 36


def test_without_cupy(monkeypatch):
    device._modules.cache_clear()
    monkeypatch.setitem(__import__("sys").modules, "cupy_backends.cuda.api", None)
    with pytest.raises(TileError) as caught:
        device.driver()
    assert caught.value.code == "E3012"
    assert "tile-cuda[cuda13]" in caught.value.help
    device._modules.cache_clear()


def test_the_device_at_hand(driver):
    assert device.capability(0) == (9, 0)
    assert device.multiprocessors(0) == 132
