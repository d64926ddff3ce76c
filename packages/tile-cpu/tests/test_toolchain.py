"""Finding compilers, building libraries, and what is said when that fails."""

import ctypes
import errno
import os

import pytest

from tile_cpu import compilers, spec, toolchain
from tile_cpu.codegen_flags import flags_for
from tile_cpu.compiler_errors import parse_messages
from tile_cpu.spec import host
from tile_ir.diag import Span, TileError

ANSWER = '__attribute__((visibility("default"))) int answer(void) { return 42; }\n'


@pytest.fixture
def fresh(monkeypatch, tmp_path):
    """No compiler chosen, none remembered, an empty PATH and no zig."""
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setenv("TILE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(compilers, "zig_path", lambda: None)
    (tmp_path / "bin").mkdir()
    compilers._find.cache_clear()
    yield tmp_path / "bin"
    compilers._find.cache_clear()


def fake_compiler(folder, name, version):
    """A program that answers --version and counts how often it is asked."""
    path = folder / name
    path.write_text(f'#!/bin/sh\n/bin/echo asked >> "{path}.log"\n/bin/echo "{version}"\n')
    path.chmod(0o755)
    return path


def times_asked(path):
    log = path.with_name(path.name + ".log")
    return len(log.read_text().splitlines()) if log.exists() else 0


def test_gcc_comes_before_clang(fresh):
    fake_compiler(fresh, "clang", "clang version 19.1.7")
    assert toolchain.find_toolchain().kind == "clang"
    compilers._find.cache_clear()
    fake_compiler(fresh, "gcc", "gcc (Debian 12.2.0-14) 12.2.0")
    found = toolchain.find_toolchain()
    assert (found.kind, found.number, found.path) == ("gcc", (12, 2, 0), str(fresh / "gcc"))


def test_cc_wins_and_keeps_its_arguments(fresh, monkeypatch):
    fake_compiler(fresh, "gcc", "gcc 12.2.0")
    mine = fake_compiler(fresh, "mine", "Apple clang version 15.0.0")
    monkeypatch.setenv("CC", f"{mine} -pipe")
    found = toolchain.find_toolchain()
    assert found.command == (str(mine), "-pipe")
    assert found.kind == "clang"


def test_zig_is_the_last_resort(fresh, monkeypatch):
    zig = fake_compiler(fresh, "zig", "clang version 22.1.8")
    monkeypatch.setattr(compilers, "zig_path", lambda: str(zig))
    found = toolchain.find_toolchain()
    assert (found.kind, found.command) == ("zig", (str(zig), "cc"))


def test_the_version_is_asked_once_until_the_compiler_changes(fresh):
    gcc = fake_compiler(fresh, "gcc", "gcc 12.2.0")
    for _ in range(3):
        compilers._find.cache_clear()
        assert toolchain.find_toolchain().version == "gcc 12.2.0"
    assert times_asked(gcc) == 1
    fake_compiler(fresh, "gcc", "gcc 13.1.0 newer")
    compilers._find.cache_clear()
    assert toolchain.find_toolchain().number == (13, 1, 0)
    assert times_asked(gcc) == 2


def test_compilers_that_are_too_old_or_broken_are_passed_over(fresh, monkeypatch):
    fake_compiler(fresh, "gcc", "gcc (GCC) 11.4.0")
    (fresh / "cc").write_text("#!/bin/sh\nexit 3\n")
    (fresh / "cc").chmod(0o755)
    with pytest.raises(TileError, match="no C compiler found") as caught:
        toolchain.find_toolchain()
    assert caught.value.notes[1:] == (
        f"{fresh}/gcc is too old: gcc (GCC) 11.4.0",
        f"{fresh}/cc --version failed",
    )
    fake_compiler(fresh, "clang", "Debian clang version 14.0.6")
    compilers._find.cache_clear()
    assert toolchain.find_toolchain().number == (14, 0, 6)
    monkeypatch.setenv("CC", "gcc")
    with pytest.raises(TileError, match="CC is too old") as caught:
        toolchain.find_toolchain()
    assert caught.value.code == "E0801"


def test_without_a_compiler_the_error_says_what_to_install(fresh):
    with pytest.raises(TileError) as caught:
        toolchain.find_toolchain()
    assert caught.value.code == "E0801"
    assert "pip install tile-cpu[toolchain]" in caught.value.help


def test_cc_that_names_nothing_is_an_error(fresh, monkeypatch):
    monkeypatch.setenv("CC", "no-such-compiler")
    with pytest.raises(TileError, match="CC names no program") as caught:
        toolchain.find_toolchain()
    assert caught.value.code == "E0801"


def test_a_program_that_is_no_compiler_is_an_error(fresh, monkeypatch):
    monkeypatch.setenv("CC", str(fake_compiler(fresh, "gcc", "") or ""))
    (fresh / "gcc").write_text("#!/bin/sh\nexit 3\n")
    with pytest.raises(TileError, match="--version failed") as caught:
        toolchain.find_toolchain()
    assert caught.value.code == "E0801"


def test_a_library_is_built_and_nothing_else_is_left(tmp_path):
    made = toolchain.compile(ANSWER, tmp_path / "out" / "a.so")
    assert ctypes.CDLL(str(made.path)).answer() == 42
    assert os.listdir(tmp_path / "out") == ["a.so"]
    assert made.seconds > 0


def test_the_source_is_kept_when_asked_for(tmp_path, monkeypatch):
    monkeypatch.setenv("TILE_KEEP_SOURCE", "1")
    toolchain.compile(ANSWER, tmp_path / "a.so")
    assert (tmp_path / "a.c").read_text() == ANSWER


def test_equal_sources_are_built_once(tmp_path, monkeypatch):
    monkeypatch.setenv("TILE_CACHE_DIR", str(tmp_path))
    first = toolchain.compile_cached(ANSWER, "answer")
    second = toolchain.compile_cached(ANSWER, "answer")
    other = toolchain.compile_cached(ANSWER, "answer", ("-O1",))
    assert first.path == second.path != other.path
    assert first.seconds > 0 == second.seconds


def test_a_compiler_error_is_placed_by_line_directives(tmp_path):
    source = '\n#line 12 "kernel.py"\nint f(void) { return nothing; }\n'
    with pytest.raises(TileError) as caught:
        toolchain.compile(source, tmp_path / "a.so")
    assert caught.value.code == "E0802"
    assert (caught.value.span.file, caught.value.span.line) == ("kernel.py", 12)
    assert "nothing" in caught.value.message
    assert os.listdir(tmp_path) == []


def test_a_compiler_error_is_placed_by_marker_comments():
    source = "int a;\n/* kernel.py:7 copy */\nint b;\n// kernel.py:9\nint c;\nint d = x;\n"
    said = "/tmp/k/kernel.c:6:9: error: 'x' undeclared\n/tmp/k/kernel.c:3: error: second\n"
    first, second = parse_messages(said, source, "kernel.c")
    assert (first.text, first.line, first.span) == ("'x' undeclared", 6, Span("kernel.py", 9))
    assert (second.line, second.span) == (3, Span("kernel.py", 7))


def test_only_the_first_errors_are_shown(tmp_path):
    source = "\n".join(f"int f{i}(void) {{ return missing{i}; }}" for i in range(9))
    with pytest.raises(TileError) as caught:
        toolchain.compile(source, tmp_path / "a.so")
    assert len(caught.value.notes) == 4
    assert "[line 3: int f2(void) { return missing2; }]" in caught.value.notes[2]
    assert caught.value.notes[-1].startswith("command: ")


def test_a_place_that_is_no_folder_is_reported(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(TileError, match="cannot write") as caught:
        toolchain.compile(ANSWER, tmp_path / "file" / "a.so")
    assert caught.value.code == "E0803"


@pytest.mark.parametrize(
    ("number", "reason"), [(errno.ENOSPC, "disk is full"), (errno.EROFS, "read-only")]
)
def test_a_full_or_read_only_disk_is_reported(tmp_path, monkeypatch, number, reason):
    def refuse(*_):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "replace", refuse)
    with pytest.raises(TileError, match=reason) as caught:
        toolchain.compile(ANSWER, tmp_path / "a.so")
    assert caught.value.code == "E0803"
    assert "TILE_CACHE_DIR" in caught.value.help
    assert os.listdir(tmp_path) == []


def test_cross_compiling_needs_zig(fresh, tmp_path):
    with pytest.raises(TileError, match="needs zig") as caught:
        toolchain.cross_compile(ANSWER, tmp_path / "a.so", "aarch64-linux-gnu", "neoverse_v1")
    assert caught.value.code == "E0801"


def test_zig_builds_for_another_machine(tmp_path):
    pytest.importorskip("ziglang", reason="the wheel that cross compiles is an optional extra")
    made = toolchain.cross_compile(
        ANSWER, tmp_path / "a.so", "aarch64-linux-gnu", "neoverse_v1", ("-O2",)
    )
    header = made.path.read_bytes()[:20]
    assert header[:4] == b"\x7fELF"
    assert int.from_bytes(header[18:20], "little") == 183  # EM_AARCH64


def test_flags_name_features_and_never_the_machine():
    gcc = compilers.Toolchain(command=("gcc",), kind="gcc", version="gcc 12.2.0")
    zig = compilers.Toolchain(command=("zig", "cc"), kind="zig", version="clang 22")
    znver4 = spec.load("znver4")
    assert flags_for(znver4, gcc) == (
        "-O3",
        "-fno-tree-loop-distribution",
        "-march=x86-64-v4",
        "-mavx512bf16",
        "-mavx512vnni",
        "-mprefer-vector-width=512",
        "-ffp-contract=fast",
    )
    assert flags_for(znver4, zig, strict=True, optimize=1) == (
        "-O1",
        "-mcpu=x86_64_v4+avx512bf16+avx512vnni",
        "-ffp-contract=off",
    )


def test_descriptions_are_complete():
    assert spec.names() == (
        "aarch64",
        "apple-m1",
        "neoverse-v1",
        "sapphirerapids",
        "x86-64-v2",
        "x86-64-v3",
        "x86-64-v4",
        "znver4",
        "znver5",
    )
    for arch in spec.names():
        found = spec.load(arch)
        assert (found.name, found.arch, found.family) == ("cpu", arch, "cpu")
        assert found.toolchain.flags
        assert found.toolchain.host_features
        assert found.atoms("f32", "f32", "f32")[0].rate == found.rates.vector_flops


def test_an_unknown_architecture_is_an_error():
    with pytest.raises(TileError, match="no CPU is called") as caught:
        spec.load("z80")
    assert caught.value.code == "E0916"


def test_the_best_description_is_the_most_demanding_that_fits():
    needs = {arch: frozenset(spec.load(arch).toolchain.host_features) for arch in spec.names()}
    for arch in ("x86-64-v2", "x86-64-v3", "x86-64-v4", "znver4", "znver5", "neoverse-v1"):
        assert host.best_arch(needs[arch] | {"something-else"}, needs) == arch
    assert host.best_arch(frozenset({"sse2"}), needs) is None


def test_features_are_read_from_cpuinfo(tmp_path):
    x86, arm = tmp_path / "x86", tmp_path / "arm"
    x86.write_text("processor\t: 0\nmodel name\t: A CPU\nflags\t\t: fpu sse4_2 avx2\n\nflags : no")
    arm.write_text("BogoMIPS\t: 50.00\nFeatures\t: fp asimd asimddp\n")
    assert host.host_features(str(x86)) == {"fpu", "sse4_2", "avx2"}
    assert host.host_features(str(arm)) == {"fp", "asimd", "asimddp"}
    assert host.host_features(str(tmp_path / "none")) == frozenset()


@pytest.mark.parametrize("allowed", [True, False])
def test_tiles_are_used_where_the_system_hands_them_out(monkeypatch, allowed):
    needs = {arch: frozenset(spec.load(arch).toolchain.host_features) for arch in spec.names()}
    monkeypatch.setattr(host, "_may_use_tiles", lambda: allowed)
    found = host.best_arch(host.allowed_features(needs["sapphirerapids"]), needs)
    assert found == ("sapphirerapids" if allowed else "znver4")
    assert host.allowed_features(needs["znver4"]) == needs["znver4"]  # not asked without them


def test_the_architecture_can_be_forced(monkeypatch):
    monkeypatch.setenv("TILE_CPU_ARCH", "x86-64-v2")
    assert host.host_arch() == "x86-64-v2"
    monkeypatch.delenv("TILE_CPU_ARCH")
    assert host.host_arch() in spec.names()
