"""A minimal example of each diagnostic code, taken from the tests that run it.

* `tests/errors/E1006_*.py` and `packages/*/tests/invalid/e1006_*.py`: a kernel with one mistake.
* `tests/errors/ir/E0401_*.tir`: the text of a program that the reader, the verifier or the oracle
  refuses.
* `tests/errors/calls/E0301_*.py`: a call of the packages that is refused.

Of several the shortest is shown. A code without one is in `UNSHOWN`, with what it takes to see it.
"""

from __future__ import annotations

import re
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from tile_ir.codes import catalogue

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["ROOT", "UNSHOWN", "example_text", "examples", "unshown_why"]

ROOT = Path(__file__).parents[2]
PLACES = (
    ("tests/errors", "E[0-9]*.py"),
    ("packages/tile-frontend/tests/invalid", "e[0-9]*.py"),
    ("tests/errors/ir", "E[0-9]*.tir"),
    ("tests/errors/calls", "E[0-9]*.py"),
)
LANGUAGES = MappingProxyType({".py": "python", ".tir": "text"})
MARKS = re.compile(r"^# expect: .*\n|[ \t]*# (?:<-- here|E\d{4} at \d+-\d+)$", re.MULTILINE)
DOCSTRING = re.compile(r'\A"""(?:[^"]|"(?!""))*"""\n+')

UNSHOWN: Mapping[str, str] = MappingProxyType(
    {
        "E0017": "a text of an older version than one of its statements",
        "E0508": "a channel whose steps come out of turn as the program runs",
        "E0518": "a kernel that holds source text of a target, run by the oracle",
        "E0613": "a program that fixes the width of a warp, on a target that has another",
        "E0704": "a pin that moves a statement in front of what it needs",
        "E0710": "a defect of a pass that moves waits",
        "E08": "a C compiler that is missing or refuses, or a machine without memory",
        "E1118": "that compiler, imported before ours takes its name",
        "E1119": "a setting of another compiler's pass",
        "E1214": "a value that is read, kept by a name, and used after its memory changed",
        "E1507": "a name of the language for which a package has to be installed",
        "E20": "a device of its own, or PyTorch",
        "E21": "a cache folder that is damaged",
        "E22": "a tuner at work, with processes that fail",
        "E23": "a fault that the emulator finds in a kernel as it runs",
        "E24": "an export of kernels",
        "E26": "the command line",
        "E1116": "the command line",
        "E30": "a device, its compiler or its driver",
        "E90": "a defect of this compiler: please report it",
    }
)
"""Code, or the beginning of several, that no test file of its own shows -> what it takes."""


def _files() -> Iterator[Path]:
    for folder, pattern in PLACES:
        yield from sorted((ROOT / folder).glob(pattern))


def example_text(path: Path) -> str:
    """The text of a case without what is there for the test alone."""
    text = MARKS.sub("", path.read_text("utf-8"))
    return DOCSTRING.sub("", text).strip() + "\n"


def examples() -> dict[str, tuple[str, str]]:
    """Code -> language and text of its shortest example."""
    found: dict[str, tuple[str, str]] = {}
    for path in _files():
        code, text = path.name[:5].upper(), example_text(path)
        if code not in found or len(text) < len(found[code][1]):
            found[code] = (LANGUAGES[path.suffix], text)
    return {code: found[code] for code in catalogue() if code in found}


def unshown_why(code: str) -> str:
    """What it takes to see a code that has no example; KeyError where that is not said."""
    for n in (5, 4, 3):
        if code[:n] in UNSHOWN:
            return UNSHOWN[code[:n]]
    raise KeyError(code)
