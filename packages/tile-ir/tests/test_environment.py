"""What settings of the environment mean, the same for every package."""

from pathlib import Path

import pytest

from tile_ir.diag import TileError
from tile_ir.environment import cache_folder, choice, flag, keep_source, text


@pytest.mark.parametrize(
    ("said", "on"),
    [
        *((word, False) for word in (None, "", "0", "No", "off", "FALSE")),
        *((word, True) for word in ("1", "yes", "2")),
    ],
)
def test_a_flag_is_off_for_every_word_that_says_so(monkeypatch, said, on):
    monkeypatch.delenv("TILE_KEEP_SOURCE", raising=False)
    if said is not None:
        monkeypatch.setenv("TILE_KEEP_SOURCE", said)
    assert flag("TILE_KEEP_SOURCE") is keep_source() is on


def test_an_empty_variable_is_an_unset_one(monkeypatch):
    monkeypatch.setenv("TILE_WORD", "")
    assert text("TILE_WORD") is None
    assert choice("TILE_WORD", ("a", "b"), "E3001") is None
    monkeypatch.setenv("TILE_WORD", "b")
    assert text("TILE_WORD") == choice("TILE_WORD", ("a", "b"), "E3001") == "b"


def test_another_word_than_the_choices_is_an_error_that_names_them(monkeypatch):
    monkeypatch.setenv("TILE_WORD", "c")
    with pytest.raises(TileError, match="TILE_WORD is 'c'") as caught:
        choice("TILE_WORD", ("a", "b"), "E3001")
    assert caught.value.code == "E3001"
    assert caught.value.help == "Set it to one of a, b, or unset it."


def test_folders_of_the_cache(monkeypatch):
    monkeypatch.setenv("TILE_CACHE_DIR", "/somewhere")
    assert cache_folder("kernels") == Path("/somewhere/kernels")
    monkeypatch.delenv("TILE_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", "/caches")
    assert cache_folder("cpu") == Path("/caches/tile/cpu")
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert cache_folder("cpu") == Path.home() / ".cache/tile/cpu"
