"""Which unrolled loops are the steps of one product, and how far their operands lie apart."""

import re

import pytest

from tile_cuda import spec
from tile_cuda.emit import emit_function
from tile_cuda.matrix_steps import constant_distances
from tile_ir import build as b
from tile_ir.expr import Var
from tile_ir.text import parse_function
from tile_ir.types import i32

PRODUCT = """
func @f(X: global f32[32]) stage simt {
  kernel @f threads = (128) {
    tiles (t) in (1) {
      alloc A: shared f16[64, 128] offset 0 layout [m (64:64) k (64:1, 2:4096) swizzle<3,4,3>]
      alloc S: shared f16[128, 64] offset 16384 layout [m (128:64) k (64:1) swizzle<3,4,3>]
      alloc r: local f16[64]
      alloc c: local f32[64]
      fence registers -> mma
      for kk in (0, 8, 1) unroll {
        @ATOM
      }
      commit_group mma
      settle_count mma <= 0
    }
  }
}
"""
SHARED = "atom m64nNk16_f16 A[:, kk * 16 : +16], S[kk * 16 : +16, :] -> c[0 : +32] init = kk == 0"


def calls(atom):
    """The calls of matrix wrappers that a loop around `atom` becomes."""
    fn = parse_function(PRODUCT.replace("@ATOM", atom))
    text = emit_function(fn, spec.load("sm_90a")).text
    body = text[text.index("__global__") :]
    return re.findall(r"tile_wgmma_m64\w+(?:<[^>]*>)?\(.*\);", body)


def test_one_statement_starts_all_steps():
    (call,) = calls(SHARED)
    distances = "2, 4, 6, 512, 514, 516, 518, 128, 256, 384, 512, 640, 768, 896"
    assert (
        call == f"tile_wgmma_m64nNk16_f16_n64_ss_x8<0, 1, {distances}>(&c[0], A_at, S_at, false);"
    )


def test_a_in_registers_goes_on_behind_the_step_before():
    (call,) = calls(SHARED.replace("A[:, kk * 16 : +16]", "r[kk * 8 : +8]"))
    start = "tile_wgmma_m64nNk16_f16_n64_rs_x8<1, 128, 256"
    assert call.startswith(start)
    assert call.endswith("(&c[0], (const unsigned *)&r[0], S_at, false);")


@pytest.mark.parametrize(
    ("changed", "to"),
    [
        ("init = kk == 0", "init = kk < 2"),  # a later step overwrites
        ("-> c[0 : +32]", "-> c[kk % 2 * 32 : +32]"),  # two accumulators
        ("A[:, kk * 16 : +16]", "r[(7 - kk) * 8 : +8]"),  # registers in another order
    ],
)
def test_other_loops_stay_loops(changed, to):
    assert changed in SHARED
    (call,) = calls(SHARED.replace(changed, to))
    assert "_x8" not in call
    assert "kk" in call


def test_distances_are_known_where_the_difference_is_constant():
    slot, group = Var("slot", i32), Var("group", i32)
    start = b.add(b.mul(slot, 64), group)
    assert constant_distances([start, b.add(b.add(group, 8), b.mul(slot, 64))]) == (8,)
    assert constant_distances([start, b.add(start, b.const(-2)), start]) == (-2, 0)
    assert constant_distances([start, b.mul(slot, 64)]) is None
