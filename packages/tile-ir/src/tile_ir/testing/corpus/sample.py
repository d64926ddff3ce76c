"""What a sample is, and the table of all of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from tile_ir.testing.random.inputs import random_inputs
from tile_ir.text import parse_function

if TYPE_CHECKING:
    from tile_ir.core import Function

Array = np.ndarray[Any, np.dtype[Any]]
Reference = Callable[..., Mapping[str, Array]]
"""Takes the arguments by name (floats widened to f64, integers to i64) and gives results in any
wide dtype.
"""

_FAMILIES = ("matmul", "attention", "rows", "elementwise", "indexing", "updates")


@dataclass(frozen=True, slots=True)
class Sample:
    """A program, values for its symbolic dimensions to try, and what it computes.

    `rtol` is the error allowed of results, relative to their root mean square; None is the default
    of their dtype. `adapt` may change random arguments into valid ones (indices in range, say).
    """

    name: str
    text: str
    sizes: tuple[Mapping[str, int], ...]
    reference: Reference
    rtol: float | None = None
    adapt: Callable[[dict[str, Any]], dict[str, Any]] | None = None

    @property
    def function(self) -> Function:
        """The program; the same object each time."""
        return _parsed(self.text)

    def inputs(self, dims: Mapping[str, int], seed: int = 0) -> dict[str, Any]:
        """Random arguments for these dimensions."""
        args = random_inputs(self.function, seed, dims)
        return args if self.adapt is None else self.adapt(args)

    def expected(self, args: Mapping[str, Any]) -> Mapping[str, Array]:
        """The value by numpy, each result in a wide dtype."""
        with np.errstate(all="ignore"):
            return self.reference(**{name: _widened(value) for name, value in args.items()})


def _widened(value: Any) -> Any:
    if not isinstance(value, np.ndarray) or value.dtype == np.bool_:
        return value
    whole = value.dtype.kind in "iu" or value.dtype.name in ("int4", "uint4")
    return value.astype(np.int64 if whole else np.float64)


@cache
def _parsed(text: str) -> Function:
    return parse_function(text)


@cache
def corpus() -> Mapping[str, Sample]:
    """Every sample by name."""
    found: dict[str, Sample] = {}
    for family in _FAMILIES:
        for sample in import_module(f"tile_ir.testing.corpus.{family}").SAMPLES:
            if sample.name in found:
                raise ValueError(f"two samples are called {sample.name}")
            found[sample.name] = sample
    return found
