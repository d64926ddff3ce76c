"""Loading and launching through PyTorch, with a stand-in for its GPU."""

import sys
from types import SimpleNamespace

import pytest

from tile_ir.diag import TileError
from tile_ir.text import parse_function
from tile_metal import device, spec
from tile_metal.container import ARCHIVE, Contents, KernelUsage
from tile_metal.driver import MetalRuntime, MetalToolchain, emit
from tile_metal.host_arch import host_arch
from tile_metal.runtime import MetalFunction

HOST = """
def bind(rt):
    launch_0 = rt.kernel('k', 'PifQ', 128, 0)
    def call(X, n, a, big, N):
        if not (N < 100000):
            rt.failed('N is too large')
        space_memory, space = rt.allocate(16)
        tile = min(rt.workers(), N)
        if tile > 0:
            launch_0(tile, X, n, a, big)
    return call
"""


class Shaders:
    """What torch.mps.compile_shader returns."""

    def __init__(self, source, calls):
        self.source, self.calls = source, calls

    def k(self, *args, threads, group_size):
        self.calls.append((args, threads, group_size))


@pytest.fixture
def torch(monkeypatch):
    calls, sources = [], []

    def compile_shader(source):
        sources.append(source)
        if "broken" in source:
            raise SyntaxError("program_source:1:1: error: unknown type name 'broken'")
        return Shaders(source, calls)

    fake = SimpleNamespace(
        calls=calls,
        sources=sources,
        uint8="uint8",
        __version__="2.9.0",
        empty=lambda size, dtype, device: (size, dtype, device),
        mps=SimpleNamespace(compile_shader=compile_shader),
        backends=SimpleNamespace(
            mps=SimpleNamespace(
                is_available=lambda: True,
                get_name=lambda: "Apple M3 Pro",
                get_core_count=lambda: 14,
            )
        ),
    )
    monkeypatch.setitem(sys.modules, "torch", fake)
    device._torch.cache_clear()
    yield fake
    device._torch.cache_clear()


def written(tmp_path, code="kernel void k() {}"):
    path = tmp_path / "k.zip"
    usage = {"k": KernelUsage(threads=128, shared=0)}
    path.write_bytes(ARCHIVE.pack(Contents(code=code.encode(), host=HOST, usage=usage)))
    return path


@pytest.fixture
def function(torch, tmp_path):
    return MetalFunction(written(tmp_path), ("ptr", "i32", "f32", "u64", "i32"))


def test_a_launch_passes_tensors_scalars_and_sizes(torch, function):
    tensor = object()
    function(tensor, 7, 2, 1, 3)
    assert torch.calls == [((tensor, 7, 2.0, 1), (3 * 128,), (128,))]
    assert type(torch.calls[0][0][2]) is float


def test_a_large_unsigned_number_travels_as_its_bytes(torch, function):
    function(object(), 7, 2, (1 << 64) - 2, 3)
    assert torch.calls[0][0][3] == -2


def test_workers_are_cores_and_nothing_is_launched_for_nothing(torch, function):
    function(object(), 7, 2, 1, 100)
    assert torch.calls[0][1] == (14 * 128,)
    function(object(), 7, 2, 1, 0)
    assert len(torch.calls) == 1


def test_the_source_is_loaded_once(torch, function):
    for _ in range(3):
        function(object(), 7, 2, 1, 3)
    assert torch.sources == ["kernel void k() {}"]


def test_prepared_dimensions_are_added(torch, function):
    function.prepare(0, (3,))(object(), 7, 2, 1)
    assert torch.calls[0][1] == (384,)


def test_what_a_kernel_takes_is_in_the_archive(function):
    assert function.usage == {"k": KernelUsage(threads=128, shared=0)}
    assert function.arguments == "arrays"


def test_an_assertion_about_the_arguments(function):
    with pytest.raises(TileError, match="N is too large") as caught:
        function(object(), 7, 2, 1, 100001)
    assert caught.value.code == "E3013"


def test_source_that_the_system_refuses(torch, tmp_path):
    with pytest.raises(TileError) as caught:
        MetalFunction(written(tmp_path, "broken"))(object(), 7, 2, 1, 3)
    assert caught.value.code == "E3007"
    assert "unknown type name" in caught.value.notes[0]


def test_too_many_blocks(torch, tmp_path):
    torch.backends.mps.get_core_count = lambda: 1 << 30
    path = tmp_path / "k.zip"
    host = HOST.replace("N < 100000", "True")
    path.write_bytes(ARCHIVE.pack(Contents(code=b"", host=host, usage={})))
    function = MetalFunction(path)
    with pytest.raises(TileError, match="a launch of 134217728 blocks") as caught:
        function(object(), 7, 2, 1, 1 << 27)
    assert caught.value.code == "E3011"


def test_no_device_is_a_coded_error(torch, function):
    torch.backends.mps.is_available = lambda: False
    device._torch.cache_clear()
    with pytest.raises(TileError, match="there is no Apple GPU") as caught:
        function(object(), 7, 2, 1, 3)
    assert caught.value.code == "E3008"
    assert "-arch=apple9" in caught.value.help


def test_no_pytorch_is_a_coded_error(torch, function, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    device._torch.cache_clear()
    with pytest.raises(TileError, match="is not installed") as caught:
        function(object(), 7, 2, 1, 3)
    assert caught.value.code == "E3012"


def test_an_old_pytorch_is_a_coded_error(torch, function):
    del torch.mps.compile_shader
    device._torch.cache_clear()
    with pytest.raises(TileError, match=r"PyTorch 2\.9\.0 cannot load kernels") as caught:
        function(object(), 7, 2, 1, 3)
    assert caught.value.code == "E3012"


def test_elsewhere_no_library_is_asked(monkeypatch):
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(device, "chip", lambda: pytest.fail("asked"))
    with pytest.raises(TileError, match="there is no Apple GPU") as caught:
        host_arch()
    assert caught.value.code == "E3008"
    assert caught.value.notes == ("the system is linux",)


def test_the_device_names_its_family(torch, monkeypatch):
    monkeypatch.setattr(sys, "platform", "darwin")
    assert host_arch() == "apple9"
    torch.backends.mps.get_name = lambda: "Intel HD"
    with pytest.raises(TileError) as caught:
        host_arch()
    assert caught.value.code == "E3014"


COPY = """
func @copy(X: global f32[128], Y: global f32[128]) results (Y) {
  kernel @copy threads = (128) {
    tiles (bx) in (1) {
      let t: i32 = thread_index()
      store Y[t] = X[t]
    }
  }
}
"""


def test_from_a_program_to_a_launch(torch, tmp_path, checker, monkeypatch):
    monkeypatch.setenv("TILE_KEEP_SOURCE", "1")
    apple9, path = spec.load("apple9"), tmp_path / "copy.zip"
    made = emit(parse_function(COPY), apple9)
    MetalToolchain(apple9).compile(made, path)
    assert path.with_suffix(".metal").read_text() == made.source
    loaded = MetalRuntime(apple9).load(made, path)
    monkeypatch.setattr(Shaders, "copy", Shaders.k, raising=False)
    loaded("x", "y")
    assert made.source.index("float *Y [[buffer(0)]]") < made.source.index("float *X [[buffer(1)]]")
    assert torch.calls == [(("y", "x"), (128,), (128,))]
    assert torch.sources == [made.source]


def test_flags_are_refused(tmp_path):
    apple9 = spec.load("apple9")
    made = emit(parse_function(COPY), apple9)
    with pytest.raises(TileError, match="have no compiler to go to") as caught:
        MetalToolchain(apple9).compile(made, tmp_path / "x.zip", flags=("-O3",))
    assert caught.value.code == "E3002"


def test_the_fingerprint_names_the_compiler(checker, monkeypatch):
    assert MetalToolchain(spec.load("apple9")).fingerprint() == checker.release
    monkeypatch.setenv("TILE_METAL_CHECK", "none")
    assert MetalToolchain(spec.load("apple9")).fingerprint() == "unchecked"
