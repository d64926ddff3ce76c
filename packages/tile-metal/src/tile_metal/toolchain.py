"""Whether emitted Metal source is right, as far as this machine can tell.

The machine code is made by the system of the device that loads the source; there is nothing to
build before. What is wrong is said here, in terms of the user's kernel, and not at the first call.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tile_ir.diag import TileError
from tile_metal.checkers import find_checker, forbidden
from tile_passes.launch.messages import CLANG_PLACED, Messages

if TYPE_CHECKING:
    from tile_metal.checkers import Checker

__all__ = ["MESSAGES", "check_source"]

MESSAGES = Messages(
    placed=CLANG_PLACED,
    unplaced=re.compile(r"^(?:fatal )?error: (?P<text>.*)$", re.M),
    missing=re.compile(r"is unavailable|not supported on this", re.I),
    compiler="the Metal compiler",
)


def check_source(source: str, checker: Checker | None = None) -> None:
    """Compile Metal source as far as types and address spaces go, with the compiler at hand.

    Raises TileError E3001 (the compiler asked for is not there), E3002 (refused), E3015 (something
    that the language version lacks).
    """
    chosen = checker or find_checker()
    if chosen is None:
        return
    lines = "".join(
        f"kernel.metal:{line}:1: error: {what}, which Metal does not have\n"
        for line, what in forbidden(source)
    )
    try:
        log = lines or chosen.log(source)
    except OSError as error:
        raise TileError(
            "E3002",
            f"the compiler failed: {error}",
            notes=(chosen.release,),
            help="Install it again, or set TILE_METAL_CHECK=none.",
        ) from None
    if log:
        raise MESSAGES.refusal(log, source, chosen.release)
