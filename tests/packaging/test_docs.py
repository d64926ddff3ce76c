"""What the documentation refers to exists."""

import re

import pytest

from tile_ir.codes import catalogue

PAGES = ("docs/from-tilelang.md", "README.md", "ARCHITECTURE.md", "CONTRIBUTING.md")


@pytest.mark.parametrize("page", PAGES)
def test_tests_that_are_named_exist(root, page):
    named = re.findall(r"`(test_\w+\.py)::(test_\w+)`", (root / page).read_text())
    missing = [
        f"{file}::{test}"
        for file, test in named
        if f"def {test}(" not in (root / "tests" / "e2e" / file).read_text()
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
