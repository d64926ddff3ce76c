"""The meaning of source text of a target's language: what the program says that stands for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tile_ir.diag import TileError
from tile_ir.interp.compiler import Step, rule
from tile_ir.ops import CallExtern, Native, Source

if TYPE_CHECKING:
    from collections.abc import Callable

    from tile_ir.interp.compiler import Compiler
    from tile_ir.interp.machine import Env


@rule(Source)
def source(cx: Compiler, s: Source) -> Callable[[Env], None]:
    """Text is not run here."""
    return lambda env: None


@rule(Native)
def native(cx: Compiler, s: Native) -> Step:
    """What stands for it."""
    return cx.body(s.orelse or s.then)


@rule(CallExtern)
def call_extern(cx: Compiler, s: CallExtern) -> Callable[[Env], None]:
    """Nothing but a target of its language knows.

    Raises:
        TileError: E0518 always.
    """

    def run(env: Env) -> None:
        raise TileError(
            "E0518",
            f"nothing but a target of its language can call {s.name}",
            help="say what it does: T.call_extern(..., reference=function)",
        )

    return run
