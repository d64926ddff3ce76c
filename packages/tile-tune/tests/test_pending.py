"""The planned tuner loads, says that it is planned, and its factory answers E0990."""

import pytest

import tile_tune
from tile_ir.diag import TileError
from tile_ir.plugin import load, resolve


def test_the_entry_point_leads_to_the_manifest():
    assert load("tile.tuners", "search") is tile_tune.MANIFEST
    assert tile_tune.MANIFEST.status == "planned"


def test_the_factory_says_what_to_do():
    with pytest.raises(TileError, match="tuner 'search' is not built yet") as caught:
        resolve(tile_tune.MANIFEST.factory)()
    assert caught.value.code == "E0990"
    assert "plain Python arguments" in caught.value.help
