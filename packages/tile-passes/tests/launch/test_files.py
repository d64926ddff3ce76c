"""Files appear whole or not at all, and say why they cannot be written."""

import errno
import os

import pytest

from tile_ir.diag import TileError
from tile_passes.launch.files import write_atomically


def test_a_file_replaces_the_one_before_and_leaves_nothing_else(tmp_path):
    path = tmp_path / "new" / "k.zip"
    write_atomically(path, b"first")
    write_atomically(path, b"second")
    assert path.read_bytes() == b"second"
    assert [p.name for p in path.parent.iterdir()] == ["k.zip"]


def test_a_folder_that_is_a_file(tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(TileError, match="cannot write") as caught:
        write_atomically(tmp_path / "file" / "k.zip", b"data")
    assert caught.value.code == "E3003"


def test_a_full_disk_leaves_the_file_before_and_has_the_callers_code(tmp_path, monkeypatch):
    path = tmp_path / "k.zip"
    write_atomically(path, b"first")

    def refuse(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "replace", refuse)
    with pytest.raises(TileError, match="the disk is full") as caught:
        write_atomically(path, b"second", "E0803")
    assert caught.value.code == "E0803"
    assert "TILE_CACHE_DIR" in caught.value.help
    assert path.read_bytes() == b"first"
    assert os.listdir(tmp_path) == ["k.zip"]
