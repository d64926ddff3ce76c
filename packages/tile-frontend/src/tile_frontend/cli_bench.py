"""`tile bench`: how long a kernel takes on random inputs."""

from __future__ import annotations

import argparse
from math import inf, prod
from typing import TYPE_CHECKING, Any

from tile_frontend.cli_kernels import (
    add_kernel,
    arguments_of,
    built,
    kernel_at,
    of_user,
    values,
)
from tile_frontend.cli_output import Table, show
from tile_ir.exit_status import ExitStatus

if TYPE_CHECKING:
    from collections.abc import Sequence

QUANTILES = (0.2, 0.5, 0.8)


def add(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    add_kernel(parser)
    parser.add_argument("--seconds", type=_seconds, default=1.0, help="how long to measure (1)")
    parser.add_argument(
        "--clock",
        choices=("event", "graph", "wall"),
        default="event",
        help="the device's between two events, the same in a graph, or the host's (see do_bench)",
    )
    parser.set_defaults(run=_run)


def _seconds(text: str) -> float:
    found = float(text)
    if not 0 < found < inf:
        raise argparse.ArgumentTypeError(f"{text} is no time to measure for")
    return found


def _run(options: argparse.Namespace) -> ExitStatus:
    from tile_frontend.profiler import do_bench  # it needs numpy

    with of_user(options.json):
        found = kernel_at(options.kernel)
        kernel = built(found, arguments_of(options), options.target, options.device)
        inputs = kernel.get_profiler().inputs(values(options.dim))
        low, median, high = do_bench(
            lambda: kernel(*inputs),
            warmup=100 * options.seconds,
            rep=1000 * options.seconds,
            device=kernel.target.device,
            quantiles=QUANTILES,
            backend=options.clock,
        )
    touched = _bytes(inputs)
    document = {
        "name": kernel.function.name,
        "target": str(kernel.target),
        "milliseconds": {"20%": low, "median": median, "80%": high},
        "input_bytes": touched,
        "clock": options.clock,
    }
    row = (*(f"{t:.4g}" for t in (median, low, high)), f"{touched / median / 1e6:.3g}")
    table = Table(head=("median ms", "20%", "80%", "GB/s of inputs"), rows=[row])
    show(options.json, document, f"{kernel.function.name} for {kernel.target}", table)
    return ExitStatus.DONE


def _bytes(arrays: Sequence[Any]) -> int:
    sizes = [(a.shape, a.dtype.itemsize) for a in arrays if hasattr(a, "shape")]
    return sum(prod(shape) * size for shape, size in sizes)
