"""Writes docs/performance.md from benchmarks/results/*.json: every figure, losses beside wins.

`python docs/generate/performance.py` writes, with `--check` it only says what is out of date.
"""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING

from pages import write_or_check
from results import ROOT, all_results, family, geometric_mean, is_summary, predictions

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path
    from typing import Any

    from results import Results, Row

PAGE = ROOT / "docs" / "performance.md"
_INTRO = """---
hide: [toc]
---
<!-- written by docs/generate/performance.py from benchmarks/results: run the benchmarks -->
# Performance

Every figure of the committed results, losses beside wins. A ratio above 1 means that ours is
better, whatever the unit; **bold** ratios are below 1, if by little. Peers run on the same tensors
in the same run, and results are checked against a reference before anything is timed. Times are
medians; of short kernels on a GPU, those of a replayed graph. A peer that is called *recorded* was
measured in an earlier run on the same kind of device and is not counted in the summary.
"""


def pages() -> dict[str, str]:
    """File name -> text."""
    found = all_results()
    text = [_INTRO, "## Summary", "", *_summary(found)]
    for results in found:
        text += ["", f"## {_title(results)}", "", _source(results), "", *_table(results.rows)]
    for path, made in predictions():
        text += ["", f"## Predictions for {made['target']}", "", *_predicted(path, made)]
    return {PAGE.name: "\n".join(text) + "\n"}


FOLDER = PAGE.parent


def _title(results: Results) -> str:
    name, _, machine = results.path.stem.partition("-")
    where = re.sub(r"(\d+)cores", r"\1 cores", machine.replace("h200", "H200")).replace("-", ", ")
    return f"{name.replace('_', ' ')} on {where}"


def _source(results: Results) -> str:
    versions = ", ".join(f"{k} {v}" for k, v in results.versions.items() if k != "gpu")
    name = results.path.relative_to(ROOT)
    return f"{results.machine}; {versions}. `{results.script}` wrote `{name}`."


def _summary(found: Iterable[Results]) -> list[str]:
    lines = [
        "| results | work | peer | cases | geometric mean | lowest | highest | below 1 |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for results in found:
        groups: dict[tuple[str, str], list[float]] = {}
        for row in results.rows:
            if not row.recorded and not is_summary(row):
                groups.setdefault((family(row.work), row.peer), []).append(row.ratio)
        for (work, peer), ratios in groups.items():
            mean, below = geometric_mean(ratios), sum(r < 1 for r in ratios)
            cells = (_title(results), work, peer, len(ratios), _ratio(mean))
            lines.append(_line(*cells, _ratio(min(ratios)), _ratio(max(ratios)), below))
    return lines


def _table(rows: Iterable[Row]) -> list[str]:
    works: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        works.setdefault((row.work, f"{row.ours:.4g} {row.unit}"), []).append(row)
    lines = ["| work | ours | beside |", "|---|---|---|"]
    for (work, ours), beside in works.items():
        lines.append(_line(work, ours, ", ".join(map(_beside, beside))))
    return lines


def _beside(row: Row) -> str:
    known = f"{row.peer}{' (recorded)' if row.recorded else ''}"
    return f"{known} {row.theirs:.4g}: {_ratio(row.ratio)}"


def _predicted(path: Path, made: dict[str, Any]) -> list[str]:
    rows = made["rows"]
    lines = [
        f"{made['near']:.0%} of {len(rows)} cases are predicted within {made['within']:.0%} of "
        f"the measured time; ratios are predicted over measured. `{path.relative_to(ROOT)}`.",
        "",
        "| work | measured us | predicted us | ratio | bound by |",
        "|---|---|---|---|---|",
    ]
    for row in rows:
        times = (f"{row[what] * 1e6:.4g}" for what in ("measured", "predicted"))
        lines.append(_line(row["name"], *times, f"{row['ratio']:.2f}", row["bound"]))
    return lines


def _ratio(ratio: float) -> str:
    return f"**{ratio:.2f}**" if ratio < 1 else f"{ratio:.2f}"


def _line(*cells: object) -> str:
    return "| " + " | ".join(str(c).replace("|", "\\|") for c in cells) + " |"


if __name__ == "__main__":
    sys.exit(write_or_check({FOLDER / name: text for name, text in pages().items()}))
