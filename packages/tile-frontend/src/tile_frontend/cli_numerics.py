"""`tile numerics`: how exact a kernel's results are on random inputs, in units in the last place
against float64, and whether two runs give the same bits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tile_frontend.cli_kernels import add_kernel, arguments_of, built, kernel_at, of_user, values
from tile_frontend.cli_output import show
from tile_frontend.cli_run import Case
from tile_ir.exit_status import ExitStatus

if TYPE_CHECKING:
    import argparse

__all__ = ["add"]


def add(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    add_kernel(parser)
    parser.add_argument("--seed", type=int, default=0, help="of the random inputs (default 0)")
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> ExitStatus:
    from tile_frontend.numerics import beside_double  # it needs numpy

    with of_user(options.json):
        found, sizes = kernel_at(options.kernel), arguments_of(options)
        kernel = built(found, sizes, options.target, options.device)
        case = Case(kernel=kernel, sizes=sizes, dims=values(options.dim))
        after, _ = case.call(options.seed)
        report = beside_double(kernel, case.inputs, after)
    document = {"target": str(kernel.target), "sizes": {**sizes, **case.dims}, **report.to_json()}
    show(options.json, document, str(report))
    return ExitStatus.DONE
