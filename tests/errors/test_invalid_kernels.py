"""Every file here named `<code>_<slug>.py` is a kernel with one mistake; each must be refused well.

A file's second line says what is expected. `# expect: E1401 col 9` wants the error placed at that
column (1-based, as messages show it) of the line marked `# <-- here`. `# expect: E1108 in the call`
is for mistakes in calling the compiler: they have no place in a kernel, so the traceback must lead
through the marked line. `cols 9 or 14` is for what Python 3.13 places elsewhere than its elders.
"""

import re
import runpy
import sys
import traceback
from dataclasses import dataclass
from pathlib import Path

import pytest

from tile_frontend import language
from tile_frontend.language.refused import Refused, refused_names
from tile_ir.codes import catalogue
from tile_ir.diag import Edit, TileError
from tile_ir.testing.by_path import module_at

HERE = Path(__file__).parent
CASES = sorted(HERE.glob("E[0-9][0-9][0-9][0-9]_*.py"))
HEADER = re.compile(r"^# expect: (E\d{4}) (?:cols? (\d+(?: or \d+)?)|in the call)$", re.M)
MARK = "# <-- here"
# Python 3.10 keeps the line of an expression but not its columns, so statements are all one knows.
KNOWS_COLUMNS = sys.version_info >= (3, 11)


@dataclass(frozen=True)
class Expected:
    """What a case's header and mark promise; `cols` is empty for a mistake in a call."""

    code: str
    line: int
    cols: tuple[int, ...]


def expected(path):
    """Read the header and the one mark of a case."""
    text = path.read_text("utf-8")
    header = HEADER.search(text)
    assert header is not None, "the second line says what is expected"
    lines = [n for n, line in enumerate(text.splitlines(), 1) if MARK in line]
    assert len(lines) == 1, "one line is marked"
    cols = tuple(int(col) for col in (header[2] or "").split(" or ") if col)
    return Expected(header[1], lines[0], cols)


def lines_passed(error, path):
    """Return the lines of the case that the traceback leads through, outermost first."""
    frames = traceback.extract_tb(error.__traceback__)
    return [frame.lineno for frame in frames if frame.filename == str(path)]


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    """Compile anew: what the user's cache holds must not decide what is checked."""
    monkeypatch.setenv("TILE_CACHE_DIR", str(tmp_path))


def test_there_are_enough_programs():
    found = module_at(HERE / "programs.py").programs()
    assert len({p.text for p in found}) >= 450
    assert {p.code for p in found} <= set(catalogue())
    assert len(CASES) >= 240


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_refused_with_code_place_and_help(path):
    want = expected(path)
    with pytest.raises(TileError) as caught:
        runpy.run_path(str(path))
    error = caught.value
    assert path.name.startswith(f"{want.code}_")
    assert error.code == want.code
    assert error.code in catalogue()
    assert error.message
    assert error.help
    if not want.cols:
        assert want.line in lines_passed(error, path)
        return
    span = error.span
    assert span is not None
    assert (span.file, span.line) == (str(path), want.line)
    text = span.text()
    assert text is not None
    assert 0 <= span.col < len(text)
    if KNOWS_COLUMNS:
        assert span.col + 1 in want.cols
    assert f"{path}:{want.line}:" in str(error)
    shown = str(error)
    assert f"error[{want.code}]: {error.message}" in shown
    assert "\n  = note: " in shown
    assert "\n  = help: " in shown
    assert re.search(r"\n +\| +\^+\n", shown)


@pytest.mark.parametrize("name", sorted(refused_names()))
def test_every_refused_name_says_why(name):
    found = Refused(name)
    with pytest.raises(TileError) as caught:
        found()
    assert caught.value.code in {"E1501", "E1502", "E1505", "E1506", "E1507"}
    assert f"T.{name}" in caught.value.message
    assert caught.value.help


def test_source_text_that_was_never_in_a_file():
    names = {"T": language}
    exec("def kernel(A: T.Tensor((64,), T.float32)):\n    pass", names)
    with pytest.raises(TileError, match="source of 'kernel' is not available") as caught:
        language.prim_func(names["kernel"])
    assert caught.value.code == "E1001"
    assert caught.value.help


FIXES = {
    "E0201_cast_to_unknown": None,
    "E0204_float_floor_division": None,
    "E1005_function_of_math": ("math.sqrt", "T.sqrt"),
    "E1005_function_of_numpy": ("np.exp", "T.exp"),
    "E1005_list_of_traced_length": None,
    "E1111_option_by_another_name": ("stages", "num_stages"),
    "E1111_missing_destination": None,
    "E1206_power": ("A[i] ** 2", "T.pow(A[i], 2)"),
    "E1504_misspelt_name": ("aloc_shared", "alloc_shared"),
    "E1302_store_outside": None,
    "E1506_loop_in_other_capitals": ("parallel", "Parallel"),
    "E1506_raw_variable": None,
}


@pytest.mark.skipif(not KNOWS_COLUMNS, reason="Python 3.10 keeps no columns")
@pytest.mark.parametrize("name", FIXES)
def test_a_mechanical_mend_is_data(name):
    path = HERE / f"{name}.py"
    with pytest.raises(TileError) as caught:
        runpy.run_path(str(path))
    (first,) = caught.value.diagnostics
    edit, wanted = first.edit, FIXES[name]
    assert (edit is None) == (wanted is None)
    if edit is None:
        return
    assert isinstance(edit, Edit)
    old, new = wanted
    line = path.read_text("utf-8").splitlines()[edit.line - 1]
    assert (edit.file, edit.before, edit.new) == (str(path), line, new)
    assert line[edit.col : edit.end_col] == old
    assert edit.after == line.replace(old, new, 1)
    assert str(caught.value).endswith(f"\n {edit.line} - {line}\n {edit.line} + {edit.after}")


def test_an_error_in_a_macro_shows_the_call():
    path = HERE / "E1602_macro_in_a_ternary.py"
    with pytest.raises(TileError) as caught:
        runpy.run_path(str(path))
    call = next(
        n for n, line in enumerate(path.read_text().splitlines(), 1) if "counted(A) if" in line
    )
    assert caught.value.span.parent.line == call
    assert f"called from {path}:{call}:" in str(caught.value)
