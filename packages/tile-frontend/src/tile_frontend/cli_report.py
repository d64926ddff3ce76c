"""`tile report`: what the performance model says of a kernel, and the page about it."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING

from tile_frontend.cli_kernels import add_kernel, arguments_of, built, kernel_at, of_user, values
from tile_frontend.cli_output import show
from tile_ir.exit_status import ExitStatus

if TYPE_CHECKING:
    from tile_passes.model import Prediction


def add(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    add_kernel(parser)
    parser.add_argument("-o", "--output", type=Path, help="write the page here (HTML)")
    parser.add_argument("--trace", type=Path, help="write the timeline here (for Perfetto)")
    parser.add_argument("--measured", type=_microseconds, help="a measured time in microseconds")
    parser.set_defaults(run=_run)


def _microseconds(text: str) -> float:
    found = float(text)
    if not 0 < found < inf:
        raise argparse.ArgumentTypeError(f"{text} is no time")
    return found


def _run(options: argparse.Namespace) -> ExitStatus:
    from tile_frontend.report.page import write, write_text
    from tile_passes.model import chrome_trace, gap

    with of_user(options.json):
        kernel = built(
            kernel_at(options.kernel), arguments_of(options), options.target, options.device
        )
        dims = values(options.dim)
        prediction = kernel.predict(dims=dims)
        measured = options.measured * 1e-6 if options.measured else None
        files, lines = [], [prediction.table()]
        if measured:
            found = gap(prediction, measured)
            lines.append(f"measured {found.ratio:.2f} times the prediction: {found.cause}")
        if options.output:
            files.append(write(kernel, options.output, dims=dims, measured=measured))
        if options.trace:
            files.append(write_text(options.trace, chrome_trace(prediction)))
        lines += [f"wrote {path}" for path in files]
    show(options.json, {**_document(prediction), "files": [*map(str, files)]}, "\n".join(lines))
    return ExitStatus.DONE


def _document(prediction: Prediction) -> dict[str, object]:
    kernels = [
        {
            "name": k.name,
            "seconds": k.seconds,
            "bound": k.bound,
            "reason": k.reason,
            "blocks_per_core": k.blocks_per_core,
            "terms": [asdict(t) for t in k.terms],
        }
        for k in prediction.kernels
    ]
    return {
        "name": prediction.name,
        "target": prediction.target,
        "seconds": prediction.seconds,
        "kernels": kernels,
        "assumed": list(prediction.assumed),
    }
