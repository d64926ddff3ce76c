"""Every puzzle: its solution is accepted, its skeleton is not."""

from pathlib import Path

import pytest

from tile_cuda.nvrtc import find_nvrtc
from tile_ir.diag import TileError
from tile_ir.testing.by_path import module_at
from tile_ir.testing.requires import requires

FOLDER = Path(__file__).parents[2] / "docs" / "puzzles"
walker = module_at(Path(__file__).with_name("walker.py"))
check = module_at(FOLDER / "check.py")
PAGES = {int(p.name[:2]): p for p in sorted(FOLDER.glob("[0-9]*.md"))}
IN_THE_EMULATOR = {
    n for n, puzzle in check.PUZZLES.items() if puzzle.extra not in (None, check.one_build)
}


def written(number, title, folder):
    """The block of that title as a file."""
    found = [b for b in walker.blocks(PAGES[number].read_text("utf-8")) if b.title == title]
    assert len(found) == 1
    path = folder / title
    path.write_text(found[0].text, "utf-8")
    return path


def test_there_are_ten():
    assert list(PAGES) == list(check.PUZZLES) == list(range(1, 11))


@pytest.mark.parametrize("number", PAGES)
def test_a_solution_is_accepted(number, folder):
    if number in IN_THE_EMULATOR:
        requires("nvidia-cuda-nvrtc", lambda: find_nvrtc() is not None)
    assert check.check(number, written(number, "solution.py", folder)) is None


@pytest.mark.parametrize("number", PAGES)
def test_a_skeleton_is_not(number, folder):
    if number in IN_THE_EMULATOR:
        requires("nvidia-cuda-nvrtc", lambda: find_nvrtc() is not None)
    with pytest.raises((check.WrongError, TileError)):
        check.check(number, written(number, "puzzle.py", folder))


def test_what_differs_is_named():
    with pytest.raises(check.WrongError, match=r"1 of 4 differ: 9.0, not 2.0, at \(0, 1\)"):
        check.compare([[1, 9], [3, 4]], [[1, 2], [3, 4]], 0)
