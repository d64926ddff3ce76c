"""Vector accesses that may leave a tensor do so lane by lane, or are refused."""

import numpy as np
import pytest

from tile_ir.diag import TileError
from tile_ir.interp import run
from tile_ir.text import parse_function, print_function
from tile_ir.verify import verify
from tile_passes.cli import optimize

SHIFT = """tile.ir 1.0 tile
func @f(A: global f32[N], B: global f32[N]) dims (N) {
  kernel @f {
    tiles (bx) in (@TILES) {
      @BODY
    }
  }
}
"""
STORE = "store B[ramp(bx * 4, 1, 4)] = A[ramp(bx * 4 + 1, 1, 4)] + broadcast(1.0, 4) clip"


def legal(tiles, body, extent="N"):
    text = SHIFT.replace("@TILES", tiles).replace("@BODY", body)
    if extent != "N":
        text = text.replace("[N]", f"[{extent}]").replace(" dims (N)", "")
    fn = parse_function(text)
    made = parse_function(optimize(text, "bounds"))
    assert list(verify(made)) == []
    return fn, made


@pytest.mark.parametrize("size", [1, 4, 6, 9])
def test_lanes_outside_read_zero_and_are_not_written(size):
    before, after = legal("ceildiv(N, 4)", STORE)
    assert "clip" in print_function(after)
    a = np.arange(1, size + 1, dtype=np.float32)
    want = np.append(a[1:], 0) + 1
    for fn in (before, after):
        got = run(fn, {"A": a, "B": np.zeros(size, np.float32)})
        np.testing.assert_array_equal(got["B"], want)


def test_a_vector_that_is_proved_inside_stays_one():
    body = "store B[ramp(bx * 4, 1, 4)] = A[ramp(bx * 4, 1, 4)] clip"
    _, after = legal("8", body, extent="32")
    assert "store B[ramp(bx * 4, 1, 4)] = A[ramp(bx * 4, 1, 4)]\n" in print_function(after)


def test_a_named_vector_that_may_leave_is_refused():
    body = "let v: f32x4 = A[ramp(bx * 4, 1, 4)]\n store B[ramp(bx * 4, 1, 4)] = v clip"
    with pytest.raises(TileError, match="may leave the tensor") as caught:
        legal("ceildiv(N, 4)", body)
    assert caught.value.code == "E0612"
    assert caught.value.help
