"""Loading and launching against a driver that only writes down what it is asked."""

import ctypes

import pytest

from tile_cuda import dependent_launch, device, launch, runtime
from tile_cuda.container import ARCHIVE, Contents
from tile_cuda.launch import Entry, prepare_launch
from tile_cuda.runtime import CudaFunction
from tile_cuda.tensor_maps import REMEMBERED, TensorMaps
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
        self.device, self.devices = 0, 2

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

    def setDevice(self, ordinal):
        if ordinal > 1:
            raise Refused("invalid device ordinal")
        self.device = ordinal

    def deviceGetAttribute(self, which, device):
        return {75: 9, 76: 0, 16: 132}[which]

    def getDeviceCount(self):
        return self.devices

    def free(self, address):
        assert address == 0


@pytest.fixture
def driver(monkeypatch):
    fake = Driver()
    monkeypatch.setattr(device, "_modules", lambda: (fake, fake))
    monkeypatch.setattr(device, "current_stream", lambda ordinal: 70 + ordinal)
    for known in (device._device_getter, device.count):
        known.cache_clear()
    yield fake
    for known in (device._device_getter, device.count):
        known.cache_clear()


@pytest.fixture
def function(driver, tmp_path):
    def make(shared=0):
        path = tmp_path / "k.zip"
        path.write_bytes(
            ARCHIVE.pack(Contents(code=b"\x7fELF", host=HOST.format(shared=shared), usage={}))
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


def test_a_prepared_launch_goes_where_the_arguments_are(driver, function):
    made = function()
    for ordinal in (1, 0, 1):
        made.prepare(ordinal, ())(1, 1, 1.0)
        assert driver.device == 0
    assert [stream for *_, stream, _ in driver.launches] == [71, 70, 71]
    with pytest.raises(TileError) as caught:
        made.prepare(2, ())
    assert caught.value.code == "E3008"


PREPARED = """\
def bind(rt):
    launch_0 = rt.kernel('k', 'Pif', 128, 0)
    launch_1 = rt.kernel('k', 'Pif', 64, 0)
    def call(A, x, n):
        memory, W = rt.allocate(n * 4)
        if n > 5:
            launch_0(n // 2, A, n, x)
        launch_1(min(rt.workers(), n), W, 7, 0.5)
    return call
"""


@pytest.mark.parametrize("devices", [1, 2])
def test_dimensions_are_worked_out_beforehand(driver, tmp_path, monkeypatch, devices):
    driver.devices = devices
    sizes = []
    monkeypatch.setattr(device, "allocate", lambda size, ordinal: (None, sizes.append(size) or 99))
    path = tmp_path / "k.zip"
    path.write_bytes(ARCHIVE.pack(Contents(code=b"\x7fELF", host=PREPARED, usage={})))
    call = CudaFunction(path, ("ptr", "f32", "i32")).prepare(0, (1000,))
    assert driver.launches == sizes == []
    call(0x7F0000001000, 1.5)
    call(0x7F0000002000, 2.5)
    assert sizes == [4000, 4000]
    assert [(grid[0], values) for grid, *_, values in driver.launches] == [
        (500, (0x7F0000001000, 1000, 1.5)),
        (132, (99, 7, 0.5)),
        (500, (0x7F0000002000, 1000, 2.5)),
        (132, (99, 7, 0.5)),
    ]


def test_fixed_arguments_are_packed_once(driver, tmp_path, monkeypatch):
    sizes = []
    monkeypatch.setattr(device, "allocate", lambda size, ordinal: (None, sizes.append(size) or 99))
    path = tmp_path / "k.zip"
    path.write_bytes(ARCHIVE.pack(Contents(code=b"\x7fELF", host=PREPARED, usage={})))
    call = CudaFunction(path, ("ptr", "f32", "i32")).prepare(0, (10,))
    fixed = call.fixed((0x7F0000001000, 1.5))
    packs = [line for line in fixed.lines if "pack" in line]
    assert len(packs) == 1  # the workspace is another one each time
    for run in (fixed, lambda: call(0x7F0000002000, 2.5), fixed):
        run()
    assert sizes == [40] * 3
    first = [values for grid, *_, values in driver.launches if grid[0] == 5]
    assert first == [(0x7F0000001000, 10, 1.5), (0x7F0000002000, 10, 2.5), first[0]]
    assert [values for grid, *_, values in driver.launches if grid[0] == 10] == [(99, 7, 0.5)] * 3


def test_a_prepared_launch_that_the_driver_refuses(driver, function):
    call = function().prepare(0, ())
    driver.refuse = "launch"
    with pytest.raises(TileError) as caught:
        call(1, 1, 1.0)
    assert caught.value.code == "E3009"


def test_a_host_part_that_computes_with_scalars_runs_as_it_is(driver, function):
    call = function().prepare(0, (70000, 1.5))  # the grid is the second parameter
    call(0x7F0000001000)
    assert driver.launches[0][0] == (70000, 1, 1)
    of_scalar = function().prepare(0, (1.5,))
    assert len(driver.launches) == 1
    of_scalar(0x7F0000001000, 3)
    assert driver.launches[1][0] == (3, 1, 1)


def test_maps_of_one_shape_are_made_once_for_each_address():
    asked = []
    maps = TensorMaps(name="A", bits=16, box=(64, 8), row_bytes=128)
    maps._make = lambda *key: asked.append(key) or b"map"
    known = maps.of_shape((64, 8), (128,))
    assert [known[a] for a in (16, 32, 16)] == [b"map"] * 3
    assert asked == [(16, (64, 8), (128,)), (32, (64, 8), (128,))]
    for address in range(0, 16 * REMEMBERED, 16):
        known[address]
    assert len(known) <= REMEMBERED


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
        prepare_launch(Entry(function=22, name="k", formats="P", threads=128, shared=0), 0)(
            1 << 31, 0
        )
    assert caught.value.code == "E3011"
    assert launch.MAX_BLOCKS == 2147483647


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


DEPENDENT = """\
def bind(rt):
    launch_0 = rt.kernel('k', 'Pif', 128, 0)
    launch_1 = rt.kernel('k_2', 'Pif', 64, 0, True)
    def call(A, n, x):
        launch_0(3, A, n, x)
        launch_1(5, A, n, x)
    return call
"""


@pytest.fixture
def launch_ex(driver, monkeypatch):
    """The driver's function, which writes down its configuration; it fails where `refuse` says."""

    def call(config, function, pointers, extra):
        if driver.refuse == "launch":
            return 701
        given = ctypes.cast(config, ctypes.POINTER(dependent_launch._Config)).contents
        (attribute,) = given.attributes[: given.count]
        assert (attribute.number, attribute.value) == (6, 1)
        places = (ctypes.c_void_p * 3).from_address(pointers)
        value = ctypes.c_int32.from_address(places[1]).value
        driver.launches.append((given.grid[:], given.block[:], given.stream, value))
        return 0

    monkeypatch.setattr(dependent_launch, "_launch_ex", lambda: call)


def test_the_launch_of_a_kernel_that_may_begin_early(driver, launch_ex, tmp_path):
    path = tmp_path / "k.zip"
    path.write_bytes(ARCHIVE.pack(Contents(code=b"\x7fELF", host=DEPENDENT, usage={})))
    made = CudaFunction(path, ("ptr", "i32", "f32"))
    for call in (made, made.prepare(0, ())):
        driver.launches.clear()
        call(0x7F0000001000, 7, 1.5)
        assert driver.launches[0][:2] == ((3, 1, 1), (128, 1, 1))
        assert driver.launches[1] == ([5, 1, 1], [64, 1, 1], 70, 7)


def test_an_early_launch_that_the_driver_refuses(driver, launch_ex):
    entry = Entry(function=22, name="k", formats="Pif", threads=128, shared=0, dependent=True)
    driver.refuse = "launch"
    with pytest.raises(TileError) as caught:
        prepare_launch(entry, 0)(1, 1, 1, 1.0)
    assert caught.value.code == "E3009"
    assert "701" in str(caught.value.__cause__)


def test_the_configuration_of_a_launch_lies_as_the_driver_declares_it():
    """CUlaunchConfig and CUlaunchAttribute of cuda.h, on 64-bit systems."""
    config, attribute = dependent_launch._Config, dependent_launch._Attribute
    assert ctypes.sizeof(attribute) == 72
    assert attribute.value.offset == 8
    assert ctypes.sizeof(config) == 56
    offsets = [getattr(config, n).offset for n in ("shared", "stream", "attributes", "count")]
    assert offsets == [24, 32, 40, 48]
