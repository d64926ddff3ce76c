"""Writes docs/llms.txt: an index of the documentation, a line for each page, for readers that are
programs.

`python docs/generate/llms.py` writes, with `--check` it only says what is out of date. A page is
told by its first sentence.
"""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING, Any

import yaml
from pages import write_or_check
from results import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FOLDER = ROOT / "docs"
_HEAD = """# tile

> A compiler for GPU and CPU kernels that are written in tiles, in Python: `import tile_frontend
> as tile`, `import tile_frontend.language as T`. The surface is TileLang's. The program says which
> block of data moves where and what is computed on it; layouts, pipelines, roles, barriers and
> instructions are planned.

The programs of these pages are run by the tests, and what they print is compared with what is
shown.
"""
_NO_PROSE = ("#", "|", "<", "!", "* ", "- ")
LONGEST = 240
"""Characters of a line's text; longer first sentences are cut at a word."""
_FRONT = re.compile(r"\A---\n.*?\n---\n", re.DOTALL)
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_FENCED = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)
_LINK = re.compile(r"\[([^\]]+)\]\([^)]*\)")


def pages() -> dict[str, str]:
    """File name -> text."""
    nav = yaml.safe_load((ROOT / "mkdocs.yml").read_text("utf-8"))["nav"]
    parts = [_HEAD]
    for entry in nav:
        ((section, content),) = entry.items()
        files = [content] if isinstance(content, str) else list(_files(content))
        lines = [_line(FOLDER / file, file) for file in files]
        parts.append(f"## {section}\n\n" + "\n".join(lines) + "\n")
    return {"llms.txt": "\n".join(parts)}


def _files(content: list[Any]) -> Iterator[str]:
    for entry in content:
        yield from [entry] if isinstance(entry, str) else entry.values()


def _line(page: Path, file: str) -> str:
    text = _COMMENT.sub("", _FRONT.sub("", page.read_text("utf-8"), count=1)).strip()
    title = text.partition("\n")[0].lstrip("# ")
    if page.parent.name == "reference" and page.stem != "README":
        return f"- [{page.stem}]({file}): {title}"  # its title is a sentence
    return f"- [{title}]({file}): {first_sentence(text)}"


def first_sentence(text: str) -> str:
    """The first sentence of the first paragraph below the title, on one line, without links."""
    paragraphs = _FENCED.sub("", text).partition("\n")[2].split("\n\n")
    plain = (p for p in map(str.strip, paragraphs) if p and not p.startswith(_NO_PROSE))
    words = _LINK.sub(r"\1", " ".join(next(plain, "").split()))
    sentence = re.split(r"(?<=[.:])\s+(?=[A-Z`])", words)[0].rstrip(":")
    return sentence if len(sentence) <= LONGEST else sentence[:LONGEST].rpartition(" ")[0] + " ..."


if __name__ == "__main__":
    sys.exit(write_or_check({FOLDER / name: text for name, text in pages().items()}))
