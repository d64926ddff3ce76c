"""What the commands of all packages tell the shell, so that scripts can tell a wrong result from a
wrong command line, and both from a mistake of ours."""

from __future__ import annotations

from enum import IntEnum

from tile_ir.diag import InternalError, TileError

__all__ = ["ExitStatus", "status_of"]


class ExitStatus(IntEnum):
    """Exit status of a command; docs/command-line.md shows them to users."""

    DONE = 0
    FOUND = 1
    """The command ran and found what is not as it should be: other values, a broken plugin."""
    USAGE = 2
    """The command line is wrong: options, files, names. argparse uses the same number."""
    REFUSED = 3
    """A kernel could not be traced, built, launched or measured."""
    INTERNAL = 4
    """A mistake of the compiler's own."""
    INTERRUPTED = 130
    """As shells number a process that was interrupted from the keyboard."""


_USAGE = frozenset(
    ("E0901", "E0907", "E0916", "E1116", "E2103", "E2104", "E2602", "E2603", "E2604")
)
"""Codes for what was named on the command line and is not there."""


def status_of(error: BaseException) -> ExitStatus:
    """The status of a command that ended with an error."""
    if isinstance(error, KeyboardInterrupt):
        return ExitStatus.INTERRUPTED
    if isinstance(error, InternalError):
        return ExitStatus.INTERNAL
    if isinstance(error, TileError):
        return ExitStatus.USAGE if error.code in _USAGE else ExitStatus.REFUSED
    return ExitStatus.USAGE if isinstance(error, OSError) else ExitStatus.INTERNAL
