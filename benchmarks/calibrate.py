"""How near the performance model comes to what was measured: every row of the committed results
that measures one of our kernels, its time beside the one that is predicted from its program.

Kernels are compiled here, for the GPU that the results are of; none is run and no GPU is needed.
Constants of the model stand in the target's description and none is of a kernel.

    python benchmarks/calibrate.py --check --json FILE
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import gpu
from gpu_build import Case
from gpu_timing import EVENTS, GRAPH

RESULTS = Path(__file__).parent / "results"
FILES = ("cookbook-h200.json", "gemm-h200.json", "attention-h200.json")
TARGET = "cuda -arch=sm_90a"
NEAR, BAR = 0.20, 0.80
"""A prediction is near within this part of the measured time; so many of them have to be."""
BETWEEN_EVENTS_S = 2.0e-6
"""What a single call between two events takes more than one in a graph, for no kernel's sake."""
GROUP, KEYS = 128, 8192
"""Weights that share a scale; keys of a sequence in decoding."""


@dataclass(frozen=True, slots=True)
class Compared:
    """A row: seconds measured and predicted, what is said to bound the kernel."""

    name: str
    measured: float
    predicted: float
    bound: str
    failure: str = ""

    @property
    def ratio(self) -> float:
        """Predicted by measured."""
        return self.predicted / self.measured if self.measured else 0.0

    @property
    def near(self) -> bool:
        """Whether the prediction is within the bar."""
        return abs(self.ratio - 1.0) <= NEAR


@dataclass(frozen=True, slots=True)
class Row:
    """What is to be compared: a name, the kernel's build, the seconds, and how they were taken."""

    name: str
    case: Case
    seconds: float
    how: str


Work = Callable[[Mapping[str, Any], Mapping[str, Any]], float]
_BYTES = {"float16": 2, "float32": 4}
WORK: dict[str, Work] = {
    "skinny": lambda s, o: 2 * (s["M"] * s["K"] + s["N"] * s["K"] + s["M"] * s["N"]),
    "fp8": lambda s, o: 2 * s["M"] ** 3,
    "int8": lambda s, o: 2 * s["M"] ** 3,
    "w4a16": lambda s, o: _w4a16(s.get("M", 1), s["N"], s.get("K", s.get("G", 0) * GROUP)),
    "gqa": lambda s, o: s["B"] * s["dim"] * 2 * (2 * KEYS * s["kv_heads"] + 2 * s["heads"]),
    "mla": lambda s, o: 2 * s["B"] * s["heads"] * s["S"] * (2 * s["latent"] + s["rope"]),
    "attention backward": lambda s, o: (
        10 * s["B"] * s["heads"] * s["S"] ** 2 * s["dim"] / (2 if o["causal"] else 1)
    ),
    "softmax": lambda s, o: 2 * s["M"] * s["N"] * _BYTES[o["dtype"]],
    "rms_norm": lambda s, o: 2 * s["M"] * s["N"] * _BYTES[o["dtype"]],
    "layer_norm": lambda s, o: 2 * s["M"] * s["N"] * _BYTES[o["dtype"]],
    "transpose": lambda s, o: 2 * s["M"] * s["N"] * _BYTES[o["dtype"]],
    "add": lambda s, o: 3 * s["N"] * _BYTES[o["dtype"]],
    "row_sum": lambda s, o: s["M"] * s["N"] * 4,
    "column_sum": lambda s, o: s["M"] * s["N"] * 4,
    "gemm": lambda s, o: 2 * s["M"] * s["N"] * s["K"],
    "attention": lambda s, o: (
        4 * s["B"] * s["H"] * s["S"] ** 2 * s["D"] / (2 if s["causal"] else 1)
    ),
}
"""First words of a row -> its work in the row's unit without the prefix, as the benchmark counts
it."""
SCALE = {"TFLOP/s": 1e12, "GB/s": 1e9}


def _w4a16(m: int, n: int, k: int) -> float:
    """Bytes of packed weights, of two halves for each group of them, and of the other arrays; from
    1024 rows on operations."""
    large = 1024
    return 2 * m * n * k if m >= large else n * k // 2 + 4 * n * k // GROUP + 2 * m * (n + k)


def builds() -> dict[str, tuple[Case, Mapping[str, Any], Mapping[str, Any]]]:
    """Name of a row without its peer -> the kernel's build, its sizes and its options."""
    found: dict[str, tuple[Case, Mapping[str, Any], Mapping[str, Any]]] = {}
    for family in gpu.COOKBOOK:
        for task in gpu.tasks(family, ""):
            found[task.name] = (task.ours.build(), task.ours.sizes, task.ours.options)
    for case in gpu.builds(("gemm", "attention"), ""):
        found[_name(case)] = (case, case[2], {})
    return found


def _name(case: Case) -> str:
    name, _, sizes = case
    if name == "attention":
        mask = "causal" if sizes["causal"] else "full"
        return f"attention d{sizes['D']} {mask} {sizes['S']}"
    layout, short = "NT" if sizes["transposed"] else "NN", sizes["dtype"].replace("float", "f")
    return f"gemm {short} {layout} {sizes['M']}x{sizes['N']}x{sizes['K']}"


def rows(files: Sequence[str], only: str) -> Iterator[Row]:
    """The rows of the result files that name a kernel of ours, each once."""
    known, seen = builds(), set()
    for file in files:
        for row in json.loads((RESULTS / file).read_text(encoding="utf-8"))["rows"]:
            name = row["name"].split(" vs ")[0].split(" at least ")[0]
            if name in seen or name not in known or only not in name or not row["ours"]:
                continue
            seen.add(name)
            case, sizes, options = known[name]
            kind = max((k for k in WORK if name.startswith(k)), key=len)
            seconds = WORK[kind](sizes, options) / (row["ours"] * SCALE[row["unit"]])
            how = GRAPH if row["note"].startswith(GRAPH) else EVENTS
            yield Row(name, case, seconds, how)


def compared(row: Row) -> Compared:
    """Compile and predict one row. What cannot be built counts as far off."""
    import gpu_programs

    from tile_frontend.report.program import predicted

    name, plan, keywords = row.case
    try:
        kernel = gpu_programs.program(name, plan, TARGET).compile(**keywords)
        found = predicted(kernel, contents={"lengths": KEYS, "Lengths": KEYS})
    except Exception as error:  # told in the row
        return Compared(row.name, row.seconds, 0.0, "", str(error).splitlines()[0])
    beside = BETWEEN_EVENTS_S if row.how == EVENTS else 0.0
    longest = found.longest
    bound = longest.bound if longest is not None else ""
    return Compared(row.name, row.seconds, found.seconds + beside, bound)


def table(found: Sequence[Compared]) -> str:
    """The rows as aligned text, and how many are near."""
    width = max((len(c.name) for c in found), default=4)
    lines = [f"{'case':{width}}  measured us  predicted us   ratio  bound by"]
    for c in found:
        mark = c.failure or ("" if c.near else "FAR")
        text = f"{c.name:{width}}  {c.measured * 1e6:11.2f}  {c.predicted * 1e6:12.2f}"
        lines.append(f"{text}  {c.ratio:6.3f}  {c.bound:16} {mark}".rstrip())
    return "\n".join((*lines, verdict(found)))


def verdict(found: Sequence[Compared]) -> str:
    """The share of near predictions in words."""
    near = sum(c.near for c in found)
    return f"{near} of {len(found)} within {NEAR:.0%}: {near / max(1, len(found)):.1%}"


def main() -> int:
    """Compare, print, write, and judge."""
    options = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    options.add_argument("--only", default="", help="rows whose name contains this text")
    options.add_argument("--json", type=Path, help="write the rows here")
    options.add_argument("--check", action="store_true", help=f"fail below {BAR:.0%}")
    options.add_argument("--jobs", type=int, default=2, help="processes that compile")
    options.add_argument("--files", nargs="*", default=FILES, help="result files")
    args = options.parse_args()
    listed = list(rows(args.files, args.only))
    with ProcessPoolExecutor(args.jobs, mp_context=get_context("spawn")) as pool:
        found = list(pool.map(compared, listed))
    print(table(found))
    near = sum(c.near for c in found) / max(1, len(found))
    if args.json:
        each = [{**asdict(c), "ratio": c.ratio} for c in found]
        document = {"target": TARGET, "near": near, "bar": BAR, "within": NEAR, "rows": each}
        args.json.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
    if args.check and near < BAR:
        print(f"below the bar of {BAR:.0%}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
