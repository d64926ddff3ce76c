"""A thread's program computes what the tile program computes, without a race, on both descriptions.

The oracle runs all threads of a block side by side and refuses a read of shared memory that another
thread wrote since the last barrier, so these tests are also those of the barriers.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tile_ir.interp import run
from tile_ir.testing.corpus.matmul import gemm_text
from tile_ir.testing.corpus.sample import corpus
from tile_ir.testing.random.inputs import random_inputs
from tile_ir.testing.random.programs import random_program
from tile_ir.testing.specs import toy_spec
from tile_ir.text import parse_function, print_function

PLANNED = (
    "bounds, mask-init, init-gemm, reciprocal, simplify, dead-buffers,"
    " plan-roles, plan-pipeline, plan-layout, apply-layouts"
)


_MANY_STEPS = 20_000
"""Multiplications beyond which plain loops, one numpy call each, would take seconds."""


@pytest.mark.parametrize("name", list(corpus()))
def test_corpus(threads: Any, name: str) -> None:
    sample = corpus()[name]
    by_atoms = name.startswith("gemm") and name.endswith("16")
    for dims in sample.sizes:
        if not by_atoms and prod(dims.values()) > _MANY_STEPS:
            continue
        threads.compare(sample.function, sample.inputs(dims), rtol=sample.rtol)


@pytest.mark.parametrize(
    "name", ["gemm_tt_f16", "gemm_odd_tiles", "attention_causal", "softmax", "column_sums"]
)
def test_corpus_where_the_matrix_engine_is_asynchronous(threads: Any, name: str) -> None:
    sample = corpus()[name]
    for dims in sample.sizes[-1:]:
        threads.compare(sample.function, sample.inputs(dims), arch="async", rtol=sample.rtol)


@pytest.mark.parametrize(
    "name",
    [
        *("gemm_nn_f16", "gemm_nt_f16", "gemm_tn_f16", "gemm_bias_relu", "gemm_gated"),
        *("attention", "attention_causal", "softmax", "layer_norm", "rms_norm", "transpose"),
    ],
)
def test_planned_layouts_are_honoured(threads: Any, name: str) -> None:
    sample = corpus()[name]
    for dims in sample.sizes[-1:]:
        threads.compare(sample.function, sample.inputs(dims), passes=PLANNED, rtol=sample.rtol)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(seed=st.integers(0, 100_000))
def test_random_programs(threads: Any, seed: int) -> None:
    program = random_program(seed)
    fn = program.function
    low = threads.lowered(fn, passes="bounds, init-gemm, simplify, dead-buffers")
    args = random_inputs(fn, seed)
    got, want = run(low, args, target=toy_spec("sync")), run(fn, args)
    assert set(got) == set(want)
    for name, expected in want.items():
        wide = np.asarray(expected, np.float64)
        found = np.asarray(got[name], np.float64)
        close = np.abs(found - wide) <= program.tolerance.get(name, 0.0)
        assert np.all(close | (found == wide) | (np.isnan(found) & np.isnan(wide))), name


@pytest.mark.parametrize("n", [80, 144])
@pytest.mark.parametrize("warps", [1, 2, 4])
def test_widths_that_are_no_power_of_two(threads: Any, n: int, warps: int) -> None:
    text = gemm_text(tile=(32, n, 16))
    fn = parse_function(text.replace("@matmul {", f"@matmul threads = ({32 * warps}) {{", 1))
    low = threads.compare(fn, random_inputs(fn, 0, {"M": 33, "N": n + 1, "K": 40}))
    assert "atom m16n8k16_f16" in print_function(low)
