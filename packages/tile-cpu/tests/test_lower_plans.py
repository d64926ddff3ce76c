"""What is decided for this target, what a pin changes, and what the decisions do to a program."""

import pytest

from tile_cpu import spec
from tile_cpu.driver import compile_function
from tile_cpu.lower.place_scratch import place_scratch
from tile_cpu.sizes import scratch_size
from tile_ir.diag import TileError
from tile_ir.ops import Alloc, Atom, Copy, For, Gemm, If, Tiles
from tile_ir.rewrite import all_effects, walk
from tile_ir.testing.corpus import corpus
from tile_ir.text import parse_function

ZNVER4 = spec.load("znver4")


def compiled(name, pins=None, arch=ZNVER4):
    return compile_function(corpus()[name].function, arch, pins)


def decisions(artifact):
    return {d.key: d.value for d in artifact.plan}


def test_a_product_keeps_the_panels_of_b_along_m():
    made = compiled("gemm_nn_f32")
    kernel = made.kernels[0]
    found = decisions(made)
    assert found[f"{kernel}.gemm:C_l.atom"] == "outer_f32"
    assert found[f"{kernel}.tiles.strip"] == "by"
    assert found[f"{kernel}.B_s.resident"] > 1


def test_attention_keeps_keys_and_values():
    found = decisions(compiled("attention_causal"))
    kept = {key.split(".")[1] for key in found if key.endswith(".resident")}
    assert {"K_s", "V_s"} <= kept


@pytest.mark.parametrize(
    ("name", "arch", "atom"),
    [
        ("gemm_nn_f16", "znver4", "outer_f16"),
        ("gemm_bf16_out_bf16", "znver4", "dot_bf16"),
        ("gemm_bf16_out_bf16", "x86-64-v4", "outer_bf16"),
        ("gemm_bf16_out_bf16", "sapphirerapids", "tiles_bf16"),
        ("gemm_i8", "znver4", "dot_i8_i8"),
        ("gemm_i8", "sapphirerapids", "tiles_i8_i8"),
        ("gemm_i8", "x86-64-v3", "pairs_i8_i8"),
        ("gemm_fp8_scaled", "znver4", "dot_bf16"),
        ("gemm_fp8_scaled", "x86-64-v4", "outer_bf16"),
        ("gemm_fp8_scaled", "sapphirerapids", "tiles_bf16"),
    ],
)
def test_the_kernel_follows_types_and_machine(name, arch, atom):
    found = decisions(compiled(name, arch=spec.load(arch)))
    assert atom in [v for k, v in found.items() if k.endswith(".atom")]


ROWS = """
func @f(A: global bf16[{rows}, 64], B: global bf16[64, 64], C: global f32[{rows}, 64]) {{
  kernel @f threads = (1) {{
    tiles (b) in (1) {{
      alloc A_s: shared bf16[{rows}, 64]
      alloc B_s: shared bf16[64, 64]
      alloc c: fragment f32[{rows}, 64]
      copy A[0 : +{rows}, 0 : +64] -> A_s[:, :]
      copy B[0 : +64, 0 : +64] -> B_s[:, :]
      fill c[:, :], 0.0
      gemm A_s[:, :], B_s[:, :] -> c[:, :]
      copy c[:, :] -> C[0 : +{rows}, 0 : +64]
    }}
  }}
}}
"""


@pytest.mark.parametrize(("rows", "atom"), [(1, "dot_bf16"), (2, "tiles_bf16"), (16, "tiles_bf16")])
def test_a_unit_of_tiles_multiplies_all_of_its_rows(rows, atom):
    """16 of them, and is 16 times as fast as a vector unit: one row is not worth it."""
    made = compile_function(parse_function(ROWS.format(rows=rows)), spec.load("sapphirerapids"))
    assert decisions(made)["f.gemm:c.atom"] == atom
    assert ("cleanup(tile_amx_release)" in made.source) == (atom == "tiles_bf16")


def test_the_log_names_what_was_rejected():
    made = compiled("gemm_nn_f32")
    choice = next(d for d in made.plan if d.key.endswith(".atom"))
    assert [c.value for c in choice.candidates] == ["outer_f32", "narrow_f32", "loops"]
    assert choice.candidates[0].cost < choice.candidates[1].cost
    assert choice.by == "model"


def test_pins_are_obeyed():
    kernel = compiled("gemm_nn_f32").kernels[0]
    pins = {f"{kernel}.gemm:C_l.atom": "loops", f"{kernel}.tiles.strip": "none"}
    made = compiled("gemm_nn_f32", pins)
    assert not any(isinstance(s, Atom) for s in walk(made.lowered.body))
    assert {d.by for d in made.plan if d.key in pins} == {"user"}


@pytest.mark.parametrize(
    ("key", "value", "code"),
    [
        ("{k}.gemm:C_l.atom", "warp", "E0702"),
        ("{k}.tiles.strip", "bz", "E0702"),
        ("{k}.tiles.strips", "by", "E0701"),
    ],
)
def test_a_pin_that_cannot_be_met_is_refused(key, value, code):
    kernel = compiled("gemm_nn_f32").kernels[0]
    with pytest.raises(TileError) as caught:
        compiled("gemm_nn_f32", {key.format(k=kernel): value})
    assert caught.value.code == code
    assert caught.value.help


WEIGHTED = """tile.ir 1.0 tile
func @f(A: global f32[64, 32], W: global f32[1, 32], B: global f32[64, 32]) results (B) {
  kernel @k {
    tiles (bx) in (16) {
      alloc w: fragment f32[32]
      copy W[0, :] -> w[:]
      parallel (i, j) in (4, 32) { store B[bx * 4 + i, j] = A[bx * 4 + i, j] * w[j] }
    }
  }
}
"""


def test_a_block_for_the_whole_tile_is_copied_in_front_of_the_strip():
    made = compile_function(parse_function(WEIGHTED), ZNVER4).lowered
    tiles = next(s for s in walk(made.body) if isinstance(s, Tiles))
    assert not any(isinstance(s, If) for s in walk(tiles.body))
    loops = [s for s in tiles.body if isinstance(s, For)]
    assert [{e.buffer for e in all_effects((s,))} for s in loops] == [
        {"W", "w"},
        {"A", "w", "B"},
    ]


def test_a_packed_copy_is_made_once_per_strip():
    body = list(walk(compiled("gemm_nn_f32").lowered.body))
    packing = [s for s in body if isinstance(s, Copy)]
    assert [s.dst.buffer for s in packing] == ["B_s"]
    guards = [s for s in body if isinstance(s, If) and packing[0] in s.then]
    assert str(guards[0].cond) == "k >= B_s_filled[]"
    strip = next(s for s in body if isinstance(s, Tiles))
    assert [v.name for v in strip.vars] == ["bx", "strip"]


def test_a_product_of_computed_operands_is_packed_just_before():
    fn = parse_function("""tile.ir 1.0 tile
func @f(A: global f32[16, 8], B: global i8[8, 16], C: global f32[16, 16]) {
  kernel @f { tiles (b) in (1) {
    alloc A_s: shared f32[16, 8]
    alloc B_s: shared f32[8, 16]
    alloc C_l: fragment f32[16, 16]
    copy A[:, :] -> A_s[:, :]
    parallel (i, j) in (8, 16) { store B_s[i, j] = f32(B[i, j]) * 0.5 }
    gemm A_s[:, :], B_s[:, :] -> C_l[:, :] init = true
    copy C_l[:, :] -> C[:, :]
  } } }""")
    made = compile_function(fn, ZNVER4)
    packed = [s for s in walk(made.lowered.body) if isinstance(s, Copy)]
    assert [(s.src.buffer, s.dst.buffer) for s in packed] == [("B_s", "B_s_packed")]
    assert not any(isinstance(s, Gemm) for s in walk(made.lowered.body))


SCRATCH = """tile.ir 1.0 tile
func @f(X: global f32[4096], Y: global f32[4096]) {
  kernel @f { tiles (b) in (1) {
    alloc first: shared f32[1024]
    alloc second: shared f32[1024]
    alloc third: shared f32[1024]
    alloc tiny: shared f32[4]
    copy X[0 : +1024] -> first[:]
    copy first[:] -> second[:]
    for k in (0, 3, 1) serial {
      copy second[:] -> third[:]
      copy third[:] -> second[:]
    }
    copy second[0 : +4] -> tiny[:]
    copy tiny[:] -> Y[0 : +4]
  } } }"""


def test_buffers_that_never_live_together_share_scratch():
    made = place_scratch(parse_function(SCRATCH))
    at = {s.buffer.name: s.buffer for s in walk(made.body) if isinstance(s, Alloc)}
    assert at["first"].offset == at["third"].offset  # one is dead before the other begins
    assert at["second"].offset != at["first"].offset  # alive with both, through the loop
    assert at["tiny"].offset is None  # small: an array of the job
    assert scratch_size(at["first"]) == 4096


def test_a_loop_that_a_break_may_leave_keeps_nothing():
    fn = parse_function("""tile.ir 1.0 tile
func @f(A: global f32[64, 8], W: global f32[4, 8], n: i32, C: global f32[64, 8]) {
  kernel @f { tiles (b) in (64) {
    alloc w: shared f32[8]
    alloc s: fragment f32[8]
    fill s[:], 0.0
    for k in (0, 4, 1) serial {
      if k > n { break }
      copy W[k, :] -> w[:]
      parallel (j) in (8) { store s[j] = s[j] + A[b, j] * w[j] }
    }
    copy s[:] -> C[b, :]
  } } }""")
    made = compile_function(fn, ZNVER4)
    assert decisions(made)["f.tiles.strip"] == "none"
    assert sum(isinstance(s, For) for s in walk(made.lowered.body)) >= 1
