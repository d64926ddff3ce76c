"""The examples of the catalogue: each file in `ir` and `calls` raises the code that it is named
after, the page and the data made of them are up to date, and every code has one or says why not."""

import importlib.metadata
import os
import re
import runpy
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

import tile_ir
from tile_ir.codes import areas, catalogue, page
from tile_ir.diag import TileError
from tile_ir.interp import run
from tile_ir.opdef import OPS
from tile_ir.plugin import refresh
from tile_ir.testing.by_path import module_at
from tile_ir.testing.random import random_inputs
from tile_ir.text import parse_module
from tile_ir.verify import verify

HERE = Path(__file__).parent
GENERATE = HERE.parents[1] / "docs" / "generate"
PROGRAMS = sorted((HERE / "ir").glob("*.tir"))
CALLS = sorted((HERE / "calls").glob("*.py"))
LATER = re.compile(r"\(tile-ir [^)]*\)")
"""The version in texts of later stages, which only that very version reads."""


def found_in(text):
    """The codes that the text of a program gives: read, verified, run."""
    try:
        module = parse_module(LATER.sub(f"(tile-ir {tile_ir.__version__})", text))
        found = verify(module)
        if not found:
            function = module.functions[0]
            run(function, random_inputs(function, 0))
    except TileError as error:
        return {error.code}, error.help
    return {d.code for d in found}, found and found[0].help


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_a_program_is_refused_by_its_code(path):
    codes, fix = found_in(path.read_text("utf-8"))
    assert codes == {path.name[:5]}
    assert fix or path.name.startswith("E04")


@pytest.fixture(scope="module")
def cache_folder(tmp_path_factory):
    """Several examples call the same kernel: it is compiled once."""
    return tmp_path_factory.mktemp("tile")


@pytest.fixture
def surroundings(cache_folder, monkeypatch):
    """What an example may change for itself."""
    monkeypatch.setenv("TILE_CACHE_DIR", str(cache_folder))
    for name in ("TILE_CACHE_DIR", "TILE_NUM_THREADS"):  # put back, whatever an example sets
        monkeypatch.setenv(name, os.environ.get(name, ""))
    monkeypatch.delenv("TILE_NUM_THREADS")
    monkeypatch.setattr(importlib.metadata, "entry_points", importlib.metadata.entry_points)
    for name in ("cloudpickle", "ml_dtypes", "rich"):
        monkeypatch.setitem(sys.modules, name, sys.modules.get(name))
        if sys.modules[name] is None:
            del sys.modules[name]
    ops = dict(OPS)
    yield
    OPS.clear()
    OPS.update(ops)
    monkeypatch.undo()
    refresh()


@pytest.mark.usefixtures("surroundings")
@pytest.mark.parametrize("path", CALLS, ids=lambda path: path.stem)
def test_a_call_is_refused_by_its_code(path):
    if path.name.startswith("E1509"):
        pytest.importorskip("torch")
    with warnings.catch_warnings(), pytest.raises(Exception, match=path.name[:5]) as caught:
        runpy.run_path(str(path))
    error = caught.value
    assert isinstance(error, (TileError, Warning))
    assert not isinstance(error, TileError) or (error.code == path.name[:5] and error.help)


def test_every_code_has_an_example_or_says_why_not():
    made = module_at(GENERATE / "error_examples.py")
    shown = made.examples()
    for code in catalogue():
        assert code in shown or made.unshown_why(code), code
    assert len(shown) > 200


def test_every_code_is_raised_by_a_test():
    root = HERE.parents[1]
    found = set()
    for folder in (root / "tests", *root.glob("packages/*/tests")):
        for path in (p for p in folder.rglob("*") if p.suffix in {".py", ".tir"}):
            found |= {m.upper() for m in re.findall(r"^[ew]\d{4}", path.name, re.I)}
            found |= set(re.findall(r"""["'([]([EW]\d{4})\b""", path.read_text("utf-8")))
    assert set(catalogue()) - found == set()


def test_nothing_is_said_of_codes_that_are_shown():
    made = module_at(GENERATE / "error_examples.py")
    shown = made.examples()
    for key in made.UNSHOWN:
        assert any(c.startswith(key) and c not in shown for c in catalogue()), key


def test_the_page_and_the_data_are_up_to_date():
    done = subprocess.run(
        [sys.executable, str(GENERATE / "errors.py"), "--check"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == ""


def test_a_page_shows_title_text_and_example():
    shown = page("E0203")
    assert shown.language == "python"
    lines = shown.render().splitlines()
    assert lines[0] == f"E0203: {catalogue()['E0203'][0]}"
    assert lines[2] == catalogue()["E0203"][1]
    assert "For example:" in lines
    assert any(line.startswith("    @T.prim_func") for line in lines)
    assert "# expect" not in shown.example


def test_a_page_without_an_example_is_whole():
    shown = page("E9001")
    assert (shown.example, shown.language) == ("", "")
    assert shown.render() == f"E9001: {shown.title}\n\n{shown.text}"


def test_an_unknown_code_has_no_page():
    with pytest.raises(KeyError, match="E9999"):
        page("E9999")


def test_every_code_belongs_to_one_area():
    codes = [code for area in areas().values() for code in area]
    assert sorted(codes) == list(catalogue())
    assert next(iter(areas())) == "Mistakes in the text of programs"
