"""Writes docs/reference: a page for each part of the language, and on it every name with its
docstring and a program that shows it. The tests run each of these programs.

`python docs/generate/reference.py` writes, with `--check` it only says what is out of date.
"""

from __future__ import annotations

import inspect
import re
import sys
from importlib import import_module
from typing import Any

from example_programs import EXAMPLE, program_of
from language_names import ROOT, TYPES, homes, signature_of, value_of
from pages import write_or_check

import tile_frontend.language as T

FOLDER = ROOT / "docs" / "reference"
NOTE = "<!-- written by docs/generate/reference.py from the docstrings: edit those -->"
SECTION = re.compile(r"^(Args|Returns|Raises|Yields):\s*$", re.MULTILINE)
ENTRY = re.compile(r"^    (\S[^:]*): (.*)$")


def pages() -> dict[str, str]:
    """File name -> text of every page."""
    names: dict[str, list[str]] = {}
    for name, home in homes().items():
        names.setdefault(home, []).append(name)
    made = {f"{home}.md": _page(home, sorted(found)) for home, found in sorted(names.items())}
    return {"README.md": _index(), **made}


def _index() -> str:
    links = [f"[{name}]({home}.md#{_anchor(name)})" for name, home in _scalar_first()]
    intro = (
        "Every name of the language, `import tile_frontend.language as T`. What a name means is on "
        "its page, with\na program that shows it: `example` is a traced function, so "
        "`tile.compile(example)` makes a kernel of it."
    )
    return f"{NOTE}\n# Reference\n\n{intro}\n\n" + ",\n".join(links) + "\n"


def _scalar_first() -> list[tuple[str, str]]:
    """Every name with its page, by the alphabet; vectors of a type are found with the type."""
    entries = [(n, h) for n, h in homes().items() if n not in TYPES or not _is_vector(n)]
    return sorted(entries, key=lambda e: (e[0].strip("_").lower(), e[0]))


def _is_vector(name: str) -> bool:
    return bool(re.search(r"x\d+$", name))


def _anchor(name: str) -> str:
    return name.lower()


def _page(home: str, names: list[str]) -> str:
    if home == "types":
        return _types(names)
    module = f"{T.__name__}.{home}" if home in T._MODULES else None
    about = inspect.getdoc(import_module(module)) if module else f"Names of the {home} dialect."
    title, _, rest = (about or "").partition("\n\n")
    parts = [NOTE, f"# {_line(title).rstrip('.:')}", _prose(rest)]
    parts += [_entry(name, value_of(name)) for name in names]
    return "\n\n".join(p for p in parts if p) + "\n"


def _types(names: list[str]) -> str:
    about = (inspect.getdoc(import_module(f"{T.__name__}.dtypes")) or "").partition("\n\n")
    scalars = [n for n in names if not _is_vector(n)]
    lanes = sorted({int(n.rpartition("x")[2]) for n in names if _is_vector(n)})
    vectors = f"Vectors: `T.float16x2` and its like have {', '.join(map(str, lanes))} lanes."
    parts = [NOTE, f"# {_line(about[0]).rstrip('.:')}", _prose(about[2]), vectors]
    for name in scalars:
        value = value_of(name)
        own = [n for n in names if re.fullmatch(rf"{name}x\d+", n)]
        also = "".join(f", `T.{n}`" for n in own)
        other = f", another name of `T.{value}`" if str(value) != name else ""
        parts.append(f"## {name}\n\n`T.{name}`{other}: {value.bits} bits{also}.")
        parts.append(_code(program_of(name, value)))
    return "\n\n".join(parts) + "\n"


def _entry(name: str, value: Any) -> str:
    text = EXAMPLE.sub("", inspect.getdoc(value) or "").strip()
    heading = f"## {name}\n\n```\n{signature_of(name, value)}\n```"
    return f"{heading}\n\n{_prose(text)}\n\n{_code(program_of(name, value))}"


def _code(program: str | None) -> str:
    return f"```python\n{program}```" if program else ""


def _line(text: str) -> str:
    return " ".join(text.split())


def _prose(text: str) -> str:
    """A docstring as Markdown: sections become lists, the rest stays as it is."""
    made, listing = [], False
    for line in text.split("\n"):
        if SECTION.match(line):
            listing = True
            made.append(f"{line.strip()}\n")
        elif listing and (entry := ENTRY.match(line)):
            made.append(f"* `{entry[1]}`: {entry[2]}")
        elif listing and line.strip() and not line.startswith(" "):
            listing = False
            made.append(line)
        else:
            made.append(f"  {line.strip()}" if listing and line.strip() else line)
    return "\n".join(made).strip()


if __name__ == "__main__":
    sys.exit(write_or_check({FOLDER / name: text for name, text in pages().items()}))
