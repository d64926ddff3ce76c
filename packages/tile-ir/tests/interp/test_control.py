"""Branches, loops, boxes, tiles, assertions and printing."""

import numpy as np
import pytest

from tile_ir.diag import TileError
from tile_ir.interp import compiler, run
from tile_ir.interp.parallel import at_once
from tile_ir.opdef import OPS
from tile_ir.ops import Parallel
from tile_ir.rewrite import walk
from tile_ir.text import parse_function


def body(text, length=8, dt="i32"):
    return parse_function(
        f"func @f(A: global {dt}[{length}]) {{ kernel @k {{ tiles (b) in (1) {{ {text} }} }} }}"
    )


def execute(text, length=8, **options):
    return run(body(text, length), {"A": np.zeros(length, np.int32)}, **options)["A"].tolist()


def test_serial_loops_break_and_continue():
    text = """
      alloc n: var i32[]
      store n[] = 0
      for i in (0, 100, 1) serial {
        if i % 2 == 1 { continue }
        if i > 12 { break }
        store n[] = n[] + i
        store A[i // 2] = n[]
      }
      for i in (7, 6, -1) serial { store A[i] = -1 }"""
    assert execute(text) == [0, 2, 6, 12, 20, 30, 42, -1]


def test_while_rereads_its_condition():
    text = """
      alloc n: var i32[]
      store n[] = 0
      while n[] < 5 {
        store A[n[]] = n[] * n[]
        store n[] = n[] + 1
      }"""
    assert execute(text) == [0, 1, 4, 9, 16, 0, 0, 0]


def test_lanes_take_their_own_branch():
    text = """
      parallel (i) in (8) {
        if i < 3 { store A[i] = 10 } else {
          if i % 2 == 0 { store A[i] = 20 } else { let y = i * 100; store A[i] = y }
        }
      }"""
    assert execute(text) == [10, 10, 10, 300, 20, 500, 20, 700]


def test_a_branch_guards_the_accesses_inside_it():
    text = """
      alloc S: shared i32[4]
      fill S[:], 3
      parallel (i) in (8) { if i < 4 { store A[i] = S[i] } }"""
    assert execute(text) == [3, 3, 3, 3, 0, 0, 0, 0]


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        ("store A[i] = i", True),
        ("for k in (0, 3, 1) serial { store A[i] = A[i] + k }", True),
        ("for k in (0, i, 1) serial { store A[i] = A[i] + k }", False),
        ("let n = i + 1; for k in (0, n, 1) serial { store A[i] = A[i] + k }", False),
        ("store A[0] = A[0] + i", False),
        ("atomic add A[0], i", True),
        ("atomic add A[0], i result = old; store A[i] = old", False),
        ("alloc v: var i32[]; store v[] = i; store A[i] = v[]", False),
        ("for k in (0, 3, 1) serial { if k > i { break }; store A[i] = k }", False),
    ],
)
def test_bodies_are_run_at_once_only_where_that_means_the_same(text, whole):
    fn = body(f"parallel (i) in (8) {{ {text} }}")
    loop = next(s for s in walk(fn.body) if isinstance(s, Parallel))
    assert at_once(loop) is whole
    serial = body(f"for i in (0, 8, 1) serial {{ {text} }}")
    a = np.arange(8, dtype=np.int32)
    assert run(fn, {"A": a})["A"].tolist() == run(serial, {"A": a})["A"].tolist()


def test_a_box_inside_a_box():
    text = """
      parallel (i) in (2) {
        parallel (j) in (4) { store A[i * 4 + j] = i * 10 + j }
      }"""
    assert execute(text) == [0, 1, 2, 3, 10, 11, 12, 13]


def test_an_empty_box_does_nothing():
    assert execute("parallel (i, j) in (0, 4) { store A[99] = i }") == [0] * 8


@pytest.mark.parametrize(
    ("options", "want"),
    [
        ({}, [0, 1, 2, 10, 11, 12]),
        ({"order": "reverse"}, [12, 11, 10, 2, 1, 0]),
    ],
)
def test_tiles_run_with_the_first_variable_fastest(options, want):
    text = """
    func @f() {
      kernel @k { tiles (bx, by) in (3, 2) { print "", [by * 10 + bx] } }
    }"""
    lines = []
    run(parse_function(text), {}, lines=lines, **options)
    assert [int(line) for line in lines] == want


def test_a_seed_shuffles_tiles():
    text = 'func @f() { kernel @k { tiles (b) in (16) { print "", [b] } } }'
    orders = []
    for seed in (1, 1, 2):
        lines = []
        run(parse_function(text), {}, lines=lines, seed=seed)
        orders.append([int(line) for line in lines])
    assert orders[0] == orders[1] != orders[2]
    assert sorted(orders[0]) == list(range(16))


def test_prints_show_values_and_tiles(capsys):
    text = """
    func @f(A: global i32[2, 2]) {
      print "sum", [A[0, 0] + 1, 0.5]
      print "tile", [region A[:, 1 : +1]]
    }"""
    run(parse_function(text), {"A": np.array([[1, 2], [3, 4]], np.int32)})
    assert capsys.readouterr().out == "sum 2 0.5\ntile [[2]\n [4]]\n"


@pytest.mark.parametrize("inside", [True, False])
def test_assertions_name_their_place(inside):
    check = 'assert n < 8, "n is too large"'
    text = f"func @f(n: i32) {{\n  kernel @k {{ tiles (b) in (1) {{\n{check}\n}} }} }}"
    if not inside:
        text = f"func @f(n: i32) {{\n\n{check} }}"
    assert run(parse_function(text), {"n": 7}) == {}
    with pytest.raises(TileError, match="n is too large") as caught:
        run(parse_function(text), {"n": 8})
    assert (caught.value.code, caught.value.span.line) == ("E0506", 3)


def test_assertions_hold_in_active_lanes_only():
    text = 'parallel (i) in (8) { if i < 4 { assert i < 4, "lane" } }'
    assert run(body(text), {"A": np.zeros(8, np.int32)}) == {}
    with pytest.raises(TileError, match="lane"):
        execute('parallel (i) in (8) { assert i < 4, "lane" }')


def test_promises_are_checked():
    text = "func @f(n: i32) { assume n % 8 == 0 }"
    assert run(parse_function(text), {"n": 16}) == {}
    with pytest.raises(TileError, match="an assumption does not hold") as caught:
        run(parse_function(text), {"n": 17})
    assert caught.value.code == "E0506"


def test_every_op_has_a_meaning():
    ours = {d.cls for d in OPS.values() if d.cls.__module__.startswith("tile_ir.ops")}
    assert ours - set(compiler._RULES) == set()


def test_host_statements_and_several_kernels():
    text = """
    func @f(A: global f32[n], B: global f32[n], scale: f32) dims (n) results (B) {
      let twice = n * 2
      alloc W: global f32[twice]
      kernel @first { tiles (b) in (ceildiv(twice, 4)) {
        parallel (i) in (4) {
          let at = b * 4 + i
          if at < twice { store W[at] = A[at // 2] * scale }
        }
      } }
      if n > 2 {
        kernel @second { tiles (b) in (n) {
          parallel (i) in (1) { store B[b] = W[2 * b] + W[2 * b + 1] }
        } }
      } else { fill B[:], -1.0 }
    }"""
    fn = parse_function(text)
    a = np.arange(5, dtype=np.float32)
    assert run(fn, {"A": a, "scale": 1.5})["B"].tolist() == (a * 3).tolist()
    assert run(fn, {"A": a[:2], "scale": 1.5})["B"].tolist() == [-1, -1]
