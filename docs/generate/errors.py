"""docs/errors.md, and the examples that `tile explain` shows, out of the catalogue and the tests.

`python docs/generate/errors.py` writes them, with `--check` it says which are out of date.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).parent))

from error_examples import ROOT, examples, unshown_why
from pages import write_or_check

from tile_ir.codes import areas

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["pages"]

PAGE = ROOT / "docs" / "errors.md"
DATA = ROOT / "packages/tile-ir/src/tile_ir/codes/examples.json"
HEAD = """# Diagnostics

Every error and warning has a code. `tile explain CODE` prints the entry of this page. Each example
is run by a test that wants exactly its code.
"""


def pages() -> dict[Path, str]:
    """The page and the data of the examples, by their files."""
    shown = examples()
    data = {code: {"language": lang, "text": text} for code, (lang, text) in shown.items()}
    return {
        PAGE: "\n".join([HEAD, *_areas(shown)]),
        DATA: json.dumps(data, indent=1, ensure_ascii=False) + "\n",
    }


def _areas(shown: dict[str, tuple[str, str]]) -> Iterator[str]:
    for title, codes in areas().items():
        yield f"## {title}\n"
        for code, (name, text) in codes.items():
            yield f"### {code}: {name}\n\n{text}\n"
            if code in shown:
                language, example = shown[code]
                yield f"```{language}\n{example}```\n"
            else:
                yield f"It takes {unshown_why(code)}.\n"


if __name__ == "__main__":
    sys.exit(write_or_check(pages()))
