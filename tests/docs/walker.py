"""The code blocks of the documentation: found, and run or checked by their kind.

| fence | what happens |
|---|---|
| `python` | runs; the blocks of a page share one namespace, in order |
| `python title="name.py"` | is that file, in the folder where the page's commands run |
| `python title="Triton"` | is another language's program: parsed only |
| `output` | below a `python` block: what it prints, line by line, `...` for any text |
| `console` | lines of `$ command`, each run, with the lines that it prints |
| `sh` | commands for a terminal: files, sessions, options and settings that they name exist |
| `tir` | a function in the text form: parsed and verified |
| `yaml`, `toml`, `json` | parsed |
| `text` | a picture or a sketch; nothing is checked |

Lines of output are looked for in order; those of the output that a page leaves out do not matter.
"""

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]

GENERATED = {
    "docs/errors.md": "tests/errors/test_examples.py",
    "docs/surface.md": "tests/language/test_surface.py",
    "docs/reference": "tests/language/test_reference.py",
}
"""Pages made from programs -> the test that runs these."""
KINDS = ("python", "output", "console", "sh", "tir", "yaml", "toml", "json", "text")
OTHERS = ("Triton", "TileLang")
"""Titles of programs in other languages."""

_FENCE = re.compile(r"^( *)(```+)(\w*)(.*)$")
_TITLE = re.compile(r'title="([^"]+)"')


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A fenced block: its kind, what it is called, its text, and the line where the text starts."""

    kind: str
    title: str
    text: str
    line: int

    @property
    def is_program(self) -> bool:
        """Whether it runs as part of the page."""
        return self.kind == "python" and not self.title


def pages() -> list[Path]:
    """Every page that has blocks of its own."""
    found = [*ROOT.glob("docs/**/*.md"), *ROOT.glob("*.md"), *ROOT.glob("packages/*/README.md")]
    found += ROOT.glob("examples/*.md")
    made = [ROOT / name for name in GENERATED]
    return sorted(p for p in found if not any(p == m or m in p.parents for m in made))


def name_of(page: Path) -> str:
    """The page as a test is called."""
    return page.relative_to(ROOT).as_posix()


def blocks(text: str) -> list[Block]:
    """The fenced blocks of a page, those inside of lists and details too."""
    found: list[Block] = []
    lines = text.split("\n")
    at = 0
    while at < len(lines):
        opened = _FENCE.match(lines[at])
        at += 1
        if opened is None:
            continue
        indent, fence, kind, info = opened.groups()
        start = at
        while lines[at].strip() != fence:
            at += 1
        body = "\n".join(line.removeprefix(indent) for line in lines[start:at])
        title = _TITLE.search(info)
        found.append(
            Block(kind=kind, title=title[1] if title else "", text=f"{body}\n", line=start + 1)
        )
        at += 1
    return found


def outside_fences(text: str) -> list[str]:
    """The lines of a page that are in no fenced block."""
    kept, fence = [], ""
    for line in text.split("\n"):
        mark = _FENCE.match(line)
        if mark is not None:
            fence = "" if fence == mark[2] else fence or mark[2]
        elif not fence:
            kept.append(line)
    return kept


def commands(text: str) -> list[tuple[str, list[str]]]:
    """The commands of a console, each with the lines that are shown below it."""
    found: list[tuple[str, list[str]]] = []
    for line in text.splitlines():
        if line.startswith("$ "):
            found.append((line[2:], []))
        else:
            found[-1][1].append(line)
    return found


def missing(output: str, lines: list[str]) -> str | None:
    """The first of the lines that the output lacks, None if it has all, in this order."""
    left = iter(output.splitlines())
    for line in filter(str.strip, lines):
        pattern = re.compile(".*".join(map(re.escape, line.strip().split("..."))) + r"\Z")
        if not any(pattern.match(found.strip()) for found in left):
            return line
    return None
