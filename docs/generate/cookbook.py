"""Writes docs/cookbook.md: a row for every example, and what was measured of it on an H200.

`python docs/generate/cookbook.py` writes, with `--check` it only says what is out of date.
"""

from __future__ import annotations

import ast
import sys
from dataclasses import dataclass
from pathlib import PurePath
from typing import TYPE_CHECKING

from pages import write_or_check
from results import ROOT, all_results, geometric_mean, is_summary

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from results import Results, Row

PAGE = ROOT / "docs" / "cookbook.md"
FOLDER = PAGE.parent
TERA, GIGA = 1e12, 1e9
BANDWIDTH = 4.8 * TERA
"""Bytes a second of an H200's memory. Source: NVIDIA H200 data sheet."""
DENSE = {2: 989 * TERA, 1: 1979 * TERA}
"""Operations a second without sparsity, by the bytes of an operand. Source: the same."""
GATED = "sm_80, sm_90a, sm_100a, sm_120, gfx942, gfx1100, apple9"
"""The architectures for which tests/gates/test_cookbook.py compiles every case."""
EMULATED = "sm_80 and sm_90a"
"""Those for which tests/examples/test_cookbook.py runs them in the emulator."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """The rows of an example: works that begin so, and the one whose figure is shown; the last one
    where there is none of that name."""

    prefix: str
    shown: str
    operand_bytes: int = 2


MEASURED = {
    "attention_backward": Measured(
        prefix="attention backward d", shown="attention backward d128 full 4x8192"
    ),
    "attention_backward_roles": Measured(
        prefix="attention backward by roles", shown="attention backward by roles d128 full 4x8192"
    ),
    "attention_tuned": Measured(prefix="attention d", shown="attention d128 full 8192"),
    "column_sum": Measured(prefix="column_sum", shown="column_sum f32 32768x8192"),
    "flash_decoding": Measured(prefix="gqa decode", shown="gqa decode batch 128"),
    "gemm_fp8": Measured(prefix="fp8", shown="fp8 tensor 8192x8192x8192", operand_bytes=1),
    "gemm_int8": Measured(prefix="int8", shown="int8 4096x4096x4096", operand_bytes=1),
    "gemm_skinny": Measured(prefix="skinny f16", shown="skinny f16 NN 16x4096x14336"),
    "gemm_tuned": Measured(prefix="gemm f16", shown="gemm f16 NN 8192x8192x8192"),
    "gemm_w4a16": Measured(prefix="w4a16", shown="w4a16 4096x8192x8192"),
    "gemv": Measured(prefix="w4a16 1x", shown="w4a16 1x8192x8192"),
    "layer_norm": Measured(prefix="layer_norm", shown="layer_norm f16 32768x8192"),
    "mla_decode": Measured(prefix="mla decode batch", shown="mla decode batch 128 keys 8192"),
    "mla_decode_roles": Measured(
        prefix="mla decode by roles", shown="mla decode by roles batch 128 keys 8192"
    ),
    "rms_norm": Measured(prefix="rms_norm", shown="rms_norm f16 32768x8192"),
    "softmax": Measured(prefix="softmax", shown="softmax f16 32768x8192"),
    "transpose": Measured(prefix="transpose", shown="transpose f32 16384"),
}
"""What the benchmarks measure of the examples."""
TESTED = {
    "quickstart": "cpu",
    "attention_backward_roles": "emulator, gates",
    "mla_decode_roles": "emulator, gates",
}
"""The examples that run elsewhere than others: a processor has no roles."""

_INTRO = f"""---
hide: [toc]
---
<!-- written by docs/generate/cookbook.py from examples and benchmarks/results -->
# Cookbook

One file for each kernel, under `examples/`: a docstring that explains the idea, the kernel, a
float64 reference, cases, and a `main` that checks them. None uses a target's own names.

* *lines*: of the kernels, without docstrings, comments and blank lines.
* *tested on*: cpu, this processor; emulator, the code for {EMULATED} executed here
  (`tests/examples/test_cookbook.py`); gates, compiled for {GATED}
  (`tests/gates/test_cookbook.py`, which names what a target refuses); H200, timed.
* *shown*: the figure of one large case on an H200, and in brackets its part of what the data sheet
  gives: {BANDWIDTH / TERA:.1f} TB/s, {DENSE[2] / TERA:.0f} dense f16 and {DENSE[1] / TERA:.0f}
  dense 8-bit TFLOP/s.
* *beside the best peer*: the geometric mean over all measured cases of the ratio to the fastest
  peer of that run (a copy of as many bytes counts as one), with the lowest and the highest; below 1
  is a loss, in bold.
* *script*: what measured it, in `benchmarks/`.

Examples without a figure are not timed beside a peer yet. [Performance](performance.md) has every
case.

| example | computes | lines | tested on | shown | beside the best peer | script |
|---|---|---|---|---|---|---|
"""


def pages() -> dict[str, str]:
    """File name -> text."""
    found = [r for r in all_results() if r.machine.endswith("H200") and "tune" not in r.path.stem]
    files = [p for p in sorted((ROOT / "examples").glob("*.py")) if not p.stem.startswith("_")]
    return {PAGE.name: _INTRO + "".join(_row_of(path, found) for path in files)}


def _row_of(path: Path, found: Iterable[Results]) -> str:
    tree = ast.parse(path.read_text("utf-8"))
    idea = (ast.get_docstring(tree) or "").split("\n\n")[0].replace("\n", " ")
    known = MEASURED.get(path.stem)
    cells = _cells(known, found) if known else ("", "", "")
    tested = TESTED.get(path.stem, "cpu, emulator, gates")
    tested += ", H200" if known else ""
    row = (f"`{path.name}`", idea, str(kernel_lines(tree)), tested, *cells)
    return "| " + " | ".join(row) + " |\n"


def kernel_lines(tree: ast.Module) -> int:
    """Lines of code of the functions that are traced, with their decorators and parameters."""
    traced = [n for n in tree.body if isinstance(n, ast.FunctionDef) and _is_traced(n)]
    lines: set[int] = set()
    for function in traced:
        first = min(n.lineno for n in (*function.decorator_list, function))
        lines.update(n.lineno for n in ast.walk(function) if hasattr(n, "lineno"))
        lines.update(range(first, function.body[0].lineno))
        lines.update(n.end_lineno for n in ast.walk(function) if hasattr(n, "end_lineno"))
        if ast.get_docstring(function) is not None:
            doc = function.body[0]
            lines -= set(range(doc.lineno, (doc.end_lineno or doc.lineno) + 1))
    return len(lines)


def _is_traced(function: ast.FunctionDef) -> bool:
    text = " ".join(map(ast.unparse, function.decorator_list))
    return any(word in text for word in ("jit", "prim_func", "macro"))


def _cells(known: Measured, found: Iterable[Results]) -> tuple[str, str, str]:
    for results in found:
        rows = [r for r in results.rows if r.work.startswith(known.prefix) and not is_summary(r)]
        here = [r for r in rows if not r.recorded]
        if here:
            shown = next((r for r in here if r.work == known.shown), here[-1])
            part = f"{shown.ours:.0f} {shown.unit} ({_part(shown, known.operand_bytes):.0%})"
            return f"{shown.work}: {part}", _beside(rows), f"`{PurePath(results.script).name}`"
    return "", "", ""


def _part(row: Row, operand_bytes: int) -> float:
    if row.unit == "GB/s":
        return row.ours * GIGA / BANDWIDTH
    return row.ours * TERA / DENSE[operand_bytes]


def _beside(rows: Iterable[Row]) -> str:
    best: dict[tuple[str, float], float] = {}
    for row in rows:
        if not row.recorded and " at least " not in row.work:
            key = (row.work, row.ours)
            best[key] = min(row.ratio, best.get(key, row.ratio))
    ratios = list(best.values())
    mean = f"{geometric_mean(ratios):.2f}"
    shown = f"**{mean}**" if float(mean) < 1 else mean
    cases = f"{len(ratios)} case{'s' * (len(ratios) > 1)}"
    return f"{shown} ({min(ratios):.2f} to {max(ratios):.2f}, {cases})"


if __name__ == "__main__":
    sys.exit(write_or_check({FOLDER / name: text for name, text in pages().items()}))
