"""Memory that launches of one stream leave to each other: who shares a piece and who does not."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from tile_cuda import device, kept
from tile_cuda.container import ARCHIVE
from tile_cuda.kept import PER_THREAD, SECTOR, SLAB_BYTES, Kept
from tile_cuda.runtime import CudaFunction
from tile_ir.diag import TileError
from tile_passes.launch.container import Contents

BASE = 0x7F0000000000


class Memory:
    """CuPy's runtime module as far as it is asked for memory and captures."""

    def __init__(self):
        self.blocks, self.captured, self.cleared, self.waited = [], set(), [], 0

    def malloc(self, size):
        self.blocks.append(size)
        return BASE + sum(self.blocks[:-1])

    def memset(self, address, value, size):
        self.cleared.append((address, value, size))

    def deviceSynchronize(self):
        self.waited += 1

    def streamIsCapturing(self, stream):
        assert stream > 1, "the legacy stream is never captured, and asking breaks a capture"
        return stream in self.captured

    def getDevice(self):
        return 0


@pytest.fixture
def memory(monkeypatch):
    fake = Memory()
    monkeypatch.setattr(device, "_modules", lambda: (fake, fake))
    monkeypatch.setattr(kept, "_slabs", {})
    device._device_getter.cache_clear()
    yield fake
    device._device_getter.cache_clear()


def test_two_streams_never_share_a_piece(memory):
    one, other = Kept(4, 0), Kept(4, 0)
    found = [k.at(stream) for k in (one, other) for stream in (0, 70, 80)]
    assert found == [BASE + SECTOR * n for n in range(6)]
    assert [one.at(stream) for stream in (80, 0, 70, 1)] == [found[2], found[0], found[1], found[0]]
    assert memory.cleared == [(BASE, 0, SLAB_BYTES)]
    assert memory.waited == 1


def test_the_stream_of_each_thread_is_its_own(memory):
    made, here = Kept(4, 0), threading.Barrier(2)

    def ask(_):
        here.wait()
        return made.at(PER_THREAD), made.at(PER_THREAD)

    with ThreadPoolExecutor(2) as pool:
        first, second = pool.map(ask, range(2))
    assert first[0] == first[1] != second[0] == second[1]


def test_what_is_captured_has_a_piece_of_its_own(memory):
    made = Kept(4, 0)
    plain = made.at(70)
    memory.captured.add(70)
    graphs = [made.at(70) for _ in range(3)]
    assert len({plain, *graphs}) == 4
    memory.captured.clear()
    assert made.at(70) == plain
    assert memory.blocks == [SLAB_BYTES]


def test_a_capture_before_anything_else_says_what_to_do(memory):
    memory.captured.add(70)
    with pytest.raises(TileError, match="no memory is left") as caught:
        Kept(4, 0).at(70)
    assert caught.value.code == "E3018"
    assert "once outside of the capture" in caught.value.help
    assert memory.blocks == []


def test_half_of_the_memory_is_left_to_captures(memory):
    pieces = [Kept(4, 0).at(70) for _ in range(SLAB_BYTES // 2 // SECTOR + 2)]
    assert len(set(pieces)) == len(pieces)
    assert memory.blocks == [SLAB_BYTES] * 2


HOST = """\
def bind(rt):
    launch_0 = rt.kernel('k', 'P', 128, 0)
    kept_0 = rt.kept('drawn', 4)
    def call(n):
        drawn = kept_0()
        launch_0(n, drawn)
    return call
"""


def test_plain_and_prepared_calls_of_a_stream_share_a_counter(memory, tmp_path, monkeypatch):
    launches = []
    memory.CUDADriverError = RuntimeError
    memory.moduleLoadData = lambda cubin: 11
    memory.moduleGetFunction = lambda module, name: 22
    memory.getDeviceCount = lambda: 1
    memory.free = lambda address: None

    def launch(f, gx, gy, gz, bx, by, bz, shared, stream, pointers, extra):
        import ctypes

        place = ctypes.c_void_p.from_address(pointers).value
        launches.append((gx, stream, ctypes.c_uint64.from_address(place).value))

    memory.launchKernel = launch
    streams = iter([70, 70, 80, 80, 70, 70, 80, 80])
    monkeypatch.setattr(device, "current_stream", lambda ordinal: next(streams))
    device.count.cache_clear()
    path = tmp_path / "k.zip"
    path.write_bytes(ARCHIVE.pack(Contents(code=b"\x7fELF", host=HOST, usage={})))
    made = CudaFunction(path, ("i32",))
    made(5)
    made(5)
    prepared = made.prepare(0, (7,))
    prepared()
    prepared()
    assert launches == [
        (5, 70, BASE),
        (5, 80, BASE + SECTOR),
        (7, 70, BASE),
        (7, 80, BASE + SECTOR),
    ]
    device.count.cache_clear()
