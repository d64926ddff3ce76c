"""The site: every page is in its navigation, links go somewhere, generated pages are up to date."""

import re
from pathlib import Path

import pytest
import yaml

from tile_ir.testing.by_path import module_at

walker = module_at(Path(__file__).with_name("walker.py"))
ROOT = walker.ROOT
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
LINK = re.compile(r"(?<!`)\[[^\]]+\]\(([^)\s]+)\)")


def listed(entry):
    """The files below an entry of the navigation."""
    if isinstance(entry, str):
        return [entry]
    parts = entry.values() if isinstance(entry, dict) else entry
    return [file for part in parts for file in listed(part)]


def nav():
    return listed(yaml.safe_load((ROOT / "mkdocs.yml").read_text("utf-8"))["nav"])


def anchors(page):
    """The places of a page that a link may name, as both readers of Markdown number them."""
    titles = re.findall(r"^#+ (.+)$", page.read_text("utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", t.lower()).strip().replace(" ", "-") for t in titles}


def test_every_page_is_in_the_navigation_once():
    assert sorted(nav()) == [p.relative_to(DOCS).as_posix() for p in PAGES]


@pytest.mark.parametrize("page", walker.pages(), ids=walker.name_of)
def test_links_go_somewhere(page):
    text = "\n".join(walker.outside_fences(page.read_text("utf-8")))
    for link in LINK.findall(text):
        if link.startswith(("http://", "https://", "mailto:")):
            continue
        file, _, place = link.partition("#")
        target = page.parent / file if file else page
        assert target.exists(), link
        if place and target.suffix == ".md":
            assert place in anchors(target), link
        if page.is_relative_to(DOCS):
            assert target.resolve().is_relative_to(DOCS), f"{link} leaves the site"


@pytest.mark.parametrize("name", ["performance", "cookbook", "pictures", "llms"])
def test_generated_pages_are_up_to_date(script, name):
    made = script(name)
    stale = [
        file
        for file, text in made.pages().items()
        if not (made.FOLDER / file).exists() or (made.FOLDER / file).read_text("utf-8") != text
    ]
    assert stale == [], f"run docs/generate/{name}.py"


def test_pictures_are_drawn_from_layouts(script):
    drawn = script("pictures").pages()
    assert sorted(drawn) == sorted(p.name for p in (DOCS / "pictures").iterdir())
    assert "swizzle&lt;3,4,3&gt;" in drawn["swizzled.svg"]
    # The first column of rows in order has one colour, that of swizzled rows has eight.
    for name, colours in (("row-major.svg", 1), ("swizzled.svg", 8)):
        column = re.findall(
            r'<rect x="8" y="\d+" width="44" height="24" fill="(hsl[^"]+)"', drawn[name]
        )
        assert len(column) == 8
        assert len(set(column)) == colours


def test_the_index_for_programs_has_a_line_for_every_page():
    text = (DOCS / "llms.txt").read_text("utf-8")
    lines = re.findall(r"^- \[.+?\]\((.+?)\): (.+)$", text, re.MULTILINE)
    assert [file for file, _ in lines] == nav()
    assert all(len(said) > 10 for _, said in lines)


def test_the_architectures_of_the_gates_are_those_that_the_cookbook_names(script):
    gates = (ROOT / "tests" / "gates" / "test_cookbook.py").read_text("utf-8")
    listed = re.search(r"^TARGETS = \((.*?)^\)", gates, re.MULTILINE | re.DOTALL)[1]
    assert ", ".join(re.findall(r"-arch=(\w+)", listed)) == script("cookbook").GATED


def test_losses_are_shown_beside_wins(script):
    results = script("results")
    page = (DOCS / "performance.md").read_text("utf-8")
    rows = [row for found in results.all_results() for row in found.rows]
    assert all(f"| {row.work.replace('|', chr(92) + '|')} |" in page for row in rows)
    losses = [row for row in rows if row.ratio < 1]
    assert losses
    assert all(f"**{row.ratio:.2f}**" in page for row in losses)


def test_lines_of_kernels_are_counted_without_docstrings(script):
    import ast

    doc, body = '    """Doc.\n\n    More."""\n', "    # why\n\n    x = (\n        1\n    )\n"
    text = f"@tile.jit\ndef f(A):\n{doc}{body}"
    assert script("cookbook").kernel_lines(ast.parse(text)) == 5
    assert script("cookbook").kernel_lines(ast.parse("def f():\n    return 1\n")) == 0
