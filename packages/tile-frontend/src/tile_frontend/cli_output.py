"""What the commands print: one JSON document for programs; for people a table, drawn by rich where
that is installed and standard output is a terminal, and plain text everywhere else."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from tile_ir.diag import InternalError, TileError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Table", "show", "show_error"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Rows under a head, all text."""

    head: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]

    def __str__(self) -> str:
        lines = [self.head, *self.rows]
        widths = [max(len(line[i]) for line in lines) for i in range(len(self.head))]
        return "\n".join(
            "  ".join(cell.ljust(w) for cell, w in zip(line, widths, strict=True)).rstrip()
            for line in lines
        )


def show(as_json: bool, document: Any, *parts: Table | str) -> None:
    """Print the document, or what it says for people."""
    if as_json:
        print(json.dumps(document, default=str))
        return
    drawn = sys.stdout.isatty() and find_spec("rich") is not None
    for part in parts:
        if isinstance(part, Table) and drawn:
            _draw(part)
        else:
            print(part)


def show_error(as_json: bool, error: BaseException) -> None:
    """Print an error on standard error; the one JSON document then says the same."""
    print(error if str(error) else type(error).__name__, file=sys.stderr)
    if as_json:
        print(json.dumps({"error": _document(error)}, default=str))


def _document(error: BaseException) -> dict[str, Any]:
    if not isinstance(error, (TileError, InternalError)):
        return {"code": None, "message": str(error) or type(error).__name__}
    first = error.diagnostics[0]
    return {
        "code": first.code,
        "message": first.message,
        "place": str(first.span) if first.span is not None else None,
        "notes": list(first.notes),
        "help": first.help,
        "fix": None if first.edit is None else asdict(first.edit),
    }


def _draw(table: Table) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table as Drawn
    from rich.text import Text

    drawn = Drawn(*table.head, box=box.SIMPLE_HEAD, pad_edge=False)
    for row in table.rows:
        drawn.add_row(*map(Text, row))  # not markup: names may hold brackets
    Console().print(drawn)
