"""The C text of small kernels, word for word: it is meant to be read."""

import pytest

from tile_cpu import spec
from tile_cpu.driver import compile_function
from tile_ir.testing.corpus import corpus
from tile_ir.text import parse_function

ZNVER4 = spec.load("znver4")


def own_text(source: str) -> str:
    """The text less the contract with the runtime, the prelude and the micro-kernels."""
    return source[source.index("\nstruct ", source.index("struct tile_call *call")) + 1 :]


def emitted(text: str) -> str:
    return own_text(compile_function(parse_function(text, file="kernel.py"), ZNVER4).source)


@pytest.mark.parametrize("name", ["vector_add", "softmax", "histogram", "two_kernels"])
def test_a_sample(name, golden):
    golden(own_text(compile_function(corpus()[name].function, ZNVER4).source), "c")


def test_a_product_in_strips(golden):
    golden(own_text(compile_function(corpus()["gemm_nn_f32"].function, ZNVER4).source), "c")


NAMES = """tile.ir 1.0 tile
func @double(int: global f32[4], job: global f32[4]) results (job) {
  kernel @double {
    tiles (worker) in (1) {
      parallel (for_) in (4) { store job[for_] = int[for_] * 2.0 }
    }
  }
}
"""


def test_names_that_c_reserves_are_changed_and_no_others(golden):
    golden(emitted(NAMES), "c")


MESSAGES = """tile.ir 1.0 tile
func @speak(x: global i32[8], n: i32) {
  assert n > 0, "n must be positive"
  kernel @speak {
    tiles (b) in (8) {
      assert x[b] >= 0, "a negative number"
      print "x and half", [x[b], f32(x[b]) * 0.5]
    }
  }
}
"""


def test_messages_and_assertions(golden):
    golden(emitted(MESSAGES), "c")


WORKSPACE = """tile.ir 1.0 tile
func @twice(X: global f16[n], Y: global f16[n]) dims (n) results (Y) {
  let half = ceildiv(n, 2)
  alloc T: global f32[half, 2]
  alloc F: global bool[n]
  kernel @first {
    tiles (b) in (half) {
      parallel (j) in (2) { store T[b, j] = f32(X[b * 2 + j]) clip }
      parallel (j_1) in (2) { store F[b * 2 + j_1] = true clip }
    }
  }
  kernel @second {
    tiles (c) in (n) {
      store Y[c] = f16(select(F[c], T[c // 2, c % 2] * 2.0, 0.0))
    }
  }
}
"""


def test_kernels_share_a_workspace(golden):
    golden(emitted(WORKSPACE), "c")


def test_equal_functions_give_equal_text():
    first = compile_function(parse_function(WORKSPACE), ZNVER4)
    assert first.source == compile_function(parse_function(WORKSPACE), ZNVER4).source


def test_only_what_is_used_is_pasted():
    source = compile_function(parse_function(NAMES), ZNVER4).source
    assert "tile_exp" not in source
    assert "#include" not in source
