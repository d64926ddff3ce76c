"""Closing a traced function: late annotations applied, unused aliases dropped, what is missing
reported.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from tile_frontend.trace.grid_meetings import apart_at_meetings
from tile_frontend.trace.never_written import refuse_never_written
from tile_ir.core import Buffer, Function, Param
from tile_ir.diag import TileError
from tile_ir.expr import Var, free_vars, walk
from tile_ir.ops import Alloc, Let
from tile_ir.rewrite import map_stmts, stmt_exprs
from tile_ir.rewrite import walk as walk_stmts

if TYPE_CHECKING:
    from tile_frontend.trace.builder import Builder
    from tile_ir.opdef import Body, Stmt


def function(b: Builder) -> Function:
    """The function that `b` has collected."""
    _check_outputs(b)
    for name, span in b.pointers.items():
        raise TileError(
            "E1516",
            f"no tensor is made of the pointer {name}",
            span,
            help="say its shape in the body: A = T.make_tensor(pointer, (M, N), T.float16)",
        )
    if not b.kernels:
        raise TileError(
            "E1106",
            f"{b.name} holds no kernel",
            b.function_span,
            help="write the device part under `with T.Kernel(grid...) as ...:`",
        )
    body = _without_dead_aliases(b, tuple(b.scopes[0].stmts))
    refuse_never_written(body)
    params = tuple(b.params.values())
    if b.patches:
        body = map_stmts(body, lambda s: _patched_alloc(b, s))
        params = tuple(_patched_param(b, p) for p in params)
    made = Function(
        name=b.name,
        params=params,
        body=body,
        dims=_dims(b),
        results=b.results,
        numerics=b.settings.get("numerics", "default"),
        span=b.function_span,
    )
    return apart_at_meetings(made)


def _check_outputs(b: Builder) -> None:
    missing = [name for name in b.outputs if name not in b.results]
    if missing:
        raise TileError(
            "E1103",
            f"{', '.join(missing)} of T.empty is not returned",
            b.outputs[missing[0]].span,
            notes=("an output belongs to the caller",),
            help="return it, or use T.alloc_global for a workspace",
        )


def _dims(b: Builder) -> tuple[Var, ...]:
    scalars = {p.name for p in b.params.values() if p.scalar is not None}
    found: dict[Var, None] = {}
    for param in b.params.values():
        if param.buffer is not None:
            for extent in (*param.buffer.shape, *(param.buffer.strides or ())):
                for var in sorted(free_vars(extent), key=lambda v: v.name):
                    if var.name not in scalars:
                        found.setdefault(var)
    return tuple(found)


def _without_dead_aliases(b: Builder, body: Body) -> Body:
    """Drop the reads of elements that were only named to start tiles; a read does nothing else."""
    if not b.aliases:
        return body
    used = {
        node.name
        for stmt in walk_stmts(body)
        for expr in stmt_exprs(stmt)
        for node in walk(expr)
        if isinstance(node, Var)
    }
    dead = b.aliases - used
    if not dead:
        return body
    return map_stmts(body, lambda s: () if isinstance(s, Let) and s.var.name in dead else None)


def _patched(b: Builder, buffer: Buffer) -> Buffer:
    changes = b.patches.get(buffer.name)
    return dataclasses.replace(buffer, **changes) if changes else buffer


def _patched_alloc(b: Builder, stmt: Stmt) -> Stmt | None:
    if isinstance(stmt, Alloc) and stmt.buffer.name in b.patches:
        return dataclasses.replace(stmt, buffer=_patched(b, stmt.buffer))
    return None


def _patched_param(b: Builder, param: Param) -> Param:
    if param.buffer is None or param.name not in b.patches:
        return param
    return Param(buffer=_patched(b, param.buffer))
