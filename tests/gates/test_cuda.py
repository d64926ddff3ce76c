"""Every example and the whole corpus become machine code for four generations of GPUs, without one.

The compiler says what each kernel takes; the disassembler, which instructions do the work.
"""

import re
import subprocess
from functools import cache
from importlib import metadata
from pathlib import Path

import pytest

import tile_frontend.language as T
from tile_cuda.nvrtc import find_nvrtc
from tile_cuda.toolchain import compile_source
from tile_frontend import driver
from tile_frontend.target_select import select
from tile_ir.testing.by_path import module_at
from tile_ir.testing.corpus import corpus
from tile_ir.testing.requires import requires

ROOT = Path(__file__).parents[2]
own = module_at(ROOT / "tests/gpu/kernels.py")
example = module_at(ROOT / "examples/quickstart.py")
measured = module_at(ROOT / "benchmarks/gpu_kernels.py")

pytestmark = pytest.mark.gates

ARCHITECTURES = ("sm_80", "sm_90a", "sm_100a", "sm_120")
SIZES = {"M": 1024, "N": 1024, "K": 1024}
ATTENTION = {"batch": 2, "heads": 8, "length": 1024}
BIG = {"block": (128, 128, 32)}

f16, bf16, f32, i8, i32 = T.float16, T.bfloat16, T.float32, T.int8, T.int32
HALF = {"dtype": f16, "out": f16, "accumulate": f32}

PRODUCTS = {
    "gemm_f16_nn": lambda: own.matmul.get_tir(**SIZES, **HALF, **BIG),
    "gemm_f16_nt": lambda: own.matmul.get_tir(**SIZES, **HALF, **BIG, transpose_b=True),
    "gemm_f16_tn": lambda: own.matmul.get_tir(**SIZES, **HALF, **BIG, transpose_a=True),
    "gemm_bf16_nn": lambda: own.matmul.get_tir(
        **SIZES, dtype=bf16, out=bf16, accumulate=f32, **BIG
    ),
    "gemm_i8_nt": lambda: own.matmul.get_tir(
        **SIZES, dtype=i8, out=i32, accumulate=i32, transpose_b=True, **BIG
    ),
    "gemm_f32_nn": lambda: own.matmul.get_tir(**SIZES, dtype=f32, out=f32, accumulate=f32),
    "gemm_f16_odd": lambda: own.matmul.get_tir(M=127, N=65, K=1000, **HALF),
    "gemm_f16_dynamic": lambda: own.matmul_of_any_size.get_tir(dtype=f16),
    "gemm_relu_f16": lambda: example.matmul_relu.get_tir(
        **SIZES, dtype=f16, block_M=128, block_N=128, block_K=32
    ),
    "gemm_relu_f32": lambda: example.matmul_relu.get_tir(
        **SIZES, dtype=f32, block_M=64, block_N=64, block_K=32
    ),
    "attention_f32": lambda: example.attention.get_tir(**ATTENTION, dim=64),
    "attention_f16_causal": lambda: own.attention.get_tir(
        **ATTENTION, dim=64, dtype=f16, causal=True
    ),
    "attention_f16_full": lambda: own.attention.get_tir(
        **ATTENTION, dim=64, dtype=f16, causal=False
    ),
    "attention_bf16_128": lambda: own.attention.get_tir(
        **ATTENTION, dim=128, dtype=bf16, causal=True
    ),
    "attention_f16_odd": lambda: own.attention.get_tir(
        batch=1, heads=3, length=129, dim=64, dtype=f16, causal=True
    ),
}
"""Products and attention: nothing of theirs may be in a thread's local memory."""
ROWS = {
    "softmax_f32": lambda: example.softmax.get_tir(M=4096, N=1024),
    "rms_norm_f32": lambda: example.rms_norm.get_tir(M=4096, N=1024),
    "layer_norm_f16": lambda: own.layer_norm.get_tir(M=4096, N=4096, dtype=f16),
    "layer_norm_bf16_odd": lambda: own.layer_norm.get_tir(M=7, N=1000, dtype=bf16),
    "add_f32": lambda: own.add.get_tir(dtype=f32),
    "add_f16": lambda: own.add.get_tir(dtype=f16),
}
PROGRAMS = {
    **{name: lambda make=make: make().function for name, make in {**PRODUCTS, **ROWS}.items()},
    **{f"corpus/{name}": lambda s=sample: s.function for name, sample in corpus().items()},
}

TENSOR = {"sm_80": "HMMA", "sm_90a": "HMMA|HGMMA", "sm_100a": "HMMA", "sm_120": "HMMA"}
"""Opcodes of 16-bit matrix instructions."""


@cache
def built(name, arch):
    """Source, machine code and usage."""
    artifact, _ = driver.lowered(PROGRAMS[name](), select(f"cuda -arch={arch}"))
    return artifact, *compile_source(artifact.source, arch, artifact.strict)


@pytest.fixture(scope="module", autouse=True)
def _compiler():
    requires("nvidia-cuda-nvrtc", lambda: find_nvrtc() is not None)


@pytest.fixture
def opcodes(tmp_path):
    """The set of opcodes of a program's machine code."""
    try:
        files = metadata.files("nvidia-cuda-nvdisasm") or []
    except metadata.PackageNotFoundError:
        files = []
    found = [str(f.locate()) for f in files if f.name in ("nvdisasm", "nvdisasm.exe")]
    requires("nvidia-cuda-nvdisasm", bool(found))

    def run(cubin):
        path = tmp_path / "kernel.cubin"
        path.write_bytes(cubin)
        text = subprocess.run(
            [found[0], "-c", str(path)], capture_output=True, text=True, check=True
        ).stdout
        return set(
            re.findall(r"^\s*/\*[0-9a-f]+\*/\s+(?:@!?U?P\w+\s+)?([A-Z][A-Z0-9_]*)", text, re.M)
        )

    return run


def test_there_are_enough_kernels():
    assert len(PROGRAMS) >= 60


@pytest.mark.parametrize("arch", ARCHITECTURES)
@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_a_program_becomes_machine_code(name, arch, record_property):
    artifact, _, usage = built(name, arch)
    assert set(usage) == set(artifact.kernels)
    most = max(usage.values(), key=lambda row: row.registers)
    spilled = sum(row.spill_stores + row.spill_loads for row in usage.values())
    local = max(row.stack for row in usage.values())
    row = (name, arch, most.registers, spilled, local, len(artifact.source))
    record_property("usage", row)
    if name in PRODUCTS:
        assert (spilled, local) == (0, 0)


@pytest.mark.parametrize("arch", ARCHITECTURES)
@pytest.mark.parametrize("name", sorted(n for n in PRODUCTS if "f16" in n))
def test_products_of_16_bits_use_the_matrix_unit(name, arch, opcodes):
    _, cubin, _ = built(name, arch)
    found = opcodes(cubin)
    assert any(re.fullmatch(TENSOR[arch], op) for op in found)
    assert not found & {"STL", "LDL"}


LARGE = {"M": 4096, "N": 4096, "K": 4096, "dtype": "float16"}
HEADS = {"B": 4, "H": 16, "S": 4096, "dtype": "float16"}
BLOCK_64 = {"block_M": 192, "threads": 384}
MEASURED = {
    "gemm nn": lambda: measured.kernel("matmul").get_tir(**LARGE),
    "gemm nt": lambda: measured.kernel("matmul").get_tir(**LARGE, transposed=True),
    "attention 128 causal": lambda: measured.kernel("attention").get_tir(**HEADS, D=128),
    "attention 128 full": lambda: measured.kernel("attention").get_tir(
        **HEADS, D=128, causal=False
    ),
    "attention 64 full": lambda: measured.kernel("attention").get_tir(
        **HEADS, D=64, causal=False, **BLOCK_64
    ),
}
"""The kernels of the benchmarks, with the parameters of their tables."""
ASYNC = {"HGMMA", "UTMALDG", "UTMASTG", "USETMAXREG"}


@pytest.mark.parametrize("name", MEASURED)
def test_measured_kernels_use_asynchronous_engines_and_roles(name, opcodes):
    artifact, _ = driver.lowered(MEASURED[name]().function, select("cuda -arch=sm_90a"))
    cubin, usage = compile_source(artifact.source, "sm_90a", artifact.strict)
    found = opcodes(cubin)
    assert found >= ASYNC
    assert not found & {"STL", "LDL"}
    assert all(u.spill_stores == u.spill_loads == u.stack == 0 for u in usage.values())


def test_the_older_path_copies_behind_the_matrix_unit(opcodes):
    table = {"block_M": 128, "block_N": 128, "block_K": 64, "stages": 3, "threads": 128}
    made = measured.kernel("matmul").get_tir(**LARGE, **table)
    artifact, _ = driver.lowered(made.function, select("cuda -arch=sm_80"))
    cubin, usage = compile_source(artifact.source, "sm_80", artifact.strict)
    found = opcodes(cubin)
    assert found >= {"HMMA", "LDSM", "LDGSTS"}
    assert not found & {"STL", "LDL"}
    assert all(u.spill_stores == u.spill_loads == u.stack == 0 for u in usage.values())


@pytest.mark.parametrize("arch", ["sm_80", "sm_120"])
@pytest.mark.parametrize("name", ["gemm_f16_nn", "gemm_f16_nt", "gemm_f16_tn"])
def test_operands_are_loaded_as_matrices(name, arch, opcodes):
    _, cubin, _ = built(name, arch)
    assert "LDSM" in opcodes(cubin)


def test_integer_products_use_the_matrix_unit(opcodes):
    _, cubin, _ = built("gemm_i8_nt", "sm_80")
    assert "IMMA" in opcodes(cubin)
