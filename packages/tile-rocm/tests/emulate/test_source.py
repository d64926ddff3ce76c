"""HIP C++ as text for the emulator, without compiling it."""

import pytest

from tile_ir.diag import TileError
from tile_rocm import spec
from tile_rocm.emulate.instructions import definitions
from tile_rocm.emulate.source import emulation, source_of
from tile_rocm.intrinsics.matrix import instruction_of

SOURCE = """#define TILE_FN static __attribute__((device)) inline \\
  __attribute__((always_inline))

TILE_KERNEL(128) TILE_BLOCKS(128, 2) void first(const unsigned short *A, const int n) {
  TILE_SHARED unsigned char arena[64];
  // user.py:3: load
  n;
}

TILE_KERNEL(64) void second() {
}
"""


def test_kernels_and_lines_are_found():
    made = source_of(SOURCE, "gfx942", "host", "regions")
    assert [(k.name, k.entry, k.parameters) for k in made.kernels] == [
        ("first", "kernel_first", ((0, 8), (8, 8))),
        ("second", "kernel_second", ()),
    ]
    assert made.places[7] == ("", 7, "n;", "user.py:3")
    lines = made.code.split('#line 1 "kernel"\n')[1].split("\n")
    assert lines[:3] == ["", "", ""]
    assert lines[4].strip() == "unsigned char *const arena = emu_arena();"
    assert "emitted::first(*(const unsigned short * *)(parameters + 0)," in made.code


def test_an_unknown_builtin_is_refused():
    with pytest.raises(TileError) as caught:
        source_of("__builtin_amdgcn_ds_nothing();", "gfx942", "", "")
    assert caught.value.code == "E2301"
    assert "__builtin_amdgcn_ds_nothing" in caught.value.message


@pytest.mark.parametrize("arch", spec.names())
def test_every_matrix_instruction_has_a_meaning(arch):
    for atom in spec.load(arch).matrix.values():
        name = f"__builtin_amdgcn_{instruction_of(atom).builtin}"
        assert f"EMU_INLINE C {name}(" in definitions(f"{name}(a, b, c)", arch)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("mfma_f32_32x32x8f16", "hip_matrix<32, 32, 8, HIP_MFMA, HIP_F32>"),
        ("mfma_f32_16x16x32_fp8_bf8", "HIP_FP8, a, HIP_BF8, b, c"),
        ("mfma_f64_16x16x4f64", "HIP_MFMA_F64, HIP_F64"),
        ("mfma_scale_f32_32x32x64_f8f6f4", "hip_format(fa), a, hip_format(fb), b, c"),
        ("wmma_i32_16x16x16_iu8_w32", "HIP_WMMA_DOUBLE, HIP_S32"),
        ("wmma_f16_16x16x16_f16_w32_gfx12", "HIP_WMMA, HIP_F16"),
    ],
)
def test_a_name_says_shape_types_and_layout(name, words):
    assert words in definitions(f"__builtin_amdgcn_{name}(", "gfx942")


def test_8_bit_floats_are_those_of_the_architecture():
    assert "#define HIP_FP8 HIP_E4M3FNUZ" in definitions("", "gfx942")
    assert "#define HIP_FP8 HIP_E4M3\n" in definitions("", "gfx950")


def test_layers_differ_where_waves_or_banks_do():
    made = [emulation(spec.load(arch)) for arch in ("gfx942", "gfx950", "gfx1100")]
    assert [(m.name, m.lanes, m.banks) for m in made] == [
        ("rocm-64-32", 64, 32),
        ("rocm-64-64", 64, 64),
        ("rocm-32-32", 32, 32),
    ]
