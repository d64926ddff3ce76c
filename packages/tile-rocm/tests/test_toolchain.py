"""Compiling without a device: what comes out, what is refused, and how that is said."""

import sys

import pytest

from tile_ir.diag import InternalError, Span, TileError
from tile_passes.launch import programs
from tile_rocm import compilers, toolchain
from tile_rocm.code_object import metadata_of, unpacked
from tile_rocm.compiler_messages import compiler_failed, parse_messages
from tile_rocm.compilers import Compiler, find_compiler
from tile_rocm.container import ARCHIVE, Contents, KernelUsage
from tile_rocm.driver import RocmToolchain
from tile_rocm.prelude.index import pieces_for
from tile_rocm.spec import load
from tile_rocm.toolchain import compile_source, options_for, refuse_spills

PRELUDE = pieces_for(["TILE_KERNEL", "TILE_SHARED", "tile_thread", "tile_sync"])
PLAIN = PRELUDE + "TILE_KERNEL(64) void k(float *x) { x[tile_thread()] += 1.0f; }\n"
SHARED = (
    PRELUDE
    + """TILE_KERNEL(256) void k(float *x) {
  TILE_SHARED float s[256];
  s[tile_thread()] = x[tile_thread()];
  tile_sync();
  x[tile_thread()] = s[255 - tile_thread()];
}
"""
)
ROW = KernelUsage(
    vector_registers=512,
    accumulator_registers=256,
    scalar_registers=40,
    shared=0,
    stack=400,
    vector_spills=100,
    scalar_spills=0,
)


@pytest.mark.parametrize("arch", ["gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1200"])
def test_machine_code_without_a_device(compiler, arch):
    code, usage = compile_source(PLAIN, arch, compiler=compiler)
    found = metadata_of(code)
    assert found["amdhsa.target"] == f"amdgcn-amd-amdhsa--{arch}"
    assert found["amdhsa.version"] == [1, 2]  # of code objects: 5
    (kernel,) = found["amdhsa.kernels"]
    assert kernel[".max_flat_workgroup_size"] == 64
    assert kernel[".wavefront_size"] == load(arch).warp_width
    assert 1 <= usage["k"].vector_registers <= 16
    assert (usage["k"].stack, usage["k"].vector_spills) == (0, 0)


def test_shared_memory_is_counted(compiler):
    assert compile_source(SHARED, "gfx942", compiler=compiler)[1]["k"].shared == 1024


def test_spills_are_counted_and_refused_beside_products(compiler):
    lines = "".join(f"  volatile float *p{i} = x + {i}; float v{i} = *p{i};\n" for i in range(180))
    total = "".join(f"  *p{i} = v{i} * v{(i + 7) % 180};\n" for i in range(180))
    text = (
        f"{PRELUDE}TILE_KERNEL(1024) void k(float *x) {{\n  x += tile_thread();\n{lines}{total}}}\n"
    )
    usage = compile_source(text, "gfx942", compiler=compiler)[1]
    assert usage["k"].vector_spills > toolchain.SPILL_LIMIT
    assert usage["k"].stack > 0
    with pytest.raises(TileError, match="k spills") as caught:
        refuse_spills(usage)
    assert caught.value.code == "E3005"


def test_few_spills_are_left_alone():
    refuse_spills({"k": ROW.__class__(**{**_fields(ROW), "vector_spills": 3})})
    with pytest.raises(TileError):
        refuse_spills({"k": ROW})


def _fields(row):
    return {name: getattr(row, name) for name in row.__slots__}


def test_a_refused_kernel_is_placed_on_the_users_line(compiler):
    source = f"// kernel.py:7: C[i] = x\n{PLAIN}// kernel.py:9: y\nint broken = nothing;\n"
    with pytest.raises(TileError, match="undeclared identifier 'nothing'") as caught:
        compile_source(source, "gfx942", compiler=compiler)
    assert caught.value.code == "E3002"
    assert caught.value.span == Span("kernel.py", 9)
    assert "-target-cpu gfx942" in caught.value.notes[-1]


def test_an_instruction_that_the_architecture_lacks(compiler):
    text = PLAIN.replace("+= 1.0f", "= __builtin_amdgcn_cvt_f32_fp8(7, 0)")
    with pytest.raises(TileError, match="needs target feature") as caught:
        compile_source(text, "gfx90a", compiler=compiler)
    assert caught.value.code == "E3015"
    assert compile_source(text, "gfx942", compiler=compiler)[0][:4] == b"\x7fELF"


def test_an_unknown_architecture_is_the_compilers_to_refuse(compiler):
    with pytest.raises(TileError) as caught:
        compile_source(PLAIN, "gfx13", compiler=compiler)
    assert caught.value.code == "E3002"


def test_the_users_flags_come_last(compiler):
    text = PLAIN.replace("1.0f", "STEP")
    code, _ = compile_source(text, "gfx942", compiler=compiler, flags=["-DSTEP=2.0f"])
    assert code[:4] == b"\x7fELF"
    with pytest.raises(TileError, match="unknown argument") as caught:
        compile_source(PLAIN, "gfx942", compiler=compiler, flags=["--no-such-option"])
    assert caught.value.code == "E3002"


def test_a_symbol_without_definition_is_the_linkers_to_refuse(compiler):
    text = 'extern "C" __attribute__((device)) float tanhf(float);\n' + PLAIN.replace(
        "+= 1.0f", "= tanhf(x[0])"
    )
    with pytest.raises(TileError, match="undefined") as caught:
        compile_source(text, "gfx942", compiler=compiler)
    assert caught.value.code == "E3002"


def test_without_any_compiler(monkeypatch):
    monkeypatch.setattr(compilers, "_toolkit", lambda folder: None)
    monkeypatch.setattr(compilers, "_ziglang", lambda: None)
    with pytest.raises(TileError) as caught:
        find_compiler()
    assert caught.value.code == "E3001"
    assert "tile-rocm[toolchain]" in caught.value.help


def test_the_compiler_may_be_chosen(monkeypatch):
    monkeypatch.setattr(compilers, "_toolkit", lambda folder: f"clang of {folder}")
    monkeypatch.setattr(compilers, "_ziglang", lambda: "ziglang")
    monkeypatch.setenv("ROCM_PATH", "/rocm")
    assert find_compiler() == "clang of /rocm"
    monkeypatch.setenv("TILE_ROCM_COMPILER", "ziglang")
    assert find_compiler() == "ziglang"
    monkeypatch.setenv("TILE_ROCM_COMPILER", "gcc")
    with pytest.raises(TileError, match="TILE_ROCM_COMPILER is 'gcc'"):
        find_compiler()


def test_the_toolkits_clang_is_asked_for_its_version(tmp_path):
    compilers._toolkit.cache_clear()
    tools = tmp_path / "llvm" / "bin"
    tools.mkdir(parents=True)
    assert compilers._toolkit(str(tmp_path)) is None
    compilers._toolkit.cache_clear()
    for name in ("clang", "ld.lld"):
        (tools / name).write_text("#!/bin/sh\necho 'clang version 20.0.0 (rocm)'\n")
        (tools / name).chmod(0o755)
    found = compilers._toolkit(str(tmp_path))
    assert found.key() == "clang version 20.0.0 (rocm)"
    assert found.clang == (str(tools / "clang"),)


def test_a_compiler_that_does_not_start():
    absent = Compiler(clang=("/nowhere/clang",), linker=("/nowhere/lld",), release="none")
    with pytest.raises(TileError, match="the compiler failed") as caught:
        compile_source(PLAIN, "gfx942", compiler=absent)
    assert caught.value.code == "E3002"


def test_a_compiler_that_hangs(monkeypatch):
    monkeypatch.setattr(programs, "LIMIT_SECONDS", 0.2)
    slow = Compiler(
        clang=(sys.executable, "-c", "import time; time.sleep(9)"), linker=(), release="slow"
    )
    with pytest.raises(TileError, match="no answer") as caught:
        compile_source(PLAIN, "gfx942", compiler=slow)
    assert caught.value.code == "E3002"


def test_options_follow_numerics():
    assert "-ffp-contract=fast" in options_for("gfx942", False)
    assert "-ffp-contract=off" in options_for("gfx942", True)


def test_the_fingerprint_names_compiler_architecture_and_numerics(compiler):
    one = RocmToolchain(load("gfx942"))
    prints = {one.fingerprint(), one.fingerprint(True), RocmToolchain(load("gfx950")).fingerprint()}
    assert len(prints) == 3
    assert all(compiler.key() in text for text in prints)


def test_messages_without_a_marker_have_no_place():
    (message,) = parse_messages("kernel.hip:1:5: error: bad thing\n", "int x;\n")
    assert (message.text, message.line, message.span) == ("bad thing", 1, None)
    failed = compiler_failed("ld.lld: error: undefined symbol: f\n", "", "options")
    assert (failed.code, failed.span) == ("E3002", None)
    assert "undefined symbol: f" in failed.message


@pytest.mark.parametrize(
    ("data", "value"),
    [
        (b"\x05", 5),
        (b"\xff", -1),
        (b"\xc0", None),
        (b"\xc3", True),
        (b"\xcd\x01\x00", 256),
        (b"\xd1\xff\x00", -256),
        (b"\xcb\x3f\xf8\x00\x00\x00\x00\x00\x00", 1.5),
        (b"\xa2ab", "ab"),
        (b"\xd9\x02ab", "ab"),
        (b"\xc4\x02ab", b"ab"),
        (b"\x92\x01\xa1x", [1, "x"]),
        (b"\xdc\x00\x01\x07", [7]),
        (b"\x81\xa1k\x90", {"k": []}),
        (b"\xde\x00\x01\xa1k\x02", {"k": 2}),
    ],
)
def test_metadata_is_read(data, value):
    assert unpacked(data) == (value, len(data))


@pytest.mark.parametrize("data", [b"\xc1", b"\xd4\x00\x00"])
def test_metadata_of_another_form(data):
    with pytest.raises(InternalError, match="unknown form"):
        unpacked(data)


def test_other_files_are_no_code_objects():
    with pytest.raises(InternalError):
        metadata_of(b"MZ not an ELF file")


def test_the_usage_of_kernels_is_packed_and_read_back(tmp_path):
    contents = Contents(code=b"\x7fELF", host="def bind(rt): pass\n", usage={"k": ROW})
    path = tmp_path / "k.zip"
    path.write_bytes(ARCHIVE.pack(contents))
    assert ARCHIVE.unpack(path) == contents
