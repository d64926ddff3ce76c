"""Hypothesis strategies for IR: types, arrays, tile programs. A failing program shrinks to fewer
and simpler steps.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from hypothesis import strategies as st

from tile_ir.testing.random import Program, random_program
from tile_ir.testing.random.inputs import random_array
from tile_ir.types import ALL_DTYPES, DType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tile_ir.core import Function

__all__ = ["arrays", "dtypes", "float_dtypes", "functions", "int_dtypes", "programs"]


def dtypes() -> st.SearchStrategy[DType]:
    """Scalar types."""
    return st.sampled_from(ALL_DTYPES)


def float_dtypes() -> st.SearchStrategy[DType]:
    """Scalar float types."""
    return st.sampled_from([t for t in ALL_DTYPES if t.is_float])


def int_dtypes() -> st.SearchStrategy[DType]:
    """Scalar integer types."""
    return st.sampled_from([t for t in ALL_DTYPES if t.is_int])


def arrays(dt: DType, shape: Sequence[int]) -> st.SearchStrategy[np.ndarray[Any, np.dtype[Any]]]:
    """Arrays of small values in the container of `dt`."""
    return st.integers(0, 2**32 - 1).map(
        lambda seed: random_array(np.random.default_rng(seed), tuple(shape), dt)
    )


def programs(max_size: int = 8) -> st.SearchStrategy[Program]:
    """Random tile programs with the tolerances of their results (see `tile_ir.testing.random`)."""
    return st.builds(random_program, st.randoms(use_true_random=False), st.integers(1, max_size))


def functions(max_size: int = 8) -> st.SearchStrategy[Function]:
    """The functions of `programs`."""
    return programs(max_size).map(lambda program: program.function)
