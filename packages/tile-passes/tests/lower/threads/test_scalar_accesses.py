"""A target that states accesses of one byte gets one element an access, whatever its width."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from tile_ir.expr import walk as walk_expr
from tile_ir.interp import run
from tile_ir.ops import Kernel
from tile_ir.rewrite import stmt_exprs, walk
from tile_ir.target import Table
from tile_ir.testing.compare import assert_all_close
from tile_ir.testing.random import random_inputs, random_program
from tile_ir.testing.specs import toy_spec
from tile_ir.text import parse_function
from tile_passes.base import PassContext, State
from tile_passes.default import threads_pipeline
from tile_passes.manager import run_pipeline

if TYPE_CHECKING:
    from tile_ir.core import Function

SCALAR = replace(
    toy_spec("plain"),
    access_bytes=(1,),
    vector_lanes=Table({}),
    warp_width=1,
    matrix=Table({}),
    copy=Table({}),
    features=frozenset(),
)
"""The least that a machine with threads can be: groups, memory that they share, one barrier."""
SEEDS = (3, 172, 21, 28)
"""The second one copies registers of 16 bits to registers."""


WIDENED = """
func @f(A: global f16[64, 64], B: global f32[64, 64]) results (B) {
  kernel @f {
    tiles (b) in (1) {
      alloc x: fragment f32[64, 64]
      copy A[:, :] -> x[:, :]
      parallel (i, j) in (64, 64) { store x[i, j] = x[i, j] * 2.0 }
      copy x[:, :] -> B[:, :]
    }
  }
}
"""


def lowered(fn: Function) -> Function:
    outcome = run_pipeline(threads_pipeline(), State(function=fn), PassContext(target=SCALAR))
    return outcome.state.function


def lanes_of(fn: Function) -> set[int]:
    """How many elements the values have that kernels compute."""
    kernels = [s for s in walk(fn.body) if isinstance(s, Kernel)]
    return {
        e.dtype.lanes
        for kernel in kernels
        for s in walk(kernel.body)
        for root in stmt_exprs(s)
        for e in walk_expr(root)
    }


@pytest.mark.parametrize("seed", SEEDS)
def test_every_value_is_one_element(seed: int) -> None:
    program = random_program(seed)
    fn = lowered(program.function)
    assert lanes_of(fn) == {1}
    args = random_inputs(program.function, seed)
    want = run(program.function, args)
    assert_all_close(run(fn, args, target=SCALAR), want, program.tolerance)


def test_elements_that_are_wider_in_registers_than_in_memory() -> None:
    before = parse_function(WIDENED)
    fn = lowered(before)
    assert lanes_of(fn) == {1}
    args = random_inputs(before, 0)
    assert_all_close(run(fn, args, target=SCALAR), run(before, args))
