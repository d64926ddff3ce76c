"""What the tests with torch share: a device, a cache of their own, the models."""

from pathlib import Path

import pytest

from tile_ir.testing.by_path import module_at
from tile_ir.testing.requires import requires


@pytest.fixture(autouse=True)
def anew(cache_of_the_session):
    """Every test compiles into the session's cache."""


@pytest.fixture(params=["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
def device(request):
    """Each kind of device that there are kernels for; the kernels are built for it."""
    if request.param != "cpu":
        import torch

        requires("a GPU", torch.get_device_module(request.param).is_available())
    return request.param


@pytest.fixture(scope="session")
def models():
    """The models of `kernels.py`, which lies beside this file."""
    return module_at(Path(__file__).with_name("kernels.py"))


@pytest.fixture(scope="session")
def functions_on(models):
    """Return `functions_on(device)`: our operators, which are registered once in a process."""
    made = {}

    def on(device):
        if device not in made:
            made[device] = models.ours(device)
        return made[device]

    return on
