"""Collecting findings: a rule reports and goes on, so that one run names every violation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tile_ir.diag import Diagnostic, Severity

if TYPE_CHECKING:
    from tile_ir.diag import Fix, Span
    from tile_ir.expr import Expr


class Report:
    """The findings so far. `span` is the place of the statement being looked at."""

    __slots__ = ("found", "span")

    def __init__(self) -> None:
        self.found: list[Diagnostic] = []
        self.span: Span | None = None

    def __call__(
        self,
        code: str,
        message: str,
        *notes: str,
        fix: str | None = None,
        span: Span | None = None,
        mend: Fix | None = None,
    ) -> None:
        """Report one violation at `span`, by default the statement's; `fix` is its help line."""
        place = span or self.span
        self.found.append(Diagnostic(code, message, Severity.ERROR, place, notes, fix, mend))


_LONGEST = 60


def shown(e: Expr) -> str:
    """An expression for a message, cut where it is long."""
    text = str(e)
    return text if len(text) <= _LONGEST else text[:_LONGEST] + "..."
