"""List every invalid program of the tests, by code: `python tests/errors/programs.py`.

Kernels with one mistake, texts of programs, and calls that are refused; what is shown of a code on
its page is the shortest of them. `--count` prints how many different ones there are.
"""

import sys
from dataclasses import dataclass
from pathlib import Path

from tile_ir.codes import catalogue

ROOT = Path(__file__).parents[2]
KINDS = (
    ("kernel", "tests/errors", "E[0-9]*.py"),
    ("kernel", "packages/tile-frontend/tests/invalid", "e[0-9]*.py"),
    ("text", "tests/errors/ir", "E[0-9]*.tir"),
    ("call", "tests/errors/calls", "E[0-9]*.py"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """An invalid program: the code that it is refused by, its kind, its file."""

    code: str
    kind: str
    path: Path

    @property
    def text(self) -> str:
        """What it says, without the lines and ends of lines that are comments."""
        lines = (
            line.partition("#")[0].rstrip() for line in self.path.read_text("utf-8").split("\n")
        )
        return "\n".join(line for line in lines if line)


def programs() -> tuple[Program, ...]:
    """All of them, by code."""
    found = [
        Program(code=path.name[:5].upper(), kind=kind, path=path)
        for kind, folder, pattern in KINDS
        for path in (ROOT / folder).glob(pattern)
    ]
    return tuple(sorted(found, key=lambda p: (p.code, p.kind, p.path.name)))


def main(words: list[str]) -> int:
    """Print the list, or the counts."""
    found = programs()
    if words != ["--count"]:
        for p in found:
            print(f"{p.code}  {p.kind:6}  {catalogue()[p.code][0]}  ({p.path.relative_to(ROOT)})")
    kinds = {kind: sum(p.kind == kind for p in found) for kind in ("kernel", "text", "call")}
    told = ", ".join(f"{n} {kind}s" for kind, n in kinds.items())
    different, codes = len({p.text for p in found}), len({p.code for p in found})
    print(f"{different} different invalid programs of {codes} codes: {told}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
