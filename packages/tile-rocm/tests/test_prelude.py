"""Every piece of the prelude compiles where it may, and is the instruction that it says it is."""

import re

import pytest

from tile_ir.diag import InternalError
from tile_rocm.prelude.index import defined_names, mentioned, pieces_for

CDNA = ("gfx90a", "gfx942", "gfx950")
ALL = (*CDNA, "gfx1100", "gfx1200")

# Statement -> (opcode, architectures).
STATEMENTS = {
    "tile_sync()": (r"s_barrier", ALL),
    "x[0] = tile_shuffle_xor_by<1>(x[t])": (r"quad_perm:\[1,0,3,2\]", ALL),
    "x[0] = tile_shuffle_xor_by<2>(x[t])": (r"quad_perm:\[2,3,0,1\]", ALL),
    "x[0] = tile_shuffle_xor_by<7>(x[t])": (r"row_half_mirror", ALL),
    "x[0] = tile_shuffle_xor_by<15>(x[t])": (r"row_mirror", ALL),
    "x[0] = tile_shuffle_xor_by<16>(x[t])": (r"ds_swizzle_b32.*SWAP,16", ALL),
    "x[0] = tile_shuffle_xor_by<32>(x[t])": (r"ds_bpermute_b32", CDNA),
    "x[0] = tile_shuffle_idx(x[t], n)": (r"ds_bpermute_b32", ALL),
    "tile_atomic_add<float>(x, 1.0f)": (r"(global|flat)_atomic_add_f32", ALL),
    "tile_atomic_add<double>((double *)x, 1.0)": (r"global_atomic_add_f64", CDNA),
    "tile_atomic_max<int>((int *)x, n)": (r"global_atomic_s?max(_i32)?", ALL),
    "x[0] = tile_fast_exp_f32(x[t])": (r"v_(s_)?exp_f32", ALL),
    "x[0] = tile_fast_rcp_f32(x[t])": (r"v_(s_)?rcp_f32", ALL),
    "x[0] = tile_fast_sin_f32(x[t])": (r"v_sin_f32", ALL),
    "tile_move<16>(x, x + 16 * t + 64)": (r"global_load_(dwordx4|b128)", ALL),
    "((unsigned char *)x)[t] = tile_f32_to_f8e4m3fnuz(x[t])": ("v_cvt_pk_fp8_f32", ("gfx942",)),
    "((unsigned char *)x)[t] = tile_f32_to_f8e5m2(x[t])": (
        "v_cvt_pk_bf8_f32",
        ("gfx950", "gfx1200"),
    ),
    "x[t] = tile_f8e4m3fn_to_f32((unsigned char)n)": (r"cvt_f32_fp8", ("gfx950", "gfx1200")),
    "((unsigned short *)x)[t] = tile_f32_to_bf16(x[t])": ("v_cvt_pk_bf16_f32", ("gfx950",)),
    "x[0] = tile_max_f32(x[t], x[t + 64])": (r"v_(pk_)?maximum", ("gfx950", "gfx1200")),
}


@pytest.mark.parametrize("arch", ALL)
def test_the_instruction_of_each_statement(instructions, arch):
    wanted = {s: code for s, (code, where) in STATEMENTS.items() if arch in where}
    text = "".join(
        f"TILE_KERNEL(256) void k{i}(float *x, int n) {{ int t = tile_thread(); {s}; }}\n"
        for i, s in enumerate(wanted)
    )
    machine = instructions(text, arch)
    bodies = re.split(r"^k\d+:", machine, flags=re.M)[1:]
    assert len(bodies) == len(wanted)
    for body, (statement, code) in zip(bodies, wanted.items(), strict=True):
        assert re.search(code, body.split("s_endpgm")[0]), statement


def test_several_blocks_on_a_compute_unit_bound_registers(instructions):
    text = "TILE_KERNEL(256) TILE_BLOCKS(256, 2) void k(float *x) { x[tile_thread()] = 0.0f; }\n"
    assert "s_endpgm" in instructions(text, "gfx942")


def test_only_what_is_mentioned_is_printed_and_needs_come_first():
    text = pieces_for(["tile_f64_to_bf16"])
    assert (
        text.index("#define TILE_FN") < text.index("tile_to_odd") < text.index("tile_f64_to_bf16")
    )
    assert "tile_shuffle" not in text
    assert pieces_for(["tile_load", "tile_map"]) == pieces_for(["tile_map", "tile_load"])


def test_overloads_come_together():
    assert pieces_for(["tile_map"]).count("TILE_FN auto tile_map(") == 3


def test_every_name_of_the_prelude_has_all_that_it_needs():
    names = defined_names()
    assert len(names) > 160
    text = pieces_for(names, {"TILE_WAVE": "#define TILE_WAVE 64"})
    assert set(mentioned(text)) - names <= {"TILE_WAVE"}


def test_an_unknown_name_is_our_defect():
    with pytest.raises(InternalError) as caught:
        pieces_for(["tile_nothing"])
    assert caught.value.code == "E3090"
