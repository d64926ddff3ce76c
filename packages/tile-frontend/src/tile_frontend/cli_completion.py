"""`tile completion`: the shell asks the command itself what may follow, through argcomplete."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING

from tile_frontend.cli_output import show
from tile_ir.diag import TileError
from tile_ir.exit_status import ExitStatus

if TYPE_CHECKING:
    import argparse

SHELLS = ("bash", "zsh", "fish")


def add(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument("shell", choices=SHELLS)
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> ExitStatus:
    if find_spec("argcomplete") is None:
        raise TileError(
            "E2603",
            "shell completion needs argcomplete",
            help='pip install "tile-frontend[terminal]"',
        )
    script = import_module("argcomplete").shellcode(["tile"], shell=options.shell)
    show(options.json, {"shell": options.shell, "script": script}, script)
    return ExitStatus.DONE
