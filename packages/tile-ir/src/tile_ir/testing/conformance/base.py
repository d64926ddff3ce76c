"""What every conformance class says of itself, for pytest and for the report alike."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

import pytest

from tile_ir.testing.compare import assert_close
from tile_ir.testing.corpus import Sample, corpus

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tile_ir.diag import TileError

__all__ = ["Conformance", "Refused", "compare_sample", "refuse"]


Skipped: Any = pytest.skip.Exception  # an attribute that type checkers do not see


class Refused(Skipped):  # type: ignore[misc]  # see there
    """The plugin says by a coded error that it does not do this: a skip, and no failure."""


def refuse(error: TileError) -> NoReturn:
    """End the running check as refused by name."""
    raise Refused(f"{error.code}: {error.message}")


def compare_sample(sample: Sample, got: Mapping[str, Any], want: Mapping[str, Any]) -> None:
    """Fail unless every result of a run equals the oracle's, within the sample's tolerance."""
    assert got.keys() == want.keys()
    for name, array in got.items():
        assert_close(array, want[name], rtol=sample.rtol, what=f"{sample.name}: {name}")


class Conformance:
    """Checks are the methods whose names begin with `test_`, as pytest finds them.

    `levels` are the levels in order, and `checks` names the level of each method. `samples` limits
    the corpus by name; a check that takes a `sample` is made once for each.

    Raises ValueError for a subclass with a sample that the corpus does not have.
    """

    levels: ClassVar[tuple[str, ...]] = ()
    checks: ClassVar[Mapping[str, str]] = MappingProxyType({})
    samples: ClassVar[tuple[str, ...]] = tuple(corpus())

    def __init_subclass__(cls) -> None:
        unknown = sorted(set(cls.samples) - set(corpus()))
        if unknown or not cls.samples:
            raise ValueError(f"the corpus has no samples {unknown}: {', '.join(corpus())}")

    @property
    def subject(self) -> str:
        """What is tested, as the report names it."""
        raise NotImplementedError
