"""Random programs: valid, repeatable, finite, varied, free of order, and fast to make and run."""

import collections
import dataclasses
import time

import numpy as np
import pytest
from hypothesis import given, settings

from tile_ir.interp import run
from tile_ir.ops import Parallel, Store
from tile_ir.rewrite import map_stmts, walk, with_body
from tile_ir.testing import strategies
from tile_ir.testing.compare import assert_all_close
from tile_ir.testing.random import random_function, random_inputs, random_program
from tile_ir.text import parse_function, print_function
from tile_ir.types import ALL_DTYPES
from tile_ir.verify import verify

SEEDS = 300


@pytest.fixture(scope="module")
def programs():
    return [random_program(seed) for seed in range(SEEDS)]


def test_programs_verify_and_round_trip(programs):
    for program in programs:
        assert verify(program.function) == ()
        assert parse_function(print_function(program.function)) == program.function


def test_programs_run_finite_whatever_the_order_of_tiles(programs):
    for seed, program in enumerate(programs):
        args = random_inputs(program.function, seed)
        got = run(program.function, args)
        assert set(got) == set(program.tolerance)
        for name, array in got.items():
            if array.dtype.kind not in "iub" and array.dtype.name not in ("int4", "uint4"):
                assert np.isfinite(array.astype(np.float64)).all(), (seed, name)
        shuffled = run(program.function, args, order="reverse", seed=seed)
        for name, array in got.items():
            np.testing.assert_array_equal(array, shuffled[name])


def _nudged(fn):
    """The same program, each f32 it stores off by a rounding, as another implementation might."""
    from tile_ir import build
    from tile_ir.types import f32

    factor = build.const(1 + f32.eps, f32)

    def nudge(s):
        if isinstance(s, Store) and s.value.dtype is f32 and len(s.indices):
            return dataclasses.replace(s, value=build.mul(s.value, factor))
        return None

    return with_body(fn, map_stmts(fn.body, nudge))


def test_tolerances_cover_another_rounding(programs):
    loose = 0
    for seed, program in enumerate(programs):
        args = random_inputs(program.function, seed)
        want, other = run(program.function, args), run(_nudged(program.function), args)
        atol = {k: v for k, v in program.tolerance.items() if v > 0}
        loose += len(atol)
        got = {k: other[k] for k in atol}
        assert_all_close(got, {k: want[k] for k in atol}, atol)
    assert loose > SEEDS // 4


def test_the_same_seed_gives_the_same_program():
    assert random_function(5) == random_function(5)
    assert random_function(5) != random_function(6)
    fn = random_function(5)
    first, second = (random_inputs(fn, 1) for _ in range(2))
    for name, value in first.items():
        np.testing.assert_array_equal(value, second[name])


def test_programs_are_varied(programs):
    ops, types = collections.Counter(), collections.Counter()
    for program in programs:
        for s in walk(program.function.body):
            ops[type(s).__name__] += 1
        types.update(p.buffer.dtype.name for p in program.function.params if p.buffer)
    wanted = {
        "Alloc", "Atomic", "Copy", "Fill", "For", "Gemm", "If", "Kernel", "Let", "Parallel",
        "Reduce", "Scan", "Store", "Tiles", "Transpose", "View",
    }  # fmt: skip
    assert wanted <= set(ops)
    assert min(ops[name] for name in wanted) >= 10
    assert len(types) >= 12
    assert any(p.function.dims for p in programs)
    assert any(len(p.function.body) == 2 for p in programs)


def test_size_bounds_the_number_of_steps():
    small, large = (
        sum(len(list(walk(random_function(seed, size).body))) for seed in range(40))
        for size in (1, 12)
    )
    assert small * 2 < large


def test_making_and_running_a_program_is_fast():
    start = time.process_time()
    for seed in range(1000, 1100):
        fn = random_function(seed)
        run(fn, random_inputs(fn, seed))
    # 8 ms each on a quiet core; the bound leaves room for a busy one.
    assert (time.process_time() - start) / 100 < 0.03


@settings(max_examples=30)
@given(strategies.functions(max_size=4))
def test_hypothesis_makes_the_same_kind_of_programs(fn):
    assert verify(fn) == ()
    got = run(fn, random_inputs(fn, 0))
    assert set(fn.results) <= set(got)
    assert any(isinstance(s, Parallel) for s in walk(fn.body)) or got


@settings(max_examples=20)
@given(strategies.dtypes(), strategies.float_dtypes(), strategies.int_dtypes())
def test_strategies_of_types(any_type, float_type, int_type):
    assert any_type in ALL_DTYPES
    assert float_type.is_float
    assert int_type.is_int


def test_inputs_follow_given_dimensions():
    text = """
    func @f(A: global i8[2 * n, ceildiv(m, 4)], s: f32, B: global f32[n]) dims (n, m) results (B) {
      fill B[:], s
    }"""
    args = random_inputs(parse_function(text), 0, {"n": 3, "m": 9})
    assert args["A"].shape == (6, 3)
    assert args["m"] == 9  # no argument determines it
    assert "n" not in args
    assert run(parse_function(text), args)["B"].shape == (3,)
