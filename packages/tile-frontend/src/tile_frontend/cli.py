"""The command `tile`.

Each command is a line of a table and a module, which is imported when the command is used: help is
there at once. Other distributions add commands through the entry points `tile.commands`.
"""

from __future__ import annotations

import argparse
import os
import sys
import traceback
from importlib import import_module
from typing import TYPE_CHECKING

from tile_frontend.cli_output import show_error
from tile_ir.diag import InternalError, TileError
from tile_ir.exit_status import status_of
from tile_ir.plugin import discover, load, resolve

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tile_ir.plugin import Ref

__all__ = ["main"]

COMMANDS: dict[str, tuple[str, Ref]] = {
    "compile": ("print or write what a kernel is compiled to", "tile_frontend.cli_compile:add"),
    "run": ("run a kernel on random inputs and check it", "tile_frontend.cli_run:add"),
    "numerics": ("say how exact a kernel is", "tile_frontend.cli_numerics:add"),
    "bench": ("measure a kernel", "tile_frontend.cli_bench:add"),
    "explain": ("explain a diagnostic code, or a kernel's plan", "tile_frontend.cli_explain:add"),
    "report": ("predict a kernel's time, and write a page", "tile_frontend.cli_report:add"),
    "cache": ("list, prune, export or import compiled kernels", "tile_frontend.cli_cache:add"),
    "targets": ("list targets, architectures and devices", "tile_frontend.cli_doctor:add_targets"),
    "doctor": ("show what works here and what to install", "tile_frontend.cli_doctor:add"),
    "opt": ("run passes over IR text", "tile_passes.cli:add"),
    "fuzz": ("try the compiler on random programs", "tile_passes.fuzz.cli:add"),
    "completion": ("print the completion script of a shell", "tile_frontend.cli_completion:add"),
}
"""Command -> a line of help, and what adds its options to a parser."""
EPILOG = """exit status: 0 done, 1 something found (wrong values, a broken plugin), 2 wrong command
line, 3 a kernel was refused, 4 a mistake of the compiler. Errors go to standard error."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command with `argv` (by default the process's) and return its `ExitStatus`."""
    given = list(sys.argv[1:] if argv is None else argv)
    if "_ARGCOMPLETE" in os.environ:
        return _complete()
    wanted = next((word for word in given if not word.startswith("-")), "")
    options = _parser(wanted).parse_args(given)
    path = list(sys.path)
    try:
        run: Callable[[argparse.Namespace], int] = options.run
        status = run(options)
        sys.stdout.flush()
    except BrokenPipeError:  # who read the output has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (TileError, InternalError, OSError, KeyboardInterrupt) as error:
        show_error(getattr(options, "json", False), error)
        return int(status_of(error))
    except Exception as error:  # a defect of ours
        traceback.print_exc()
        show_error(getattr(options, "json", False), error)
        return int(status_of(error))
    finally:
        sys.path[:] = path  # a kernel's file has put its folder there
    return int(status)


def _parser(wanted: str, every: bool = False) -> argparse.ArgumentParser:
    """The parser, with the options of the command that is `wanted`, or of all."""
    parser = argparse.ArgumentParser(
        prog="tile",
        description="Compile, run, measure and tune kernels of the tile language.",
        epilog=EPILOG,
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    known = dict(COMMANDS)
    if every or wanted not in known:  # looking for others takes as long as all the rest
        known.update(_others())
    for name, (help_, add) in known.items():
        one = commands.add_parser(name, help=help_, description=f"{help_[0].upper()}{help_[1:]}.")
        if every or name == wanted:
            resolve(add)(one)
    return parser


def _others() -> dict[str, tuple[str, Ref]]:
    """The commands of other distributions; a broken one says so in the help, and is the doctor's
    to explain."""
    found: dict[str, tuple[str, Ref]] = {}
    for entry in discover("tile.commands"):
        try:
            manifest = load("tile.commands", entry.name)
        except TileError as error:
            found[entry.name] = (f"broken: {error.message}", "tile_frontend.cli_doctor:add")
        else:
            found[entry.name] = (manifest.description, manifest.factory)
    return found


def _complete() -> int:
    """Answer the shell, which asks by the environment (see `tile completion`)."""
    import_module("argcomplete").autocomplete(_parser("", every=True))
    return 0
