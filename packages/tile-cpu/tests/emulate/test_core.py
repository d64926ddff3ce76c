"""The emulator itself: kernels written by hand in C against its interface, without any target."""

import ctypes
import dataclasses

import numpy as np
import pytest

from tile_cpu.emulator.device import KERNEL_FLAGS, EmulatedFunction, Emulator, kernel_text, options
from tile_cpu.emulator.launch import pack_parameters
from tile_cpu.emulator.library import library, library_source
from tile_cpu.emulator.maps import BoxMaps
from tile_cpu.emulator.reports import error_of, parse_report
from tile_cpu.manifest import EMULATOR, MANIFEST
from tile_cpu.toolchain import compile as build
from tile_cpu.toolchain import cross_compile
from tile_ir.diag import TileError
from tile_ir.emulation import EmulatedKernel, Emulation, EmulationSource
from tile_ir.plugin import resolve

NOTHING = Emulation(
    name="test", interface="", layer="", translate=lambda artifact, flags: artifact,
    fingerprint=lambda: "",
)  # fmt: skip
HOST = """def bind(rt):
    launch = rt.kernel("k", "PP", {threads}, {shared})
    def call(out, source, out_bytes, source_bytes):
        launch({blocks}, out, source)
    return call
"""
REGIONS = """def regions(out, source, out_bytes, source_bytes):
    return [("out", out, out_bytes, True), ("source", source, source_bytes, False)]
"""
LOAD = "u32 x, m; emu_load(t, 1, EMU_GLOBAL, in + 4 * t->index, 4, &x, &m);"
STORE = "emu_store(t, 9, EMU_GLOBAL, out + 4 * (t->ctaid[0] * t->ntid[0] + t->index), 4, &x, &m);"


@pytest.fixture
def run(tmp_path):
    """Run C text of a kernel on int32 arrays; returns the output and the counters."""

    def make(body, threads=64, shared=1024, blocks=1, source=None, count=None):
        text = (
            "void kernel(struct emu_thread *t, char *p) {\n"
            "u64 out, in; __builtin_memcpy(&out, p, 8); __builtin_memcpy(&in, p + 8, 8);\n"
            f"{body}\n}}\n"
        )
        text = f'__attribute__((visibility("default")))\n{text}'
        kernel = EmulatedKernel(name="k", entry="kernel", parameters=((0, 8), (8, 8)))
        made = EmulationSource(
            code=text,
            kernels=(kernel,),
            host=HOST.format(threads=threads, shared=shared, blocks=blocks),
            regions=REGIONS,
            places={n: (f"op{n}", n, f"text {n}", f"user.py:{n}") for n in range(1, 10)},
        )
        path = tmp_path / "kernel.so"
        build(kernel_text(NOTHING, made), path, KERNEL_FLAGS)
        function = EmulatedFunction(NOTHING, path)
        given = np.arange(threads, dtype=np.int32) if source is None else source
        result = np.zeros(count or threads * blocks, np.int32)
        function(result.ctypes.data, given.ctypes.data, result.nbytes, given.nbytes)
        return result, function.counters["k"]

    return make


def test_threads_blocks_and_memory(run):
    out, counted = run(f"{LOAD} x += t->ctaid[0] * 1000; {STORE}", blocks=7)
    assert out.reshape(7, 64).tolist() == [[1000 * b + i for i in range(64)] for b in range(7)]
    assert counted["global_load_bytes"] == counted["global_store_bytes"] == 7 * 64 * 4


@pytest.mark.parametrize("schedule", ["round-robin", "reverse", "random"])
def test_a_barrier_orders_shared_memory(run, schedule):
    body = f"""{LOAD}
    emu_store(t, 2, EMU_SHARED, 4 * t->index, 4, &x, &m);
    emu_barrier(t, 3, 0, 0, 0);
    emu_load(t, 4, EMU_SHARED, 4 * (63 - t->index), 4, &x, &m);
    {STORE}"""
    with options(schedule=schedule):
        out, counted = run(body)
    assert out.tolist() == list(range(63, -1, -1))
    assert counted["barrier_arrivals"] == 64
    assert counted["switches"] >= 64


def test_reductions_at_a_barrier(run):
    body = f"""{LOAD}
    x = emu_barrier_reduce(t, 2, 0, 0, 2, x % 3 == 0)
        + 100 * emu_barrier_reduce(t, 3, 0, 0, 0, x < 64)
        + 1000 * emu_barrier_reduce(t, 4, 0, 0, 1, x == 5); {STORE}"""
    out, _ = run(body)
    assert out.tolist() == [22 + 100 + 1000] * 64


def test_atomics_of_many_blocks(run):
    body = "emu_atomic(t, 1, EMU_GLOBAL, EMU_ADD, EMU_U32, out, t->index, 0);"
    out, counted = run(body, blocks=50, count=1)
    assert out[0] == 50 * sum(range(64))
    assert counted["atomics"] == 50 * 64


def test_bulk_copies_arrive_at_their_barrier(run):
    body = f"""if (!t->index) emu_phase_init(t, 1, 512, 1);
    emu_barrier(t, 2, 0, 0, 0);
    if (!t->index) {{
      emu_phase_arrive(t, 3, 512, 1, 256);
      emu_bulk_load(t, 4, 0, in, 256, 512);
    }}
    emu_phase_wait(t, 5, 512, 0, 1);
    u32 x, m; emu_load(t, 6, EMU_SHARED, 4 * t->index, 4, &x, &m);
    {STORE}"""
    out, counted = run(body)
    assert out.tolist() == list(range(64))
    assert counted["asynchronous_bytes"] == 256


FAULTS = {
    "bounds": (f"{LOAD} emu_store(t, 2, EMU_GLOBAL, out + 256, 4, &x, &m);", "E2303", 2),
    "read only": (f"{LOAD} emu_store(t, 2, EMU_GLOBAL, in, 4, &x, &m);", "E2303", 2),
    "alignment": ("u32 x, m; emu_load(t, 3, EMU_SHARED, 2, 4, &x, &m);", "E2304", 3),
    "uninitialized": (f"u32 x, m; emu_load(t, 3, EMU_SHARED, 0, 4, &x, &m); {STORE}", "E2305", 9),
    "race": (f"{LOAD} emu_store(t, 4, EMU_SHARED, 0, 4, &x, &m);", "E2306", 4),
    "deadlock": ("if (t->index) emu_barrier(t, 5, 1, 64, 0);", "E2307", 5),
    "divergence": ("if (t->index & 1) emu_warp_sync(t, 6, ~0u); else"
                   " emu_vote(t, 7, EMU_ANY, 1, ~0u);", "E2308", None),
    "named lanes": ("emu_warp_sync(t, 6, 1u);", "E2308", 6),
    "half a warp": ("if (t->index & 1) emu_barrier(t, 6, 0, 0, 0);", "E2308", 6),
    "no barrier": ("emu_phase_arrive(t, 7, 0, 1, 0);", "E2309", 7),
    "counts": ("emu_barrier(t, 8, 1, t->index < 32 ? 64 : 32, 0);", "E2309", 8),
    "arrivals": ("if (!t->index) emu_phase_init(t, 1, 0, 8); emu_barrier(t, 2, 0, 0, 0);"
                 "emu_phase_arrive(t, 8, 0, 3, 0);", "E2309", 8),
    "trap": ("if (t->index == 9) emu_trap(t, 8);", "E2310", 8),
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(FAULTS))
def test_a_fault_is_reported_where_it_happens(run, name):
    body, code, line = FAULTS[name]
    with pytest.raises(TileError) as caught:
        run(body)
    assert caught.value.code == code
    assert line is None or (caught.value.span.file, caught.value.span.line) == ("user.py", line)


def test_two_readers_are_no_race(run):
    body = f"""{LOAD}
    if (t->index == 0) emu_store(t, 2, EMU_SHARED, 0, 4, &x, &m);
    emu_barrier(t, 3, 0, 0, 0);
    emu_load(t, 4, EMU_SHARED, 0, 4, &x, &m);
    emu_barrier(t, 5, 0, 0, 0);
    if (t->index == 1) emu_store(t, 6, EMU_SHARED, 0, 4, &x, &m);
    {STORE}"""
    assert run(body)[0].tolist() == [0] * 64


def test_a_group_of_threads_has_its_own_barrier(run):
    """What other threads did meanwhile is not ordered by it."""
    body = f"""{LOAD}
    if (t->index < 32) emu_store(t, 2, EMU_SHARED, 4 * t->index, 4, &x, &m);
    emu_barrier(t, 3, t->index < 32 ? 1 : 2, 32, 0);
    emu_load(t, 4, EMU_SHARED, 4 * (t->index % 32), 4, &x, &m);"""
    with pytest.raises(TileError) as caught:
        run(body)
    assert caught.value.code == "E2306"


def test_waiting_for_memory_that_nobody_changes(run):
    body = """u32 x = 0, m;
    while (!x) {
      emu_load(t, 1, EMU_SHARED, 0, 4, &x, &m);
      if (m) x = 0;
      emu_yield(t, 2);
    }"""
    with options(patience=0.05), pytest.raises(TileError) as caught:
        run(body)
    assert caught.value.code == "E2307"
    assert "looks at memory" in "\n".join(caught.value.diagnostics[0].notes)


def test_stacks_by_the_c_library(run, monkeypatch):
    """What other processors than x86-64 and AArch64 use."""
    portable = dataclasses.replace(NOTHING, name="portable", interface="#define EMU_PORTABLE 1\n")
    monkeypatch.setitem(globals(), "NOTHING", portable)
    out, _ = run(f"{LOAD} emu_barrier(t, 3, 0, 0, 0); x += 1; {STORE}", blocks=2)
    assert out.tolist() == [*range(1, 65), *range(1, 65)]


@pytest.mark.slow
def test_it_builds_for_another_processor(tmp_path):
    pytest.importorskip("ziglang")
    made = cross_compile(
        library_source(NOTHING), tmp_path / "core.so", "aarch64-linux-gnu", "neoverse_v1"
    )
    assert made.path.read_bytes()[:4] == b"\x7fELF"


def test_the_order_may_be_set_from_outside(run, monkeypatch):
    monkeypatch.setenv("TILE_EMULATOR_SCHEDULE", "random:7")
    assert run(f"{LOAD} {STORE}")[0].tolist() == list(range(64))
    monkeypatch.setenv("TILE_EMULATOR_SCHEDULE", "sorted")
    with pytest.raises(TileError) as caught:
        run(f"{LOAD} {STORE}")
    assert caught.value.code == "E0807"


def numbers(name, result, *arguments):
    function = getattr(library(NOTHING), name)
    function.restype, function.argtypes = result, arguments
    return function


def test_halves_are_those_of_numpy():
    to_half = numbers("emu_f32_to_f16", ctypes.c_uint16, ctypes.c_double, ctypes.c_uint32)
    to_float = numbers("emu_f16_to_f32", ctypes.c_float, ctypes.c_uint16)
    bits = np.random.default_rng(0).integers(0, 1 << 32, 3000, dtype=np.uint64).astype(np.uint32)
    x = np.concatenate([bits.view(np.float32), np.arange(2050, dtype=np.float32) * 2.0**-25])
    x = x[~np.isnan(x)]
    with np.errstate(over="ignore"):
        want = x.astype(np.float16)
    assert [to_half(float(v), 0) for v in x] == want.view(np.uint16).tolist()
    finite = np.arange(0x7C01, dtype=np.uint16)
    assert [to_float(int(v)) for v in finite] == finite.view(np.float16).astype(float).tolist()


def test_directed_rounding_and_saturation():
    to_half = numbers("emu_f32_to_f16", ctypes.c_uint16, ctypes.c_double, ctypes.c_uint32)
    assert [to_half(1.0 + 2**-12, mode) for mode in range(4)] == [0x3C00, 0x3C00, 0x3C00, 0x3C01]
    assert [to_half(-1e9, mode) for mode in range(4)] == [0xFC00, 0xFBFF, 0xFC00, 0xFBFF]
    to_f8 = numbers("emu_f32_to_f8", ctypes.c_uint32, ctypes.c_double, ctypes.c_uint32)
    assert [to_f8(x, 0) for x in (448.0, 1e9, -0.0, 2.0**-9, 1.0)] == [0x7E, 0x7E, 0x80, 0x01, 0x38]
    whole = numbers("emu_to_integer", ctypes.c_uint64, ctypes.c_double, *[ctypes.c_uint32] * 3)
    assert whole(3e9, 1, 32, 1) == 0x7FFFFFFF
    assert whole(-7.9, 1, 32, 1) == (1 << 32) - 7
    assert whole(float("nan"), 1, 32, 0) == 0


def test_parameters_lie_where_the_kernel_looks():
    kernel = EmulatedKernel(name="k", entry="k", parameters=((0, 8), (8, 4), (64, 16)))
    packed = pack_parameters(kernel, "PiM", [1, -2, b"x" * 16])
    assert packed == b"\1" + b"\0" * 7 + b"\xfe\xff\xff\xff" + b"\0" * 52 + b"x" * 16


def test_tensors_that_no_engine_takes():
    maps = BoxMaps(name="A", bits=16, box=(64, 8), row_bytes=128)
    assert len(maps(256, (64, 8), (128,))) == 128
    with pytest.raises(TileError, match="a stride of 130 bytes"):
        maps(256, (64, 8), (130,))
    with pytest.raises(TileError, match="its address"):
        maps(258, (64, 8), (128,))


def test_a_report_becomes_an_error():
    report = parse_report("race\n3 2 0 0 17\nreads &1\n#4:0 the other access")
    error = error_of(report, "k", ["A", "B"], {3: ("ld", 8, "x = y;", "a.py:12")})
    assert (error.code, error.message, error.span.line) == ("E2306", "reads B", 12)
    assert error.diagnostics[0].notes == (
        "in k, block 2, thread 17",
        "at line 8 of the source: x = y; [ld] from a.py:12",
        "the other access: position 4",
    )


def test_the_device_is_offered():
    assert resolve(EMULATOR.factory) is Emulator
    with pytest.raises(TileError) as caught:
        Emulator(MANIFEST, None)
    assert caught.value.code == "E2300"
