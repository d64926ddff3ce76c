"""Identity-preserving traversal and rewriting of statements: what every pass is built from."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, TypeVar

from tile_ir import expr as ex
from tile_ir.core import Buffer, Function, Range, Region
from tile_ir.expr import Const, Expr, Var
from tile_ir.opdef import Access, Body, Effect, Stmt, bodies, opdef, operand_values

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

S = TypeVar("S", bound=Stmt)


def walk(body: Body) -> Iterator[Stmt]:
    """Every statement in `body`, outer before inner, in program order."""
    stack = [*reversed(body)]
    while stack:
        stmt = stack.pop()
        yield stmt
        inner = bodies(stmt)
        if inner:
            for part in reversed(inner):
                stack.extend(reversed(part))


def _map_operand(value: Any, fn: Callable[[Expr], Expr]) -> Any:
    if isinstance(value, Expr):
        return fn(value)
    if isinstance(value, Region):
        return map_region(value, fn)
    if isinstance(value, tuple):
        new = tuple(_map_operand(v, fn) for v in value)
        return value if all(a is b for a, b in zip(value, new, strict=True)) else new
    return value


def map_region(region: Region, fn: Callable[[Expr], Expr]) -> Region:
    """Apply `fn` to every start and extent of a region."""
    ranges = tuple(
        r if (s := fn(r.start)) is r.start and fn(r.extent) is r.extent else Range(s, fn(r.extent))
        for r in region.ranges
    )
    if all(a is b for a, b in zip(region.ranges, ranges, strict=True)):
        return region
    return Region(region.buffer, ranges, region.slot)


def replace(stmt: S, **changes: Any) -> S:
    """`dataclasses.replace` that returns `stmt` itself when every change is the same object."""
    real = {k: v for k, v in changes.items() if getattr(stmt, k) is not v}
    return dataclasses.replace(stmt, **real) if real else stmt


def map_exprs(stmt: S, fn: Callable[[Expr], Expr]) -> S:
    """Apply `fn` to every top-level expression of the statement itself (not of nested bodies).

    Operands only: loop bounds, indices, values, region starts and extents. Attributes are left
    alone.
    """
    changes = {
        f.name: _map_operand(getattr(stmt, f.name), fn) for f in opdef(stmt).of_kind("operand")
    }
    return replace(stmt, **changes)


def map_bodies(stmt: S, fn: Callable[[Body], Body]) -> S:
    """Apply `fn` to every nested body of the statement."""
    fields = opdef(stmt).of_kind("region")
    return replace(stmt, **{f.name: fn(getattr(stmt, f.name)) for f in fields}) if fields else stmt


def map_stmts(body: Body, fn: Callable[[Stmt], Stmt | Body | None]) -> Body:
    """Rewrite bottom up: `fn` sees a statement after its bodies; None keeps, a tuple splices."""
    out: list[Stmt] = []
    same = True
    for stmt in body:
        inner = map_bodies(stmt, lambda b: map_stmts(b, fn))
        result = fn(inner)
        new = (inner,) if result is None else result if isinstance(result, tuple) else (result,)
        same = same and len(new) == 1 and new[0] is stmt
        out.extend(new)
    return body if same else tuple(out)


def map_all_exprs(body: Body, fn: Callable[[Expr], Expr]) -> Body:
    """Apply `fn` to every expression of every statement in `body`."""
    return map_stmts(body, lambda s: map_exprs(s, fn))


def substitute(env: Mapping[Var, Expr]) -> Callable[[Expr], Expr]:
    """Return a function that replaces variables by `env`, for `map_exprs` and friends (memo shared
    over its calls)."""
    memo: dict[Expr, Expr] = {}
    return lambda e: ex.rewrite(e, lambda n: env.get(n) if isinstance(n, Var) else None, memo)


def with_body(fn: Function, body: Body) -> Function:
    """The function over another body; itself when the body is the same object."""
    return fn if body is fn.body else dataclasses.replace(fn, body=body)


def stmt_exprs(stmt: Stmt) -> tuple[Expr, ...]:
    """Every top-level expression among the statement's own operands, region bounds included."""
    out: list[Expr] = []
    for f in opdef(stmt).of_kind("operand"):
        for value in operand_values(getattr(stmt, f.name)):
            if isinstance(value, Region):
                out.extend(e for r in value.ranges for e in (r.start, r.extent))
            else:
                out.append(value)
    return tuple(out)


def effects(stmt: Stmt) -> tuple[Effect, ...]:
    """The accesses of the statement itself (nested bodies excluded), from its declaration.

    Operands that are regions give their declared access; loads inside any expression are reads. An
    op with an `effects_` method refines this (`Store`, `Atomic`, asynchronous issue).
    """
    refine = getattr(stmt, "effects_", None)
    if refine is not None:
        own: tuple[Effect, ...] = refine()
    else:
        own = tuple(
            Effect(f.metadata["access"], value)
            for f in opdef(stmt).of_kind("operand")
            for value in operand_values(getattr(stmt, f.name))
            if isinstance(value, Region)
        )
    exprs = [e for e in stmt_exprs(stmt) if not isinstance(e, (Const, Var))]
    return (*own, *[Effect(Access.READ, load) for e in exprs for load in ex.loads(e)])


def all_effects(body: Body) -> Iterator[Effect]:
    """The accesses of every statement in `body`, nested ones included."""
    for stmt in walk(body):
        yield from effects(stmt)


def declared(fn: Function) -> dict[str, Buffer]:
    """Every buffer of the function by name: parameters, allocations, views."""
    found = {p.name: p.buffer for p in fn.params if p.buffer is not None}
    for stmt in walk(fn.body):
        for f in opdef(stmt).of_kind("binds"):
            value = getattr(stmt, f.name)
            if isinstance(value, Buffer):
                found[value.name] = value
    return found


def bound_vars(stmt: Stmt) -> tuple[Var, ...]:
    """The variables that the statement brings into scope."""
    out: list[Var] = []
    for f in opdef(stmt).of_kind("binds"):
        value = getattr(stmt, f.name)
        items = value if isinstance(value, tuple) else (value,)
        out.extend(v for v in items if isinstance(v, Var))
    return tuple(out)
