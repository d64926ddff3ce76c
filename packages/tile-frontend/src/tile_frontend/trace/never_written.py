"""Memory of the kernel that is read although nothing is ever put into it, above all an accumulator
that nobody cleared.

Only the oracle and the emulator would notice it, and a target may by chance find zeros there. So
what can be told from the program alone is refused when it is traced: no statement writes the memory
but such as combine with what is there. A write that stands behind the read is not looked for: loops
and roles have orders of their own, which the oracle knows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tile_ir.diag import TileError
from tile_ir.opdef import Access
from tile_ir.ops import Alloc, Gemm, View
from tile_ir.rewrite import effects, walk

if TYPE_CHECKING:
    from tile_ir.core import Buffer
    from tile_ir.opdef import Body, Stmt

__all__ = ["refuse_never_written"]


def refuse_never_written(body: Body) -> None:
    """Raises `TileError` E0503 at the first read of allocated memory that nothing writes."""
    stmts = tuple(walk(body))
    allocated = {s.buffer.name: s.buffer for s in stmts if isinstance(s, Alloc) and not s.kept}
    storage = {name: name for name in allocated}
    for stmt in stmts:
        if isinstance(stmt, View) and stmt.source in storage:
            storage[stmt.buffer.name] = storage[stmt.source]
    unwritten = set(allocated)
    for stmt in stmts:
        unwritten -= _filled(stmt, storage)
        if not unwritten:
            return
    for stmt in stmts:
        for read in _read(stmt, storage):
            if read in unwritten:
                raise _never_written(stmt, allocated[read])


def _read(stmt: Stmt, storage: dict[str, str]) -> list[str]:
    """The allocated memory whose old contents the statement uses."""
    skipped = stmt.c.buffer if isinstance(stmt, Gemm) and stmt.init is not None else None
    return [
        storage[e.buffer]
        for e in effects(stmt)
        if e.buffer in storage and e.buffer != skipped and e.access != Access.WRITE
    ]


def _filled(stmt: Stmt, storage: dict[str, str]) -> set[str]:
    """The allocated memory into which the statement may put what it did not take from there."""
    touched = [(storage[e.buffer], e.access) for e in effects(stmt) if e.buffer in storage]
    written = {name for name, access in touched if access & (Access.WRITE | Access.UPDATE)}
    foreign = {name for name, access in touched if access == Access.READ | Access.WRITE}
    return (written - set(_read(stmt, storage))) | foreign


def _never_written(stmt: Stmt, buffer: Buffer) -> TileError:
    adds = isinstance(stmt, Gemm) and stmt.c.buffer == buffer.name
    return TileError(
        "E0503",
        f"{buffer.name} is read, and nothing in the kernel puts anything into it",
        stmt.span,
        notes=(
            f"a product adds to what is in {buffer.name}"
            if adds
            else f"what is in {buffer.name} at first is not defined",
        ),
        help=f"T.clear({buffer.name}) before the first product, or clear_accum=True"
        if adds
        else f"write it first: T.clear({buffer.name}), T.fill, T.copy or an assignment",
    )
