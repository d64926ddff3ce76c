"""The corpus: every sample is valid, and the oracle gives what plain numpy gives."""

import numpy as np
import pytest

from tile_ir.interp import run
from tile_ir.testing.compare import assert_close, default_tolerance
from tile_ir.testing.corpus import corpus
from tile_ir.text import parse_function, print_function
from tile_ir.types import dtype
from tile_ir.verify import verify

SAMPLES = corpus()


@pytest.mark.parametrize("name", SAMPLES)
def test_samples_are_valid_and_round_trip(name):
    fn = SAMPLES[name].function
    assert verify(fn) == ()
    assert parse_function(print_function(fn)) == fn


@pytest.mark.parametrize("name", SAMPLES)
def test_the_oracle_agrees_with_numpy(name):
    sample = SAMPLES[name]
    for seed, dims in enumerate(sample.sizes):
        args = sample.inputs(dims, seed)
        got, want = run(sample.function, args), sample.expected(args)
        assert got.keys() == want.keys()
        for key, array in got.items():
            expected = want[key].astype(array.dtype)
            rtol = sample.rtol or 2 * default_tolerance(dtype(array.dtype))
            assert_close(array, expected, rtol=rtol, what=f"{name} {dict(dims)} {key}")


def test_samples_do_not_depend_on_the_order_of_tiles():
    for sample in SAMPLES.values():
        args = sample.inputs(sample.sizes[-1])
        want = run(sample.function, args)
        for options in ({"order": "reverse"}, {"seed": 1}):
            for key, array in run(sample.function, args, **options).items():
                assert_close(array, want[key], what=f"{sample.name} {options} {key}")


def test_inputs_are_repeatable():
    sample = SAMPLES["gemm_nn_f16"]
    a, b = (sample.inputs(sample.sizes[0], seed=3) for _ in range(2))
    np.testing.assert_array_equal(a["A"], b["A"])
    assert not np.array_equal(a["A"], sample.inputs(sample.sizes[0], seed=4)["A"])
