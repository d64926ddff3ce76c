"""The verifier: structure, the rules of each op, what the stage allows; all violations at once."""

from __future__ import annotations

from tile_ir.core import Function, Module
from tile_ir.diag import Diagnostic, InternalError, TileError
from tile_ir.verify.protocol import check_protocol
from tile_ir.verify.report import Report
from tile_ir.verify.structure import check_function

__all__ = ["check", "verify"]


def verify(program: Function | Module) -> tuple[Diagnostic, ...]:
    """Every violation in the program, in the order of the text; empty when it is valid."""
    functions = program.functions if isinstance(program, Module) else (program,)
    report = Report()
    names: set[str] = set()
    for fn in functions:
        report.span = fn.span
        if fn.name in names:
            report("E0401", f"function {fn.name} is defined twice")
        names.add(fn.name)
        check_function(fn, report)
        check_protocol(fn, report)
    return tuple(report.found)


def check(program: Function | Module, internal: bool = False) -> None:
    """Raise the violations of a program, if it has any.

    Raises:
        TileError: with a diagnostic for each violation.
        InternalError: the same, when `internal` says that the compiler made the program.
    """
    found = verify(program)
    if not found:
        return
    first, *others = found
    error = InternalError if internal else TileError
    raise error(first.code, first.message, first.span, first.notes, first.help, others)
