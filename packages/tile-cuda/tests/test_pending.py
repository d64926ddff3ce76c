"""The planned target loads, says that it is planned, and every factory answers E0990."""

import pytest

import tile_cuda
from tile_ir.diag import TileError
from tile_ir.plugin import load, resolve


def test_the_entry_point_leads_to_the_manifest():
    assert load("tile.targets", "cuda") is tile_cuda.MANIFEST
    assert tile_cuda.MANIFEST.status == "planned"


@pytest.mark.parametrize("factory", ["specs", "pipeline", "emit", "toolchain", "runtime"])
def test_every_factory_says_what_to_do(factory):
    not_built = resolve(tile_cuda.MANIFEST.factories()[factory])
    with pytest.raises(TileError, match="target 'cuda' is not built yet") as caught:
        not_built()
    assert caught.value.code == "E0990"
    assert "pip install tile-cpu" in caught.value.help
