"""Archives hold what was put in, byte for byte the same, and say when they are damaged."""

from dataclasses import dataclass

import pytest

from tile_ir.diag import TileError
from tile_passes.launch.container import Archive, Contents


@dataclass(frozen=True, kw_only=True)
class Row:
    registers: int


ARCHIVE = Archive(code="kernel.bin", usage=Row)
CONTENTS = Contents(code=b"\x01\x02", host="def bind(rt): ...\n", usage={"k": Row(registers=7)})


def test_what_is_packed_is_unpacked(tmp_path):
    path = tmp_path / "k.zip"
    path.write_bytes(ARCHIVE.pack(CONTENTS))
    assert ARCHIVE.unpack(path) == CONTENTS


def test_equal_contents_give_equal_bytes():
    assert ARCHIVE.pack(CONTENTS) == ARCHIVE.pack(CONTENTS)


@pytest.mark.parametrize("data", [b"", b"PK\x03\x04 no archive"])
def test_a_damaged_file_says_so(tmp_path, data):
    path = tmp_path / "k.zip"
    path.write_bytes(data)
    with pytest.raises(TileError, match="cannot read") as caught:
        ARCHIVE.unpack(path)
    assert caught.value.code == "E3007"
    assert "compile again" in caught.value.help


def test_another_targets_archive_is_damaged_to_this_one(tmp_path):
    path = tmp_path / "k.zip"
    path.write_bytes(Archive(code="kernel.other", usage=Row).pack(CONTENTS))
    with pytest.raises(TileError) as caught:
        ARCHIVE.unpack(path)
    assert caught.value.code == "E3007"
    assert "kernel.bin" in caught.value.notes[0]
