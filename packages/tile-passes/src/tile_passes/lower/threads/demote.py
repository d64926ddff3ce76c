"""Fragments that cannot be registers become shared memory.

A register has no address: its number must be known when the kernel is compiled, and no other thread
sees it. So a fragment stays in registers only where every use names each element by the iteration
that holds it, as its variables or by digits of them that the layouts cut at the same places. What
is viewed, shifted, scanned, cut into parts or read by all threads at once goes to shared memory,
where all of that is ordinary.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tile_ir import expr as ex
from tile_ir.core import Buffer, Region
from tile_ir.expr import Const, Expr, Var
from tile_ir.opdef import Access, bodies, opdef, operand_values
from tile_ir.ops import Alloc, Atomic, Copy, Parallel, Print, Scan, Store, Transpose, View
from tile_ir.rewrite import all_effects, map_stmts, replace, stmt_exprs
from tile_passes.analysis.index_maps import index_map
from tile_passes.lower.threads.parts import part_of
from tile_passes.lower.threads.private import row_of_thread
from tile_passes.lower.threads.spread import meets

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tile_ir.opdef import Body, Stmt
    from tile_passes.analysis.index_maps import IndexMap

__all__ = ["accesses", "axes_of", "demoted", "held_by_digits", "homeless"]

Axes = tuple[int | None, ...]


def accesses(s: Stmt) -> Iterator[tuple[str, tuple[Expr, ...]]]:
    """The single elements that a statement itself touches: buffer and indices."""
    for e in stmt_exprs(s):
        for load in ex.loads(e):
            yield load.buffer, load.indices
    if isinstance(s, (Store, Atomic)):
        yield s.buffer, s.indices


def axes_of(indices: Sequence[Expr], buffer: Buffer, loop: Parallel) -> Axes | None:
    """Which axis of the loop each index is, None for the one coordinate of a unit axis.

    None overall when an index is anything else, or the loop does not run over the whole axis.
    """
    out: list[int | None] = []
    for index, extent in zip(indices, buffer.shape, strict=True):
        if isinstance(index, Var) and index in loop.vars:
            axis = loop.vars.index(index)
            if loop.extents[axis] is not extent or axis in out:
                return None
            out.append(axis)
        elif isinstance(index, Const) and index.value == 0 and extent.value == 1:  # type: ignore[attr-defined]  # tiles are static
            out.append(None)
        else:
            return None
    return tuple(out)


def homeless(body: Body, buffers: Mapping[str, Buffer]) -> frozenset[str]:
    """The names of fragments that cannot be registers."""
    found: set[str] = set()
    _scan(body, None, buffers, found)
    return frozenset(found)


def _scan(
    body: Body, loop: Parallel | None, buffers: Mapping[str, Buffer], found: set[str]
) -> None:
    for s in body:
        if isinstance(s, View):
            found.update((s.buffer.name, s.source))
        for name, indices in accesses(s):
            if _is_fragment(name, buffers) and not (
                _held(name, indices, loop, buffers)
                or held_by_digits(name, indices, loop, buffers) is not None
            ):
                found.add(name)
        for region in _regions(s):
            name = region.buffer
            if _is_fragment(name, buffers) and not _held_box(s, region, buffers):
                found.add(name)
        inner = s if isinstance(s, Parallel) else loop
        for part in bodies(s):
            _scan(part, inner, buffers, found)


def _is_fragment(name: str, buffers: Mapping[str, Buffer]) -> bool:
    return name in buffers and buffers[name].scope == "fragment"


def _held(
    name: str, indices: tuple[Expr, ...], loop: Parallel | None, buffers: Mapping[str, Buffer]
) -> bool:
    if loop is None or not all(isinstance(e, Const) for e in loop.extents):
        return False
    buffer = buffers[name]
    return axes_of(indices, buffer, loop) is not None or row_of_thread(indices, buffer, loop)


def held_by_digits(
    name: str, indices: tuple[Expr, ...], loop: Parallel | None, buffers: Mapping[str, Buffer]
) -> IndexMap | None:
    """How the indices of an element that the loop only reads are put together, if the thread that
    reads it has it by the layouts that were chosen."""
    if loop is None or loop.layout is None or name in _written(loop):
        return None
    through = index_map(indices, loop)
    return through if through and meets(loop.layout, buffers[name].layout, through) else None


def _written(loop: Parallel) -> frozenset[str]:
    return frozenset(
        e.buffer for e in all_effects(loop.body) if e.access & (Access.WRITE | Access.UPDATE)
    )


def _regions(s: Stmt) -> Iterator[Region]:
    for f in opdef(s).of_kind("operand"):
        for value in operand_values(getattr(s, f.name)):
            if isinstance(value, Region):
                yield value


def _held_box(s: Stmt, region: Region, buffers: Mapping[str, Buffer]) -> bool:
    """Whether the elements of a region are the same registers in all threads."""
    buffer = buffers[region.buffer]
    if isinstance(s, Transpose) and all(_is_fragment(r.buffer, buffers) for r in _regions(s)):
        return False  # what a thread has of the one it lacks of the other
    return _whole(s, region, buffer) or (
        isinstance(s, Copy) and part_of(region, buffer) is not None
    )


def _whole(s: Stmt, region: Region, buffer: Buffer) -> bool:
    if isinstance(s, (Scan, Print)):
        return False
    return all(
        isinstance(r.start, Const) and r.start.value == 0 and r.extent is extent
        for r, extent in zip(region.ranges, buffer.shape, strict=True)
    )


def demoted(body: Body, buffers: dict[str, Buffer]) -> Body:
    """The body with such fragments in shared memory; `buffers` follows."""
    names = homeless(body, buffers) & {n for n, b in buffers.items() if b.scope == "fragment"}
    if not names:
        return body
    for name in names:
        buffers[name] = replace_scope(buffers[name])

    def visit(s: Stmt) -> Stmt | None:
        if isinstance(s, (Alloc, View)) and s.buffer.name in names:
            return replace(s, buffer=buffers[s.buffer.name])
        return None

    return map_stmts(body, visit)


def replace_scope(fragment: Buffer) -> Buffer:
    """The fragment as a row-major shared tile."""
    import dataclasses

    return dataclasses.replace(fragment, scope="shared", layout=None)
