"""Compiling without a device: what comes out, what is refused, and how that is said."""

from pathlib import Path

import pytest

from tile_cuda import nvcc, toolchain
from tile_cuda.compiler_messages import (
    compiler_failed,
    parse_messages,
    raise_for_performance,
    spills_of,
)
from tile_cuda.container import ARCHIVE, Contents, KernelUsage
from tile_cuda.cubin import kernels_of, sections
from tile_cuda.emulate.source import compile_ptx
from tile_cuda.nvrtc import find_nvrtc
from tile_cuda.prelude.index import pieces_for
from tile_cuda.toolchain import compile_source, find_compiler, options_for
from tile_ir.diag import InternalError, Span, TileError
from tile_ir.testing.requires import requires

PLAIN = 'extern "C" __global__ void k(float *x) { x[threadIdx.x] = expf(x[threadIdx.x]); }\n'
SHARED = """extern "C" __global__ void k(float *x) {
  __shared__ float s[256];
  s[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  x[threadIdx.x] = s[255 - threadIdx.x];
}
"""
REMARK = (
    "ptxas info    : (C7514) Potential Performance Loss: wgmma.mma_async instructions are"
    " serialized"
)


def test_machine_code_without_a_device(compiler):
    cubin, usage = compile_source(PLAIN, "sm_90a", compiler=compiler)
    assert ".text.k" in [s.name for s in sections(cubin)]
    assert 4 <= usage["k"].registers <= 32
    assert (usage["k"].stack, usage["k"].spill_stores) == (0, 0)


def test_static_shared_memory_is_counted(compiler):
    cubin, _ = compile_source(SHARED, "sm_80", compiler=compiler)
    assert kernels_of(cubin)["k"][1] == 1024


def test_what_the_system_keeps_of_shared_memory_is_not_the_kernels(compiler):
    dynamic = SHARED.replace("__shared__ float s[256]", "extern __shared__ float s[]")
    for arch in ("sm_80", "sm_90a", "sm_120"):
        counted = [compile_source(text, arch, compiler=compiler)[1] for text in (SHARED, dynamic)]
        assert [usage["k"].static_shared for usage in counted] == [1024, 0]


def test_flags_of_the_user_come_last(compiler):
    plain, _ = compile_source(PLAIN, "sm_90a", compiler=compiler)
    fast, _ = compile_source(PLAIN, "sm_90a", compiler=compiler, flags=("--use_fast_math",))
    assert plain != fast
    with pytest.raises(TileError) as caught:
        compile_source(PLAIN, "sm_90a", compiler=compiler, flags=("--no-such-flag",))
    assert caught.value.code == "E3002"
    assert "--no-such-flag" in caught.value.notes[0]


def test_nvcc_gives_the_same_facts(compiler):
    other = nvcc.find_nvcc()
    if other is None:
        pytest.skip("there is no nvcc")
    _, usage = compile_source(SHARED, "sm_80", compiler=other)
    assert usage["k"].static_shared == 1024
    assert other.key().startswith("nvcc ")


def test_a_refused_kernel_is_placed_on_the_users_line(compiler):
    source = f"// kernel.py:7: C[i] = x\n{PLAIN}// kernel.py:9: y\nint broken = nothing;\n"
    with pytest.raises(TileError, match='identifier "nothing" is undefined') as caught:
        compile_source(source, "sm_80", compiler=compiler)
    assert caught.value.code == "E3002"
    assert caught.value.span == Span("kernel.py", 9)


def test_an_instruction_that_the_architecture_lacks(compiler):
    source = 'extern "C" __global__ void k() { asm volatile("wgmma.fence.sync.aligned;"); }'
    with pytest.raises(TileError) as caught:
        compile_source(source, "sm_80", compiler=compiler)
    assert caught.value.code == "E3015"


def test_an_unknown_architecture_is_the_compilers_to_refuse(compiler):
    with pytest.raises(TileError) as caught:
        compile_source(PLAIN, "sm_13", compiler=compiler)
    assert caught.value.code == "E3002"


def test_without_any_compiler(monkeypatch):
    monkeypatch.setattr(toolchain, "find_nvrtc", lambda: None)
    monkeypatch.setattr(toolchain, "find_nvcc", lambda: None)
    with pytest.raises(TileError) as caught:
        find_compiler()
    assert caught.value.code == "E3001"
    assert "tile-cuda[nvrtc]" in caught.value.help


def test_the_compiler_may_be_chosen(monkeypatch):
    monkeypatch.setattr(toolchain, "find_nvrtc", lambda: "nvrtc")
    monkeypatch.setattr(toolchain, "find_nvcc", lambda: "nvcc")
    assert find_compiler() == "nvrtc"
    monkeypatch.setenv("TILE_CUDA_COMPILER", "nvcc")
    assert find_compiler() == "nvcc"
    monkeypatch.setenv("TILE_CUDA_COMPILER", "gcc")
    with pytest.raises(TileError, match="TILE_CUDA_COMPILER is 'gcc'"):
        find_compiler()


def test_options_follow_numerics():
    assert "--fmad=true" in options_for("sm_80", False)
    assert "--fmad=false" in options_for("sm_80", True)


@pytest.mark.parametrize("strict", [False, True])
def test_a_power_of_two_is_one_instruction_unless_strict(strict):
    source = pieces_for(("tile_exp2_f32",)) + (
        'extern "C" __global__ void k(float *x) { *x = tile_exp2_f32(*x); }\n'
    )
    ptx = compile_ptx(source, "sm_80", strict)
    assert ("ex2.approx.ftz.f32" in ptx) is not strict


def test_serialized_matrix_instructions_are_an_error():
    with pytest.raises(TileError) as caught:
        raise_for_performance(REMARK)
    assert caught.value.code == "E3004"
    assert "newer group is in flight" in caught.value.message
    assert "fewer stages" in caught.value.help
    raise_for_performance(
        "ptxas info    : (C7519) Potential Performance Loss: a fence was inserted"
    )


def test_calls_between_matrix_instructions_are_named():
    with pytest.raises(TileError, match="a function call lies") as caught:
        raise_for_performance("ptxas info : (C7510) Potential Performance Loss: a function call")
    assert "T.print" in caught.value.help
    assert ".atom" in caught.value.help


def test_an_instruction_that_does_not_fit_is_no_defect():
    """What a product of 256 x 256 by 512 threads is refused for, word for word."""
    log = (
        "ptxas application ptx input, line 416; error   : (C7602) Insufficient registers (96) to "
        "compile instruction at line 416 in function kern. Try to compile with register target of "
        "154 or higher.\nptxas fatal   : Ptx assembly aborted due to errors\n"
    )
    error = compiler_failed(log, "", "nvrtc")
    assert error.code == "E3004"
    assert error.notes[0].startswith("C7602: Insufficient registers (96)")
    assert "fewer columns" in error.help
    assert "report" not in error.help
    other = compiler_failed("ptxas fatal   : Ptx assembly aborted due to errors", "", "nvrtc")
    assert other.code == "E3002"


def test_ignored_register_limits_are_an_error():
    with pytest.raises(TileError) as caught:
        raise_for_performance("ptxas info : (C7508) 'setmaxnreg' ignored to maintain minimum")
    assert caught.value.code == "E3006"


def test_spills_are_read_and_refused_beside_asynchronous_products():
    log = (
        "ptxas info    : Function properties for matmul\n"
        "ptxas         .     64 bytes stack frame, 260 bytes spill stores, 312 bytes spill loads\n"
    )
    found = spills_of(log)["matmul"]
    assert (found.stores, found.loads) == (260, 312)
    row = KernelUsage(registers=255, static_shared=0, stack=64, spill_stores=260, spill_loads=312)
    with pytest.raises(TileError, match="matmul spills 260 bytes") as caught:
        toolchain._refuse_spills({"matmul": row})
    assert caught.value.code == "E3005"


def test_messages_without_a_marker_have_no_place():
    (message,) = parse_messages("kernel.cu(1): error: bad thing\n", "int x;\n")
    assert (message.text, message.line, message.span) == ("bad thing", 1, None)


def test_the_usage_of_kernels_is_packed_and_read_back(tmp_path):
    row = KernelUsage(registers=8, static_shared=0, stack=0, spill_stores=0, spill_loads=0)
    contents = Contents(code=b"\x7fELF", host="def bind(rt): pass\n", usage={"k": row})
    path = tmp_path / "k.zip"
    path.write_bytes(ARCHIVE.pack(contents))
    assert ARCHIVE.unpack(path) == contents


def test_other_files_are_no_cubins():
    with pytest.raises(InternalError):
        sections(b"MZ not an ELF file")


def test_the_compilers_other_half_is_loaded_from_beside_it():
    """Some builds open it by name, and find it only where it is loaded already."""
    compiler = find_nvrtc()
    requires("NVRTC", compiler is not None)
    beside = Path(compiler.path).with_name("libnvrtc-builtins.so.{}.{}".format(*compiler.version))
    maps = Path("/proc/self/maps")
    if beside.exists() and maps.exists():
        assert str(beside.resolve()) in maps.read_text()
    assert compiler._builtins is not None or not beside.exists()


def test_the_compiler_speaks_every_time():
    """A cache of the compiler's own would give machine code without its remarks."""
    compiler = find_nvrtc()
    requires("NVRTC", compiler is not None)
    text = 'extern "C" __global__ void k(int *x) { x[0] = 1; }'
    options = options_for("sm_90a", strict=False)
    logs = [compiler.compile(text, "k.cu", options).log for _ in range(2)]
    assert ["0 bytes spill stores" in log for log in logs] == [True, True]
    assert ("--no-cache" in compiler._always) == (compiler.version >= (12, 9))
