"""Accumulators that are scaled before they are added to: nothing of it is left in a first trip."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tile_ir.interp import run
from tile_ir.ops import Fill, Gemm, If
from tile_ir.rewrite import walk
from tile_ir.testing.specs import toy_spec
from tile_ir.text import parse_function
from tile_ir.verify import check
from tile_passes.base import PassContext
from tile_passes.legalize.init_gemm import init_gemm
from tile_passes.legalize.skip_rescale import skip_rescale
from tile_passes.plan.model import Plan

TEXT = """tile.ir 1.0 tile
func @f(A: global f16[K, 16], B: global f16[16, 16], C: global f32[16, 16]) dims (K) {
  kernel @f threads = (32) {
    tiles (bx) in (1) {
      alloc A_s: shared f16[16, 16]
      alloc B_s: shared f16[16, 16]
      alloc C_l: fragment f32[16, 16]
      alloc a: fragment f32[16]
      copy B[:, :] -> B_s[:, :]
      fill C_l[:, :], 0.0
      for k in (0, ceildiv(K, 16), 1) pipelined {
        copy A[k * 16 : +16, :] -> A_s[:, :] clip
        reduce max A_s[:, :] -> a[:] dim = 1
        parallel (i, j) in (16, 16) { store C_l[i, j] = C_l[i, j] * a[i] }
        gemm A_s[:, :], B_s[:, :] -> C_l[:, :]
      }
      copy C_l[:, :] -> C[:, :]
    }
  }
}
"""
CX = PassContext(target=toy_spec("sync"))


def changed(text: str) -> tuple[Any, Any]:
    before = parse_function(text)
    after = init_gemm(skip_rescale(before, CX, Plan()), CX, Plan())
    check(after)
    return before, after


@pytest.mark.parametrize("k", [0, 16, 40])
@pytest.mark.parametrize("value", ["C_l[i, j] * a[i]", "exp2(a[i]) * C_l[i, j]"])
def test_the_first_product_overwrites(k: int, value: str) -> None:
    before, after = changed(TEXT.replace("C_l[i, j] * a[i]", value))
    (product,) = (s for s in walk(after.body) if isinstance(s, Gemm))
    assert str(product.init) == "k == 0"
    branches = [str(s.cond) for s in walk(after.body) if isinstance(s, If)]
    assert branches == ["0 >= ceildiv(K, 16)", "k != 0"]  # a loop without trips leaves zeros
    rng = np.random.default_rng(k)
    args = {
        "A": rng.integers(-2, 3, (k, 16)).astype(np.float16),
        "B": rng.integers(-2, 3, (16, 16)).astype(np.float16),
        "C": np.zeros((16, 16), np.float32),
    }
    np.testing.assert_array_equal(run(after, args)["C"], run(before, args)["C"])


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("C_l[i, j] * a[i]", "C_l[i, j] + a[i]"),
        ("C_l[i, j] * a[i]", "C_l[i, j] * C_l[j, i]"),
        ("C_l[i, j] * a[i]", "C_l[j, i] * a[i]"),
        ("fill C_l[:, :], 0.0", "fill C_l[:, :], 1.0"),
        ("fill C_l[:, :], 0.0", "fill C_l[:, 0 : +8], 0.0"),
        ("dims (K) {", "dims (K) numerics strict {"),
    ],
)
def test_what_is_no_scaling_of_zeros_stays(old: str, new: str) -> None:
    assert old in TEXT
    before, after = changed(TEXT.replace(old, new, 1))
    assert after is before
    assert any(isinstance(s, Fill) for s in walk(after.body))
