"""What the tests on a GPU share: a device, a cache of their own, poisoned outputs, the kernels."""

from pathlib import Path

import pytest

from tile_ir.testing.by_path import module_at
from tile_ir.testing.requires import requires

POISON = 0xFF
"""The byte of undefined memory: NaN in every float type, -1 in integers."""


@pytest.fixture(autouse=True)
def anew(cache_of_the_session):
    """Every test compiles into the session's cache."""


@pytest.fixture(scope="session")
def torch():
    """PyTorch with a GPU."""
    found = pytest.importorskip("torch")
    requires("a GPU", found.cuda.is_available())
    pytest.importorskip("cupy")
    return found


@pytest.fixture(autouse=True)
def poisoned_outputs(torch, monkeypatch):
    """Make new outputs full of garbage, so that an element that is never written shows."""
    from tile_frontend.adapters.torch_tensors import TorchAdapter

    maker = TorchAdapter.maker

    def poisoned(self, shape, dtype, device):
        make = maker(self, shape, dtype, device)

        def made():
            tensor = make()
            if tensor.numel():
                tensor.view(torch.uint8).fill_(POISON)
            return tensor

        return made

    monkeypatch.setattr(TorchAdapter, "maker", poisoned)


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
