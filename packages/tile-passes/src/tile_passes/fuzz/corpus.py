"""Cases as files: IR text, and above it comments that say the rest. `tile fuzz --replay` and the
tests read them, and so does `tile opt`.

    // tile fuzz --replay FILE
    // target: NAME -arch=ARCH
    // pipeline: bounds, simplify
    // seed: 3
    // dims: M=5
    // tolerance: O00=0.001
    // found: meaning after simplify
    func @random_program(...) ...
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tile_ir.diag import TileError
from tile_ir.text import parse_function, print_function
from tile_passes.fuzz.cases import Case
from tile_passes.fuzz.pipelines import named, text_of

if TYPE_CHECKING:
    from pathlib import Path

    from tile_passes.fuzz.checks import Finding

__all__ = ["read_case", "text_of_case"]

_FIELD = re.compile(r"^// (target|pipeline|seed|dims|tolerance|device): *(.*)$", re.MULTILINE)


def text_of_case(case: Case, finding: Finding, on: str | None = None) -> str:
    """The text of a file."""
    first = finding.message.splitlines()[0] if finding.message else ""
    rows = {
        "target": case.target,
        "pipeline": text_of(case.pipeline),
        "seed": case.seed,
        "dims": ", ".join(f"{n}={v}" for n, v in case.dims.items()),
        "tolerance": ", ".join(f"{n}={v!r}" for n, v in case.tolerance.items()),
        **({} if on is None else {"device": on}),
        "found": f"{finding.kind} after {finding.where}: {first}",
    }
    head = [f"// {name}: {value}".rstrip() for name, value in rows.items()]
    return "\n".join(["// tile fuzz --replay FILE", *head, print_function(case.function), ""])


def read_case(path: Path) -> tuple[Case, str | None]:
    """The case of a file, and the device that it was built for if that showed the mistake.

    Raises TileError E2605 for a file that lacks a field, those of the parsers for what is malformed.
    """
    text = path.read_text(encoding="utf-8")
    found = dict(_FIELD.findall(text))
    missing = {"target", "pipeline", "seed"} - set(found)
    if missing:
        raise TileError(
            "E2605",
            f"{path} is no case of the fuzzer: it does not say {', '.join(sorted(missing))}",
            help="give a file that `tile fuzz` wrote",
        )
    case = Case(
        function=parse_function(text, file=str(path)),
        tolerance={n: float(v) for n, v in _pairs(found.get("tolerance", ""))},
        seed=int(found["seed"]),
        dims={n: int(v) for n, v in _pairs(found.get("dims", ""))},
        target=found["target"],
        pipeline=named(found["pipeline"]),
    )
    return case, found.get("device")


def _pairs(text: str) -> list[tuple[str, str]]:
    return [(n.strip(), v) for n, _, v in (item.partition("=") for item in text.split(",")) if v]
