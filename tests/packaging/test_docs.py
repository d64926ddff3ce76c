"""What the documentation refers to exists."""

import ast
import re
from pathlib import Path

import pytest

from tile_ir.codes import catalogue

ROOT = Path(__file__).parents[2]
WRITTEN = ("docs/*.md", "docs/[a-q]*/*.md", "docs/t*/*.md", "*.md", "packages/*/README.md")
"""Where pages are that people write; docs/reference is made of docstrings."""
PAGES = sorted(p.relative_to(ROOT).as_posix() for where in WRITTEN for p in ROOT.glob(where))


def _places(root, file):
    """Where a test file of that name is."""
    folders = ("tests/language", "tests/e2e", "tests/emulate", "packages/tile-frontend/tests")
    return [root / folder / file for folder in folders if (root / folder / file).exists()]


@pytest.mark.parametrize("page", PAGES)
def test_tests_that_are_named_exist(root, page):
    named = re.findall(r"`(test_\w+\.py)::(test_\w+)`", (root / page).read_text())
    missing = [
        f"{file}::{test}"
        for file, test in named
        if not any(f"def {test}(" in path.read_text() for path in _places(root, file))
    ]
    assert missing == []
    assert len(named) > 20 or page != "docs/from-tilelang.md"


@pytest.mark.parametrize("page", PAGES)
def test_codes_that_are_named_exist(root, page):
    named = set(re.findall(r"\bE\d{4}\b", (root / page).read_text()))
    assert named <= set(catalogue())


@pytest.mark.parametrize("page", PAGES)
def test_paths_that_are_named_exist(root, page):
    text = (root / page).read_text()
    named = set(re.findall(r"`((?:docs|tests|benchmarks|examples|packages)/[\w./-]+)`", text))
    assert [p for p in sorted(named) if not (root / p).exists()] == []


def test_every_construct_of_python_is_in_the_table(root):
    text = (root / "docs" / "python.md").read_text()
    nodes = {
        kind.__name__
        for base in (ast.stmt, ast.expr, ast.pattern)
        for kind in base.__subclasses__()
    }
    listed = set(re.findall(r"`([A-Z]\w+)`", text))
    assert nodes - listed == set()


def test_what_the_table_of_python_shows_exists_and_says_so(root):
    rows = re.findall(r"^\| .* \|$", (root / "docs" / "python.md").read_text(), re.MULTILINE)
    checked = 0
    for row in rows:
        *_, meaning, shown = (cell.strip(" `") for cell in row.strip("|").split("|"))
        if shown.startswith(("---", "shown by")):
            continue
        if "::" in shown:
            file, test = shown.split("::")
            assert any(f"def {test}(" in path.read_text() for path in _places(root, file)), row
        else:
            assert (root / "tests" / "errors" / shown).exists(), row
            assert shown[:5] in meaning, row
        checked += 1
    assert checked > 50
