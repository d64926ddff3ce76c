"""Keep one row of a tile whose rows are made and used up one after the other.

After loops over the same rows were fused, a tile may live only within an iteration: each row is
written and read before the next one begins. Then one row of memory serves all of them and stays in
the nearest cache; a value per row becomes a scalar.

    before:  alloc x: fragment f32[8, 64];  alloc s: fragment f32[8]
             for i in (0, 8, 1) { ... store x[i, j] = A[i, j] ... store s[i] = acc[] ... }
    after:   alloc x: fragment f32[64];  alloc s: var f32[]
             for i in (0, 8, 1) { ... store x[j] = A[i, j] ... store s[] = acc[] ... }
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from tile_ir import expr as ex
from tile_ir.core import Buffer, Region
from tile_ir.expr import Expr, Load
from tile_ir.opdef import Body, Stmt, opdef
from tile_ir.ops import Alloc, For, Store, View
from tile_ir.rewrite import (
    all_effects,
    map_all_exprs,
    map_bodies,
    map_stmts,
    replace,
    walk,
    with_body,
)
from tile_passes.base import Pass, PassContext

if TYPE_CHECKING:
    from tile_ir.core import Function
    from tile_passes.plan.model import Plan

__all__ = ["PASS", "contract_rows"]

_SCOPES = frozenset({"shared", "fragment", "local"})


def _body(body: Body) -> Body:
    inner = tuple(map_bodies(s, _body) for s in body)
    rows = {s.buffer.name: s.buffer for s in inner if isinstance(s, Alloc) and _may(s.buffer)}
    where = _only_loops(inner, set(rows)) if rows else {}
    found = {n: loop for n, loop in where.items() if _by_row(loop, n)}
    if found:
        inner = tuple(_contracted(s, found, rows) for s in inner)
    same = all(x is y for x, y in zip(inner, body, strict=True))
    return body if same else inner


def _may(b: Buffer) -> bool:
    return b.scope in _SCOPES and b.rank > 0 and b.layout is None


def _only_loops(body: Body, names: set[str]) -> dict[str, For]:
    """For each buffer the one statement that uses it, where that is a loop over elements."""
    users: dict[str, list[Stmt]] = {name: [] for name in names}
    for s in body:
        for name in _used(s) & names:
            users[name].append(s)
    whole = {name for s in body for x in walk((s,)) for name in _as_a_whole(x)}
    return {
        name: found[0]
        for name, found in users.items()
        if len(found) == 1 and isinstance(found[0], For) and name not in whole
    }


def _used(s: Stmt) -> set[str]:
    views = {x.source for x in walk((s,)) if isinstance(x, View)}
    return views | {e.buffer for e in all_effects((s,))}


def _as_a_whole(s: Stmt) -> list[str]:
    """Buffers that a statement touches by region, or names anew."""
    if isinstance(s, View):
        return [s.source]
    values = (getattr(s, f.name) for f in opdef(s).of_kind("operand"))
    return [v.buffer for v in values if isinstance(v, Region)]


def _by_row(loop: For, name: str) -> bool:
    """Whether every access names the row of the loop."""
    touched = [e.region for e in all_effects(loop.body) if e.buffer == name]
    return all(isinstance(r, Load) and r.indices[0] is loop.var for r in touched)


def _contracted(s: Stmt, found: dict[str, For], rows: dict[str, Buffer]) -> Stmt:
    if isinstance(s, Alloc) and s.buffer.name in found:
        return replace(s, buffer=_one_row(s.buffer))
    mine = {name for name, loop in found.items() if loop is s}
    if not mine or not isinstance(s, For):
        return s
    memo: dict[Expr, Expr] = {}

    def load(e: Expr) -> Expr | None:
        if isinstance(e, Load) and e.buffer in mine:
            return Load(e.buffer, e.indices[1:], e.dtype, e.slot)
        return None

    def store(x: Stmt) -> Stmt | None:
        if isinstance(x, Store) and x.buffer in mine:
            return replace(x, indices=x.indices[1:])
        return None

    inner = map_all_exprs(s.body, lambda e: ex.rewrite(e, load, memo))
    return replace(s, body=map_stmts(inner, store))


def _one_row(b: Buffer) -> Buffer:
    shape = b.shape[1:]
    return dataclasses.replace(b, shape=shape, scope=b.scope if shape else "var")


def contract_rows(fn: Function) -> Function:
    """Return the function with tiles that live within a row cut down to one row."""
    return with_body(fn, _body(fn.body))


def _run(fn: Function, cx: PassContext, plan: Plan) -> Function:
    return contract_rows(fn)


PASS = Pass(name="contract-rows", phase="lower", rewrite=_run, doc=__doc__)
