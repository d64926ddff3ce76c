"""Kernels in C++, compiled for this processor: lines of instructions, and what is refused."""

import ctypes
import platform

import pytest

from tile_cpu.compilers import zig_path
from tile_cpu.emulator import native
from tile_cpu.emulator.lines import line_table
from tile_cpu.emulator.native import build_native, source_line
from tile_ir.diag import TileError

SOURCE = """#define VISIBLE extern "C" __attribute__((visibility("default")))
#define HOOK VISIBLE __attribute__((disable_sanitizer_instrumentation, nodebug, noinline))
HOOK void *__msan_get_context_state() { static char room[8192]; return room; }
HOOK long note() { return (long)__builtin_return_address(0); }
#line 1 "kernel"
static inline __attribute__((always_inline)) long inner() {
  return note();
}
VISIBLE long first() {
  return note() + 0;
}
VISIBLE long second() {
  long x = 0;
  x += inner();
  return x;
}
"""


@pytest.fixture
def zig():
    if zig_path() is None or (platform.machine(), platform.system()) != ("x86_64", "Linux"):
        pytest.skip("kernels are not compiled for this processor")


def test_a_position_is_a_line_and_that_of_the_call_where_it_was_inlined(zig, tmp_path):
    built = build_native(SOURCE, tmp_path / "k.so")
    library = ctypes.CDLL(str(built.path))
    base = _base(library)
    for name, line in (("first", 5), ("second", 9)):
        function = getattr(library, name)
        function.restype = ctypes.c_long
        assert source_line(str(built.path), function() - base) == line
    assert source_line(str(built.path), 0) == 0


def _base(library):
    """Where the library lies: what the loader says of a symbol of it."""

    class Information(ctypes.Structure):
        _fields_ = (
            ("name", ctypes.c_char_p),
            ("base", ctypes.c_void_p),
            ("symbol", ctypes.c_char_p),
            ("address", ctypes.c_void_p),
        )

    found = Information()
    address = ctypes.cast(library.first, ctypes.c_void_p)
    assert ctypes.CDLL(None).dladdr(address, ctypes.byref(found))
    return found.base


def test_a_library_without_lines(zig, tmp_path):
    built = build_native(SOURCE, tmp_path / "k.so").path.read_bytes()
    assert len(line_table(built, "kernel")) > 5
    assert {line for _, line in line_table(built, "elsewhere")} == {0}
    assert line_table(built.replace(b".debug_line", b".debug_none"), "kernel") == ()


def test_a_mistake_in_the_source(zig, tmp_path):
    with pytest.raises(TileError) as caught:
        build_native("int x = nothing;", tmp_path / "k.so")
    assert caught.value.code == "E0802"
    assert "nothing" in caught.value.message
    assert not (tmp_path / "k.so").exists()


def test_another_processor(monkeypatch, tmp_path):
    monkeypatch.setattr(native.platform, "machine", lambda: "arm64")
    with pytest.raises(TileError) as caught:
        build_native("", tmp_path / "k.so")
    assert caught.value.code == "E2300"
    assert caught.value.help
