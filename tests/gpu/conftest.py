"""What the tests on a GPU share: a device, a cache of their own, poisoned outputs, the kernels."""

from pathlib import Path

import pytest

from tile_ir.testing.by_path import module_at


@pytest.fixture(autouse=True)
def anew(cache_of_the_session):
    """Every test compiles into the session's cache."""


@pytest.fixture(autouse=True)
def poisoned_outputs(poisoned_tensors):
    """An element that is never written shows."""


@pytest.fixture(scope="session")
def kernels():
    """The kernels of `kernels.py`, which lies beside this file."""
    return module_at(Path(__file__).with_name("kernels.py"))


@pytest.fixture(scope="session")
def example():
    """The kernels of the quickstart."""
    return module_at(Path(__file__).parents[2] / "examples" / "quickstart.py")


@pytest.fixture
def near():
    """Compare tensors with float64 on the same device: |a - e| <= tolerance * max |e|."""

    def check(actual, expected, tolerance):
        assert actual.shape == expected.shape
        if expected.numel() == 0:
            return
        difference = (actual.double() - expected.double()).abs().max().item()
        assert difference <= tolerance * max(expected.double().abs().max().item(), 1.0)

    return check
