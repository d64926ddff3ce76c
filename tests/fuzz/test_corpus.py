"""Programs that once showed a mistake are right today."""

from pathlib import Path

import pytest

from tile_passes.fuzz.corpus import read_cases
from tile_passes.fuzz.session import replayed

FILES = sorted((Path(__file__).parent / "corpus").glob("*.tir"))


def test_there_is_a_corpus():
    assert len(FILES) >= 3


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_a_kept_program_is_right(path):
    for case, device in read_cases(path):
        assert replayed(case, device) is None
