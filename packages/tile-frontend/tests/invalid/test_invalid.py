"""Each file beside this one is a wrong program; the comment on its wrong line says what is reported
and for which columns (1-based, the last one included):

    A[0, 0] = A[1]  # E1201 at 11-14

A case without such a comment raises outside any kernel, where only code and help are checked.
"""

import re
import runpy
import sys
from pathlib import Path

import pytest

from tile_ir.codes import catalogue
from tile_ir.diag import TileError

HERE = Path(__file__).parent
CASES = sorted(p for p in HERE.glob("e[0-9]*_*.py"))
# Python 3.13 places the iteration of a plain function's `for` at the iterable alone.
LINE_ONLY = {"e1013_loop_in_plain_function"}
MARK = re.compile(r"# (E\d+) at (\d+)-(\d+)$")


def marked(path):
    """The line, first and last column that a case's comment names, or None."""
    for number, line in enumerate(path.read_text().splitlines(), 1):
        found = MARK.search(line)
        if found:
            return number, int(found[2]) - 1, int(found[3])
    return None


@pytest.mark.parametrize("path", CASES, ids=[p.stem for p in CASES])
def test_wrong_program_is_explained(path):
    code = path.stem.partition("_")[0].upper()
    with pytest.raises(TileError) as raised:
        runpy.run_path(str(path))
    error = raised.value
    assert error.code == code
    assert error.help
    assert code in catalogue()
    where = marked(path)
    if where is None:
        return
    line, start, end = where
    assert error.span is not None
    assert Path(error.span.file) == path
    assert error.span.line == line
    if sys.version_info >= (3, 11) and path.stem not in LINE_ONLY:
        # A statement's place ends with its line, comment included.
        last = error.span.end_col if "#" not in error.span.text()[: error.span.end_col] else end
        assert (error.span.col, last) == (start, end)


def test_rendering_points_at_the_source():
    with pytest.raises(TileError) as raised:
        runpy.run_path(str(HERE / "e1201_too_few_indices.py"))
    lines = str(raised.value).splitlines()
    assert lines[0] == "error[E1201]: A has 2 axes but is indexed with 1"
    assert lines[3].endswith("A[0, 0] = A[1]  # E1201 at 19-22")
    assert lines[4].rstrip() == lines[4][: lines[3].index("A[1]")] + "^^^^"
    assert "  = help: give one index or slice for each axis" in lines
