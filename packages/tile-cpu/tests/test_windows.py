"""Gathers of elements that lie near each other become one load and one shuffle, and mean the
same."""

import pytest

from tile_cpu import spec
from tile_cpu.driver import build, compile_function
from tile_cpu.windows import multiples, window_of
from tile_ir import build as b
from tile_ir.expr import Var
from tile_ir.interp import run
from tile_ir.testing.compare import assert_close
from tile_ir.testing.host_memory import call_on_host
from tile_ir.testing.random import random_inputs
from tile_ir.text import parse_function
from tile_ir.types import i32

ZNVER4 = spec.load("znver4")
J = Var("j", i32)


IN_ORDER = b.add(b.broadcast(J, 8), b.ramp(b.const(0, i32), 1, 8))
"""Eight values of j that follow each other."""


def eight(value):
    return b.broadcast(b.const(value, i32), 8)


@pytest.mark.parametrize(
    ("index", "offsets"),
    [
        (IN_ORDER, (0, 1, 2, 3, 4, 5, 6, 7)),
        (b.shr(IN_ORDER, eight(2)), (0, 0, 0, 0, 1, 1, 1, 1)),
        (b.shr(IN_ORDER, eight(5)), (0,) * 8),
        (b.bit_and(IN_ORDER, eight(3)), (0, 1, 2, 3) * 2),
        (b.add(b.mul(b.shr(IN_ORDER, eight(2)), eight(2)), eight(1)), (1, 1, 1, 1, 3, 3, 3, 3)),
    ],
)
def test_the_window_of_eight_iterations(index, offsets):
    found = window_of(index, {J: 8})
    assert found is not None
    assert found.offsets == offsets


@pytest.mark.parametrize(
    "index",
    [
        b.shr(IN_ORDER, eight(4)),  # j = 12 crosses a multiple of 16 at its fifth lane
        b.bit_and(IN_ORDER, eight(6)),
        b.mul(IN_ORDER, eight(-1)),
        b.mul(IN_ORDER, IN_ORDER),
    ],
)
def test_lanes_that_do_not_differ_by_constants_have_no_window(index):
    assert window_of(index, {J: 4}) is None


def test_a_variable_is_a_multiple_where_every_loop_steps_so():
    fn = parse_function("""tile.ir 1.0 tile
func @f(A: global f32[64]) {
  kernel @f { tiles (b) in (1) {
    for i in (0, 64, 16) serial { store A[i] = 1.0 }
    for j in (0, 64, 16) serial { store A[j] = 2.0 }
    for j in (8, 64, 4) serial { store A[j] = 3.0 }
    for k in (b, 64, 8) serial { store A[k] = 4.0 }
  } } }""")
    found = {v.name: n for v, n in multiples(fn).items()}
    assert found == {"i": 16, "j": 4}


SPREAD = """tile.ir 1.0 tile
func @f(A: global KIND[8, WIDTH], B: global f32[8, 64]) {
  kernel @f { tiles (b) in (1) {
    alloc A_s: shared KIND[8, WIDTH]
    copy A[:, :] -> A_s[:, :]
    parallel (i, j) in (8, 64) { store B[i, j] = f32(A_s[i, INDEX]) }
  } } }"""


@pytest.mark.parametrize(
    ("kind", "width", "index", "near"),
    [
        ("f16", 32, "j // 4 * 2 + 1", True),
        ("i8", 16, "j // 4", True),
        ("bf16", 2, "j // 32", True),
        ("u8", 64, "j // 16 * 16 + j % 8 * 2", True),
        ("f32", 63, "j // 4", False),  # a load of four or more could leave the row
        ("f32", 64, "j * 7 % 64", False),
    ],
)
def test_spread_data_is_loaded_once_and_stays_what_it_is(kind, width, index, near):
    text = SPREAD.replace("KIND", kind).replace("WIDTH", str(width)).replace("INDEX", index)
    fn = parse_function(text)
    compiled = compile_function(fn, ZNVER4)
    given = random_inputs(fn, 0)
    got = call_on_host(build(compiled, ZNVER4), fn, given)["B"]
    assert_close(got, run(fn, given)["B"], rtol=0)
    assert ("tile_gather" not in compiled.source) is near


@pytest.mark.parametrize("arch", ["x86-64-v2", "x86-64-v3", "x86-64-v4"])
def test_shorter_vectors_have_their_own_windows(arch):
    target = spec.load(arch)
    text = (
        SPREAD.replace("KIND", "u8").replace("WIDTH", "32").replace("INDEX", "j // 8 * 4 + j % 4")
    )
    fn = parse_function(text)
    compiled = compile_function(fn, target)
    given = random_inputs(fn, 0)
    got = call_on_host(build(compiled, target), fn, given)["B"]
    assert_close(got, run(fn, given)["B"], rtol=0)
    assert "tile_gather" not in compiled.source
