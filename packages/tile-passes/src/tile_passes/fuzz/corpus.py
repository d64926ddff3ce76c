"""Cases as files: IR text, and above it comments that say the rest. `tile fuzz --replay` and the
tests read them, and so does `tile opt`.

    # tile fuzz --replay FILE
    # target: NAME -arch=ARCH
    # pipeline: bounds, simplify
    # seed: 3
    # dims: M=5
    # tolerance: O00=0.001
    # found: meaning after simplify
    tile.ir 1.0 tile

    func @random_program(...) ...
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tile_ir.core import Module
from tile_ir.text import parse_module, print_module
from tile_passes.fuzz.cases import Case, every_target, pipeline_of
from tile_passes.fuzz.pipelines import named, text_of

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from tile_ir.core import Function
    from tile_passes.fuzz.checks import Finding

__all__ = ["read_cases", "text_of_case"]

_FIELD = re.compile(r"^# (target|pipeline|seed|dims|tolerance|device): *(.*)$", re.MULTILINE)


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
    program = print_module(Module(functions=(case.function,)))
    head = [f"# {name}: {value}".rstrip() for name, value in rows.items()]
    return "\n".join(["# tile fuzz --replay FILE", *head, program])


def read_cases(path: Path) -> list[tuple[Case, str | None]]:
    """The cases of a file, each with the device that it was built for if that showed the mistake.

    A file that names no target has a case for each that is installed, one without a pipeline goes
    through the target's own. Raises what the parsers raise for text that is malformed.
    """
    text = path.read_text(encoding="utf-8")
    said = dict(_FIELD.findall(text))
    targets = (said["target"],) if "target" in said else every_target()
    return [
        (_case(function, target, said), said.get("device"))
        for function in parse_module(text, file=str(path)).functions
        for target in targets
    ]


def _case(function: Function, target: str, said: Mapping[str, str]) -> Case:
    return Case(
        function=function,
        tolerance={n: float(v) for n, v in _pairs(said.get("tolerance", ""))},
        seed=int(said.get("seed", 0)),
        dims={n: int(v) for n, v in _pairs(said.get("dims", ""))},
        target=target,
        pipeline=named(said["pipeline"]) if "pipeline" in said else pipeline_of(target),
    )


def _pairs(text: str) -> list[tuple[str, str]]:
    return [(n.strip(), v) for n, _, v in (item.partition("=") for item in text.split(",")) if v]
