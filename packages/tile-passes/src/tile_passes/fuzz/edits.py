"""Smaller versions of a program: each of these is one edit, and may well mean nothing or something
else. Whoever reduces keeps those that still show the mistake.
"""

from __future__ import annotations

import dataclasses
from functools import partial
from typing import TYPE_CHECKING, Any

from tile_ir import build
from tile_ir import expr as ex
from tile_ir.core import Buffer, Function, Param, Range, Region
from tile_ir.expr import Const, Expr, Load, Var
from tile_ir.opdef import Stmt, opdef
from tile_ir.ops import Alloc, Atomic, Copy, Fill, For, If, Kernel, Parallel, Store, Tiles, View
from tile_ir.rewrite import declared, map_exprs, map_stmts, substitute, walk, with_body
from tile_ir.rewrite import replace as changed
from tile_passes.renaming import with_buffer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from tile_ir.opdef import Body

__all__ = [
    "constants",
    "expressions",
    "fewer_buffers",
    "fewer_statements",
    "plainer",
    "tidied",
    "with_dims",
]


def fewer_statements(fn: Function) -> Iterator[Function]:
    """The program without some of its statements: runs of half of them first, then shorter ones."""
    count = sum(1 for _ in walk(fn.body))
    size = max(count // 2, 1)
    while size:
        for first in range(0, count, size):
            yield _without(fn, frozenset(range(first, first + size)))
        size //= 2


def _without(fn: Function, gone: frozenset[int]) -> Function:
    """Without the statements at these places of a walk; a body that has to hold something stays."""
    place = {id(s): at for at, s in enumerate(walk(fn.body))}

    def body(stmts: Body) -> Body:
        kept: list[Stmt] = []
        for s in stmts:
            if place[id(s)] in gone and not isinstance(s, (Kernel, Tiles)):
                continue
            fields = opdef(s).of_kind("region")
            kept.append(changed(s, **{f.name: body(getattr(s, f.name)) for f in fields}))
        return tuple(kept)

    return with_body(fn, body(fn.body))


def _work(s: Kernel) -> Iterator[Stmt]:
    return (inner for inner in walk(s.body) if not isinstance(inner, Tiles))


def plainer(fn: Function) -> Iterator[Function]:
    """One statement replaced by what it holds, or with a property at its default."""
    buffers = declared(fn)
    for at, s in enumerate(walk(fn.body)):
        for body in (*_unwrapped(s), *_moved(s, buffers)):
            yield _exchanged(fn, at, body)
        for f in opdef(s).fields:
            default: Any = f.default
            missing = default is dataclasses.MISSING or getattr(s, f.name) == default
            if not missing and not (isinstance(s, Kernel) and f.name == "threads"):
                yield _exchanged(fn, at, (changed(s, **{f.name: default}),))


def _unwrapped(s: Stmt) -> Iterator[Body]:
    if isinstance(s, If):
        yield s.then
        yield s.orelse
    if isinstance(s, For):
        yield map_stmts(s.body, lambda t: map_exprs(t, substitute({s.var: s.start})))
        yield (dataclasses.replace(s, stop=build.add(s.start, s.step)),)
    if isinstance(s, Tiles):
        for at, extent in enumerate(s.extents):
            one = (*s.extents[:at], build.const(1), *s.extents[at + 1 :])
            if extent is not one[at]:
                yield (dataclasses.replace(s, extents=one),)


def _moved(s: Stmt, buffers: Mapping[str, Buffer]) -> Iterator[Body]:
    """A copy as a fill, a loop that only moves a whole buffer as a copy."""
    if isinstance(s, Copy):
        one = build.const(1, buffers[s.dst.buffer].dtype)
        yield (Fill(dst=s.dst, value=one, clip=s.clip, span=s.span),)
    if isinstance(s, Parallel) and len(s.body) == 1 and isinstance(s.body[0], Store):
        store = s.body[0]
        if isinstance(store.value, Load):
            src, dst = buffers[store.value.buffer], buffers[store.buffer]
            if src.rank == dst.rank:
                corner = build.region(dst, [(0, extent) for extent in src.shape])
                yield (Copy(src=build.whole(src), dst=corner, clip=True, span=s.span),)


def _exchanged(fn: Function, place: int, new: Body) -> Function:
    wanted = next(s for at, s in enumerate(walk(fn.body)) if at == place)

    def body(stmts: Body) -> Body:
        out: list[Stmt] = []
        for s in stmts:
            if s is wanted:
                out.extend(new)
                continue
            fields = opdef(s).of_kind("region")
            out.append(changed(s, **{f.name: body(getattr(s, f.name)) for f in fields}))
        return tuple(out)

    return with_body(fn, body(fn.body))


def expressions(fn: Function) -> Iterator[Function]:
    """One expression replaced by a part of it, by zero or by one, everywhere in the program."""
    found = dict.fromkeys(e for s in walk(fn.body) for top in _tops(s) for e in ex.walk(top))
    for e in sorted(found, key=lambda e: -len(ex.walk(e))):
        if not isinstance(e, (Const, Var)):
            for new in _smaller(e):
                yield _rewritten(fn, _one(e, new))


def fewer_buffers(fn: Function) -> Iterator[Function]:
    """One buffer standing for another of the same kind, too."""
    made = [s.buffer for s in walk(fn.body) if isinstance(s, Alloc)]
    for at, kept in enumerate(made):
        for gone in made[at + 1 :]:
            if dataclasses.replace(gone, name=kept.name) == kept:
                yield _shared(fn, gone.name, kept.name)


def _shared(fn: Function, gone: str, kept: str) -> Function:
    def unallocated(s: Stmt) -> Body | None:
        return () if isinstance(s, Alloc) and s.buffer.name == gone else None

    body = map_stmts(fn.body, unallocated)
    return with_body(fn, tuple(with_buffer(s, gone, kept) for s in body))


def _one(old: Expr, new: Expr) -> Callable[[Expr], Expr | None]:
    return lambda e: new if e is old else None


def _tops(s: Stmt) -> Iterator[Expr]:
    """The expressions of a statement, without the places of regions: those move with constants."""
    for f in opdef(s).of_kind("operand"):
        value = getattr(s, f.name)
        for v in value if isinstance(value, tuple) else (value,):
            if isinstance(v, Expr):
                yield v


def _smaller(e: Expr) -> Iterator[Expr]:
    inside = [p for p in ex.walk(e) if p is not e and p.dtype is e.dtype]
    if e.dtype.lanes == 1:
        inside += [build.const(value, e.dtype) for value in (_true(e), _false(e))]
    yield from dict.fromkeys(inside)


def _true(e: Expr) -> bool | int | float:
    return True if e.dtype.is_bool else 1.0 if e.dtype.is_float else 1


def _false(e: Expr) -> bool | int | float:
    return False if e.dtype.is_bool else 0.0 if e.dtype.is_float else 0


def constants(fn: Function) -> Iterator[Function]:
    """Every integer of some value replaced by a smaller one: everywhere, so that tiles, boxes and
    loops shrink together; in the extents of tiles and boxes alone; in those of parameters alone.
    """
    found = {
        int(e.value)
        for top in (*_extents(fn), *(t for s in walk(fn.body) for t in _every(s)))
        for e in ex.walk(top)
        if isinstance(e, Const) and e.dtype.is_int and int(e.value) > 1
    }
    for value in sorted(found, reverse=True):
        for new in dict.fromkeys((1, 2, value // 2)):
            if new < value:
                number = partial(_number, old=value, new=new)
                yield _rewritten(fn, number)
                yield _smaller_tiles(fn, number)
                yield dataclasses.replace(fn, params=_rewritten(fn, number).params)


def _number(e: Expr, old: int, new: int) -> Expr | None:
    if isinstance(e, Const) and e.dtype.is_int and int(e.value) == old:
        return build.const(new, e.dtype)
    return None


def _extents(fn: Function) -> Iterator[Expr]:
    for p in fn.params:
        yield from () if p.buffer is None else p.buffer.shape
    for s in walk(fn.body):
        if isinstance(s, (Alloc, View)):
            yield from s.buffer.shape


def _every(s: Stmt) -> Iterator[Expr]:
    for f in opdef(s).of_kind("operand"):
        value = getattr(s, f.name)
        for v in value if isinstance(value, tuple) else (value,):
            if isinstance(v, Region):
                yield from (e for r in v.ranges for e in (r.start, r.extent))
            elif isinstance(v, Expr):
                yield v


def with_dims(fn: Function, dims: Mapping[str, int]) -> Iterator[Function]:
    """The program with one symbolic dimension fixed at its value."""
    for dim in fn.dims:
        value = build.const(dims[dim.name], dim.dtype)
        made = _rewritten(fn, _one(dim, value))
        yield dataclasses.replace(made, dims=tuple(d for d in fn.dims if d is not dim))


def _rewritten(fn: Function, node: Callable[[Expr], Expr | None]) -> Function:
    """The program with expressions exchanged in statements, buffers and parameters."""
    memo: dict[Expr, Expr] = {}

    def expr(e: Expr) -> Expr:
        return ex.rewrite(e, node, memo)

    def shaped(b: Buffer) -> Buffer:
        return dataclasses.replace(b, shape=tuple(map(expr, b.shape)))

    def stmt(s: Stmt) -> Stmt:
        s = map_exprs(s, expr)
        if isinstance(s, (Alloc, View)):
            return dataclasses.replace(s, buffer=shaped(s.buffer))
        return s

    params = tuple(p if p.buffer is None else Param(buffer=shaped(p.buffer)) for p in fn.params)
    return dataclasses.replace(fn, params=params, body=map_stmts(fn.body, stmt))


def _smaller_tiles(fn: Function, node: Callable[[Expr], Expr | None]) -> Function:
    """The program with expressions exchanged in what is allocated, in the extents of boxes and of
    parallel loops.
    """

    def expr(e: Expr) -> Expr:
        return ex.rewrite(e, node, {})

    def extents(value: Any) -> Any:
        if not isinstance(value, Region):
            return value
        ranges = tuple(Range(r.start, expr(r.extent)) for r in value.ranges)
        return Region(value.buffer, ranges, value.slot)

    def stmt(s: Stmt) -> Stmt:
        if isinstance(s, (Alloc, View)):
            shape = tuple(map(expr, s.buffer.shape))
            return dataclasses.replace(s, buffer=dataclasses.replace(s.buffer, shape=shape))
        if isinstance(s, Parallel):
            return dataclasses.replace(s, extents=tuple(map(expr, s.extents)))
        return changed(
            s, **{f.name: extents(getattr(s, f.name)) for f in opdef(s).of_kind("operand")}
        )

    return with_body(fn, map_stmts(fn.body, stmt))


def tidied(fn: Function) -> Function:
    """The program without empty bodies, and without buffers, parameters and dimensions that
    nothing uses.
    """

    def empty(s: Stmt) -> Body | None:
        if isinstance(s, (For, Parallel)) and not s.body:
            return ()
        if isinstance(s, Kernel) and not any(_work(s)):
            return ()
        return () if isinstance(s, If) and not s.then and not s.orelse else None

    body = map_stmts(fn.body, empty)
    while (kept := _without_unused(body, _names(body))) is not body:
        body = kept
    used = _names(body)
    params = tuple(p for p in fn.params if p.name in used)
    left = {v for p in params if p.buffer for e in p.buffer.shape for v in ex.free_vars(e)}
    left |= {v for s in walk(body) for e in _every(s) for v in ex.free_vars(e)}
    return dataclasses.replace(
        fn,
        body=body,
        params=params,
        dims=tuple(d for d in fn.dims if d in left),
        results=tuple(r for r in fn.results if r in used),
    )


def _without_unused(body: Body, used: frozenset[str]) -> Body:
    def unused(s: Stmt) -> Body | None:
        return () if isinstance(s, (Alloc, View)) and s.buffer.name not in used else None

    return map_stmts(body, unused)


def _names(body: Body) -> frozenset[str]:
    """Every buffer and scalar that the statements use."""
    found: set[str] = set()
    for s in walk(body):
        if isinstance(s, (Store, Atomic)):
            found.add(s.buffer)
        if isinstance(s, View):
            found.add(s.source)
        for f in opdef(s).of_kind("operand"):
            value = getattr(s, f.name)
            for v in value if isinstance(value, tuple) else (value,):
                if isinstance(v, Region):
                    found.add(v.buffer)
        for top in _every(s):
            found |= {e.buffer for e in ex.walk(top) if isinstance(e, Load)}
            found |= {v.name for v in ex.free_vars(top)}
    return frozenset(found)
