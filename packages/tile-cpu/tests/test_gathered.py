"""Products whose operand is gathered from memory: several of the gathered blocks are multiplied at
once."""

import pytest

from tile_cpu import spec
from tile_cpu.driver import build, compile_function
from tile_ir.interp import run
from tile_ir.ops import Atom
from tile_ir.rewrite import walk
from tile_ir.testing.compare import assert_close
from tile_ir.testing.host_memory import call_on_host
from tile_ir.testing.random import random_inputs
from tile_ir.text import parse_function

ZNVER4 = spec.load("znver4")
WINDOW = "select(i + k >= 2 and i + k < 20, X[i + k - 2, j], {kind}(0))"


def windows(trips=5, deep=16, kind="f32", value=WINDOW, a="16, {deep}", rows="i", transpose=""):
    """C = the sum over k of A_k @ B_k, where A_k is gathered from rows k - 2 to k + 14 of X."""
    a, value = a.format(deep=deep), value.format(kind=kind)
    return parse_function(f"""tile.ir 1.0 tile
func @f(X: global {kind}[20, 64], B: global {kind}[{trips * deep}, 24], C: global f32[16, 24]) {{
  kernel @f {{ tiles (t) in (1) {{
    alloc A_s: shared {kind}[{a}]
    alloc B_s: shared {kind}[{deep}, 24]
    alloc C_l: fragment f32[16, 24]
    for k in (0, {trips}, 1) serial {{
      parallel (i, j) in ({a}) {{ store A_s[{rows}, j] = {value} }}
      copy B[k * {deep} : +{deep}, 0 : +24] -> B_s[:, :]
      gemm A_s[:, :], B_s[:, :] -> C_l[:, :] init = k == 0{transpose}
    }}
    copy C_l[:, :] -> C[:, :]
  }} }} }}""")


def checked(fn, pins=None):
    compiled = compile_function(fn, ZNVER4, pins)
    given = random_inputs(fn, 0)
    assert_close(call_on_host(build(compiled, ZNVER4), fn, given)["C"], run(fn, given)["C"])
    return compiled


def trips_at_once(compiled):
    return next((d.value for d in compiled.plan if d.key == "f.k.merge"), 1)


@pytest.mark.parametrize(
    ("trips", "deep", "merged"), [(5, 16, 5), (7, 32, 7), (9, 64, 9), (16, 64, 8), (3, 60, 3)]
)
def test_gathered_blocks_are_multiplied_at_once(trips, deep, merged):
    compiled = checked(windows(trips, deep))
    assert trips_at_once(compiled) == merged
    (product,) = (s for s in walk(compiled.lowered.body) if isinstance(s, Atom))
    assert [str(r.extent) for r in product.a.ranges] == ["16", str(merged * deep)]


@pytest.mark.parametrize("pinned", [1, 2, 4])
def test_any_part_of_the_trips_agrees(pinned):
    assert trips_at_once(checked(windows(8, 16), {"f.k.merge": pinned})) == pinned


@pytest.mark.parametrize("kind", ["bf16", "f16"])
def test_narrow_blocks_agree(kind):
    assert trips_at_once(checked(windows(6, 16, kind))) == 6


def test_rows_that_would_meet_in_the_cache_are_set_apart():
    assert "outer_f32_ld528_tile(16, 24, 512," in checked(windows(8, 64)).source


def test_an_operand_with_the_sum_along_its_rows_grows_downwards():
    columns = "select(j + k >= 2 and j + k < 20, X[j + k - 2, i], {kind}(0))"
    fn = windows(6, 16, value=columns, a="{deep}, 16", transpose=", transpose_a")
    compiled = checked(fn)
    assert trips_at_once(compiled) == 6
    (product,) = (s for s in walk(compiled.lowered.body) if isinstance(s, Atom))
    assert [str(r.extent) for r in product.a.ranges] == ["96", "16"]


@pytest.mark.parametrize("value", ["X[i, j] + C_l[i, 0]", "X[i, j] + B_s[0, 0]"])
def test_blocks_that_depend_on_the_trips_before_stay_apart(value):
    text = f"select(k > 0, {value}, X[i, j])"
    assert trips_at_once(checked(windows(5, 16, value=text))) == 1


def test_blocks_whose_rows_are_not_in_order_stay_apart():
    assert trips_at_once(checked(windows(5, 16, rows="15 - i"))) == 1
