"""`tile explain`: an entry of the catalogue of diagnostic codes, or the decisions of a Plan."""

from __future__ import annotations

import re
from dataclasses import asdict
from typing import TYPE_CHECKING

from tile_frontend.cli_kernels import PLACE, add_kernel, arguments_of, built, kernel_at, of_user
from tile_frontend.cli_output import show
from tile_ir.diag import TileError
from tile_ir.exit_status import ExitStatus

if TYPE_CHECKING:
    import argparse

_CODE = re.compile(r"[EeWw]\d{4}\Z")


def add(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    add_kernel(parser, f"a code as in E1401, or {PLACE}")
    parser.add_argument("--key", help="only decisions whose key starts with this")
    parser.add_argument(
        "--why",
        action="store_true",
        help="also why engines do not carry a copy, and what limits how wide threads move it",
    )
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> ExitStatus:
    if _CODE.match(options.kernel):
        return _code(options, options.kernel.upper())
    from tile_frontend.report import explain

    with of_user(options.json):
        found = kernel_at(options.kernel)
        kernel = built(found, arguments_of(options), options.target, options.device)
    plan = kernel.reasons() if options.why else kernel.plan
    decisions = [asdict(d) for d in plan if d.key.startswith(options.key or "")]
    document = {"name": kernel.function.name, "target": str(kernel.target), "decisions": decisions}
    show(options.json, document, explain(plan, options.key))
    return ExitStatus.DONE


def _code(options: argparse.Namespace, code: str) -> ExitStatus:
    from tile_ir.codes import catalogue, page  # a module for each area

    known = catalogue()
    if code not in known:
        area = ", ".join(c for c in known if c.startswith(code[:3]))
        near = f"near it: {area}" if area else "codes are E or W and four digits, E0001 the first"
        raise TileError("E2604", f"there is no code {code}", help=near)
    found = page(code)
    show(options.json, asdict(found), found.render())
    return ExitStatus.DONE
