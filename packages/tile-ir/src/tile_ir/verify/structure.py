"""The walk over a function: names and scopes, nesting, and the call of every op's own rule."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tile_ir import ops
from tile_ir.core import Buffer, Region, Stage
from tile_ir.expr import Var
from tile_ir.opdef import bodies, opdef, operand_values
from tile_ir.rewrite import walk
from tile_ir.verify.buffers import check_buffer
from tile_ir.verify.context import Context
from tile_ir.verify.rules import RULES
from tile_ir.verify.stages import check_stage

if TYPE_CHECKING:
    from collections.abc import Callable

    from tile_ir.core import Function, Param
    from tile_ir.opdef import Body, OpDef, Stmt
    from tile_ir.verify.context import Place
    from tile_ir.verify.report import Report

_HOST = (ops.Kernel, ops.Alloc, ops.View, ops.Let, ops.If, ops.Assert, ops.Assume, ops.Print)
"""What may stand in a function outside its kernels."""

_BESIDE_TILES = (ops.Tiles, ops.Let, ops.Assert, ops.Assume)
"""What may stand directly in a kernel while the tile loop is still the user's."""

_LEAVES = (ops.Break, ops.Continue)

_DEEPER: dict[type[Stmt], Callable[[Stmt, Place], Place]] = {
    ops.Kernel: lambda s, p: p.inside(kernel=True, loop=False),
    ops.Tiles: lambda s, p: p.inside(tiles=True, loop=False),
    ops.For: lambda s, p: p.inside(loop=True),
    ops.While: lambda s, p: p.inside(loop=True),
    ops.Parallel: lambda s, p: p.inside(parallel=True, loop=False),
    ops.Role: lambda s, p: p.inside(role=s.name, loop=False),  # type: ignore[attr-defined]  # a Role
    ops.Issue: lambda s, p: p.inside(loop=False),
}
"""How an op changes the place of its bodies; others leave it as it is."""


def check_function(fn: Function, report: Report) -> None:
    """Report every violation in `fn`."""
    cx = Context(report, fn.stage)
    report.span = fn.span
    _signature(fn, cx)
    _gather(fn.body, cx)
    _body(fn.body, cx)


def _signature(fn: Function, cx: Context) -> None:
    for dim in fn.dims:
        cx.declare(dim)
        if not dim.dtype.is_int:
            cx.report("E0403", f"the dimension {dim.name} is {dim.dtype}, not an integer")
    for p in fn.params:
        _parameter(p, cx)
    for p in fn.params:
        if p.buffer is not None:
            check_buffer(p.buffer, cx)
    _results(fn, cx)


def _parameter(p: Param, cx: Context) -> None:
    if (p.buffer is None) is (p.scalar is None):
        cx.report("E0411", "a parameter is a buffer or a scalar, exactly one of them")
    elif p.scalar is not None:
        cx.declare(p.scalar)
    elif p.buffer is not None:
        cx.declare(p.buffer)
        if p.buffer.scope != "global":
            cx.report("E0411", f"the parameter {p.name} is in {p.buffer.scope} memory")


def _results(fn: Function, cx: Context) -> None:
    buffers = {p.name for p in fn.params if p.buffer is not None}
    for i, name in enumerate(fn.results):
        if name not in buffers:
            cx.report("E0411", f"the result {name} is no buffer parameter")
        if name in fn.results[:i]:
            cx.report("E0411", f"{name} is returned twice")


def _gather(body: Body, cx: Context) -> None:
    """Note engines and tokens: a loop may settle what its previous trip grouped."""
    for stmt in walk(body):
        if type(stmt) is ops.Group:
            cx.tokens.add(stmt.token)
        elif type(stmt) is ops.Issue:
            cx.engines.add(stmt.engine)


def _body(body: Body, cx: Context) -> None:
    mark = cx.symbols.mark()
    for stmt in body:
        _stmt(stmt, cx)
    cx.symbols.reset(mark)


def _stmt(stmt: Stmt, cx: Context) -> None:
    report = cx.report
    outer_span = report.span
    report.span = stmt.span or outer_span
    op = opdef(stmt)
    check_stage(op, cx)
    _nesting(stmt, cx)
    for name in _names(op, "operand"):
        for value in operand_values(getattr(stmt, name)):
            if isinstance(value, Region):
                cx.region(value)
            else:
                cx.expression(value)
    rule = RULES.get(type(stmt))
    if rule is not None:
        rule(stmt, cx)
    if op.verify is not None:
        report.found.extend(op.verify(stmt))
    _inner(stmt, cx)
    report.span = outer_span


_NAMES: dict[tuple[type, str], tuple[str, ...]] = {}


def _names(op: OpDef, kind: str) -> tuple[str, ...]:
    """The names of the fields declared as `kind`, found once for each op."""
    key = (op.cls, kind)
    found = _NAMES.get(key)
    if found is None:
        found = _NAMES[key] = tuple(f.name for f in op.of_kind(kind))
    return found


def _inner(stmt: Stmt, cx: Context) -> None:
    """Declare what the statement binds: for its bodies, or without bodies for what follows."""
    inner = bodies(stmt)
    mark = cx.symbols.mark()
    for name in _names(opdef(stmt), "binds"):
        value = getattr(stmt, name)
        for symbol in value if isinstance(value, tuple) else (value,):
            if isinstance(symbol, (Var, Buffer)):
                cx.declare(symbol)
            if isinstance(symbol, Buffer):
                check_buffer(symbol, cx)
    if not inner:
        return
    place = cx.place
    deeper = _DEEPER.get(type(stmt))
    if deeper is not None:
        cx.place = deeper(stmt, place)
    for body in inner:
        _body(body, cx)
    cx.place = place
    cx.symbols.reset(mark)


def _nesting(stmt: Stmt, cx: Context) -> None:
    place, name = cx.place, opdef(stmt).name
    if isinstance(stmt, _LEAVES) and not place.loop:
        cx.report("E0412", f"{name} stands outside a loop", "a for or while around it, in one body")
    if isinstance(stmt, ops.Kernel):
        if place.kernel:
            cx.report("E0413", f"kernel {stmt.name} stands inside another kernel")
        elif cx.stage is Stage.TILE:
            _kernel_body(stmt, cx)
    elif not place.kernel and not isinstance(stmt, _HOST):
        cx.report("E0413", f"{name} stands outside a kernel", fix="put it into a kernel's tiles")
    if isinstance(stmt, ops.Tiles) and place.tiles:
        cx.report("E0414", "a tile loop stands inside another one")


def _kernel_body(kernel: ops.Kernel, cx: Context) -> None:
    loops = sum(isinstance(s, ops.Tiles) for s in kernel.body)
    if loops != 1:
        cx.report("E0414", f"kernel {kernel.name} has {loops} tile loops, not one")
    for stmt in kernel.body:
        if not isinstance(stmt, _BESIDE_TILES):
            cx.report(
                "E0414",
                f"{opdef(stmt).name} stands beside the tile loop of kernel {kernel.name}",
                fix="move it into the tile loop",
                span=stmt.span,
            )
