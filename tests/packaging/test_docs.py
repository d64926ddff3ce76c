"""What the documentation refers to exists."""

import ast
import re

import pytest

from tile_ir.codes import catalogue

PAGES = (
    "docs/from-tilelang.md",
    "docs/command-line.md",
    "docs/python.md",
    "docs/semantics.md",
    "README.md",
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
)


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
    assert len(named) > 20 or page != PAGES[0]


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
