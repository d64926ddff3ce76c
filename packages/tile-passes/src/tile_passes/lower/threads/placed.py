"""Shared memory as one thread's program declares it: tiles that threads address themselves are
flat, tiles that engines address keep their axes, and barriers stand behind all of them.

A tile that both address is declared twice at one offset, the flat one under a name of its own.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from tile_ir.core import Region
from tile_ir.diag import TileError
from tile_ir.expr import Expr, Load, Var, free_vars, rewrite
from tile_ir.opdef import opdef, operand_values
from tile_ir.ops import Alloc, Atom, Barriers, BoxLoad, BoxStore, Let, Store
from tile_ir.rewrite import effects, map_stmts, replace, stmt_exprs, walk
from tile_passes.lower.threads.arena import end_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tile_ir.core import Buffer
    from tile_ir.opdef import Body, Stmt
    from tile_passes.naming import Names

__all__ = ["placed"]

_BY_ENGINES = (Atom, BoxLoad, BoxStore)
_BARRIER_BYTES = 8


def placed(
    body: Body, flat: Mapping[str, Buffer], tiles: Mapping[str, Buffer], names: Names, room: int
) -> Body:
    """The kernel's body with every shared tile and barrier at its offset.

    `flat` has the shared tiles at their offsets as runs of elements, `tiles` with their axes;
    `room` is how many bytes a block has (0: not known).

    Raises:
        TileError: E0703 when the barriers do not fit behind the tiles.
    """
    engines: set[str] = set()
    threads: set[str] = set()
    touched: dict[int, set[str]] = {}  # by identity: the body holds its statements
    for s in walk(body):
        if isinstance(s, _BY_ENGINES):
            engines |= _regions(s)
        else:
            touched[id(s)] = _touched(s)
            threads |= touched[id(s)]
    engines &= set(flat)
    renamed = {n: names.fresh(f"{n}_flat") for n in sorted(engines & threads)}
    unused = _unused(body)
    offsets = _barrier_offsets(body, flat, room)

    def visit(s: Stmt) -> Stmt | Body | None:
        if isinstance(s, Barriers):
            return replace(s, offset=offsets[s.name])
        if isinstance(s, Alloc) and s.buffer.name in flat:
            return _declared(s, flat[s.buffer.name], tiles, engines, renamed)
        if isinstance(s, Let) and s.var in unused:
            return ()
        if isinstance(s, _BY_ENGINES) or not renamed:
            return s
        found = touched.get(id(s))  # a statement is new where its bodies are
        if found is not None and found.isdisjoint(renamed):
            return s
        return _renamed(s, renamed)

    return map_stmts(body, visit)


def _barrier_offsets(body: Body, flat: Mapping[str, Buffer], room: int) -> dict[str, int]:
    """Where barriers begin, behind all tiles."""
    offset = -(-max(map(end_of, flat.values()), default=0) // _BARRIER_BYTES) * _BARRIER_BYTES
    offsets: dict[str, int] = {}
    for s in walk(body):
        if isinstance(s, Barriers):
            offsets[s.name] = offset
            offset += s.count * _BARRIER_BYTES
    if offsets and room and offset > room:
        raise TileError(
            "E0703",
            f"shared buffers and barriers take {offset} bytes, a block has {room}",
            help="use fewer stages or smaller tiles",
        )
    return offsets


def _unused(body: Body) -> set[Var]:
    """What rules bound in case it would be used."""
    values: dict[Var, Expr] = {}
    work: list[Expr] = []
    for s in walk(body):
        if isinstance(s, Let):
            values[s.var] = s.value
        else:
            work.extend(stmt_exprs(s))
    used: set[Var] = set()
    while work:
        for v in free_vars(work.pop()) - used:
            used.add(v)
            if v in values:
                work.append(values[v])
    return values.keys() - used


def _declared(
    s: Alloc,
    flat: Buffer,
    tiles: Mapping[str, Buffer],
    engines: set[str],
    renamed: Mapping[str, str],
) -> Body:
    name = flat.name
    if name not in engines:
        return (replace(s, buffer=flat),)
    tile = dataclasses.replace(tiles[name], offset=flat.offset)
    out: Body = (replace(s, buffer=tile),)
    if name in renamed:
        out += (replace(s, buffer=dataclasses.replace(flat, name=renamed[name])),)
    return out


def _regions(s: Stmt) -> set[str]:
    fields = opdef(s).of_kind("operand")
    values = (v for f in fields for v in operand_values(getattr(s, f.name)))
    return {v.buffer for v in values if isinstance(v, Region)}


def _touched(s: Stmt) -> set[str]:
    return {e.buffer for e in effects(s)}


def _renamed(s: Stmt, names: Mapping[str, str]) -> Stmt:
    memo: dict[Expr, Expr] = {}

    def load(e: Expr) -> Expr | None:
        if isinstance(e, Load) and e.buffer in names:
            return Load(names[e.buffer], e.indices, e.dtype, e.slot)
        return None

    def operand(value: Any) -> Any:
        if isinstance(value, Expr):
            return rewrite(value, load, memo)
        if isinstance(value, Region) and value.buffer in names:
            return Region(names[value.buffer], value.ranges, value.slot)
        return tuple(map(operand, value)) if isinstance(value, tuple) else value

    changes = {f.name: operand(getattr(s, f.name)) for f in opdef(s).of_kind("operand")}
    if isinstance(s, Store) and s.buffer in names:
        changes["buffer"] = names[s.buffer]
    return replace(s, **changes)
