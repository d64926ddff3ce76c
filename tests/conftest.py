"""What tests of several folders share: a cache of their own, outputs that are full of garbage."""

import pytest

POISON = 0xFF
"""The byte of undefined memory: NaN in every float type, -1 in integers."""


@pytest.fixture(scope="session")
def cache_of_the_session(tmp_path_factory):
    """Compile everything anew, and once."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TILE_CACHE_DIR", str(tmp_path_factory.mktemp("tile")))
        yield


@pytest.fixture
def poisoned_arrays(monkeypatch):
    """Make new numpy outputs full of garbage, so that an element that is never written shows."""
    import numpy as np

    from tile_frontend.adapters.numpy_arrays import NumpyAdapter

    maker = NumpyAdapter.maker

    def poisoned(self, shape, dtype, device):
        make = maker(self, shape, dtype, device)

        def made():
            array = make()
            if array.size:
                array.view(np.uint8).fill(POISON)
            return array

        return made

    monkeypatch.setattr(NumpyAdapter, "maker", poisoned)
