"""Every page runs from top to bottom and prints what it shows."""

from pathlib import Path

import pytest

from tile_cpu.compilers import zig_path
from tile_cuda.nvrtc import find_nvrtc
from tile_ir.testing.by_path import module_at
from tile_ir.testing.requires import requires

walker = module_at(Path(__file__).with_name("walker.py"))
runner = module_at(Path(__file__).with_name("page_runner.py"))

BY_SECTION = "docs/command-line.md"
"""Run by tests/e2e/test_command_line.py, which knows what each of its commands needs."""


def _has_programs(page):
    found = walker.blocks(page.read_text("utf-8"))
    return any(b.is_program or b.kind == "console" for b in found)


PAGES = [p for p in walker.pages() if _has_programs(p) and walker.name_of(p) != BY_SECTION]


@pytest.mark.parametrize("page", PAGES, ids=walker.name_of)
def test_a_page_does_what_it_says(page, folder):
    text = "".join(b.text for b in walker.blocks(page.read_text("utf-8")))
    if "import torch" in text:
        pytest.importorskip("torch")
    if "cuda -arch" in text:
        requires("nvidia-cuda-nvrtc", lambda: find_nvrtc() is not None)
    if "rocm -arch" in text or "metal -arch" in text:
        requires("ziglang", lambda: zig_path() is not None)
    assert runner.run_page(page, folder) > 0


def test_lines_are_looked_for_in_order():
    assert walker.missing("a\n  b 12 c\n", ["a", "b ... c"]) is None
    assert walker.missing("a\nb\n", ["b", "a"]) == "a"
    assert walker.missing("a.c", ["abc"]) == "abc"


def test_blocks_are_found_where_they_are():
    text = '# a\n\n* b\n\n  ```python title="c.py"\n  x = 1\n  ```\n\n````text\n```\n````\n'
    first, second = walker.blocks(text)
    assert (first.kind, first.title, first.text, first.line) == ("python", "c.py", "x = 1\n", 6)
    assert (second.kind, second.text) == ("text", "```\n")
    assert walker.outside_fences("a\n```\nb\n```\nc") == ["a", "c"]


def test_a_page_that_shows_what_is_not_printed_is_found(folder):
    page = folder / "page.md"
    page.write_text("```python\nprint(1)\n```\n\n```output\n2\n```\n")
    with pytest.raises(AssertionError, match="'2' is not printed"):
        runner.run_page(page, folder)


def test_a_page_whose_command_fails_is_found(folder):
    page = folder / "page.md"
    page.write_text("```console\n$ tile explain nonsense\n```\n")
    with pytest.raises(AssertionError, match="failed"):
        runner.run_page(page, folder)
