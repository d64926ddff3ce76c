"""What a kernel takes from the host function around it: the parameters of the emitted function."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tile_ir.expr import Expr, Var, free_vars
from tile_ir.opdef import Access
from tile_ir.ops import Alloc, Kernel, Tiles, View
from tile_ir.rewrite import all_effects, bound_vars, effects, stmt_exprs, walk
from tile_passes.emit.device_dialect import carrier_type

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from tile_ir.core import Buffer, Region
    from tile_ir.opdef import Stmt
    from tile_passes.emit import ExprPrinter

__all__ = ["POINTER", "Forms", "Parameter", "loops_over_tiles", "parameters", "tiles_of"]

POINTER = "P"
FORMATS = {
    "bool": "?",
    "i8": "b",
    "u8": "B",
    "i16": "h",
    "u16": "H",
    "i32": "i",
    "u32": "I",
    "i64": "q",
    "u64": "Q",
    "f32": "f",
    "f64": "d",
}
"""Carrier -> its format in `struct`, where native alignment is that of C."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """One parameter of a kernel: the name in the IR, the C++ declaration, the letter of its
    format."""

    name: str
    declaration: str
    format: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Forms:
    """How a language declares parameters: texts with {kind}, {name} and, for pointers, {const}."""

    pointer: str = "{const}{kind} *{name}"
    scalar: str = "const {kind} {name}"


def tiles_of(kernel: Kernel) -> Tiles | None:
    """The tile loop of a kernel, the first where each role has its own (all have the same tiles);
    None where it runs as one block."""
    return next((s for s in walk(kernel.body) if isinstance(s, Tiles)), None)


def parameters(
    exprs: ExprPrinter,
    kernel: Kernel,
    forms: Forms | None = None,
    elsewhere: Callable[[Stmt], Region | None] | None = None,
) -> tuple[Parameter, ...]:
    """The buffers and variables that a kernel uses and does not declare, in order of first use.

    `elsewhere` names the region of a statement that reaches its buffer by another way than a
    pointer to it, if it has one.
    """
    how = forms or Forms()
    inside = {s.buffer.name for s in walk(kernel.body) if isinstance(s, (Alloc, View))}
    bound = {v for s in walk(kernel.body) for v in bound_vars(s)}
    written = _written(kernel)
    used = [n for n in dict.fromkeys(_buffers_used(kernel, elsewhere)) if n not in inside]
    found = {n: _pointer(exprs, exprs.buffers[n], how, n in written) for n in used}
    texts = [e for s in walk(kernel.body) for e in _needed(kernel, s)]
    shapes = [e for n in (*used, *inside) for e in _shape_exprs(exprs.buffers[n])]
    for var in _free(texts, shapes):
        if var not in bound:
            found[var.name] = _scalar(exprs, var, how)
    return tuple(found.values())


def _needed(kernel: Kernel, s: Stmt) -> Iterable[Expr]:
    """The expressions that the device computes of a statement."""
    if isinstance(s, Tiles) and not loops_over_tiles(kernel, s):
        return s.extents[:-1]  # the last index is what the others leave of the block's number
    return stmt_exprs(s)


def loops_over_tiles(kernel: Kernel, tiles: Tiles) -> bool:
    """Whether a block takes one tile after the other; else each has its own block."""
    return tiles.claim != "hardware" and kernel.blocks is not None


def _written(kernel: Kernel) -> frozenset[str]:
    writes = Access.WRITE | Access.UPDATE
    written = {e.buffer for e in all_effects(kernel.body) if e.access & writes}
    views = {s.buffer.name: s.source for s in walk(kernel.body) if isinstance(s, View)}
    return frozenset({*written, *(views[n] for n in written if n in views)})


def _buffers_used(
    kernel: Kernel, elsewhere: Callable[[Stmt], Region | None] | None
) -> Iterator[str]:
    for s in walk(kernel.body):
        other = elsewhere(s) if elsewhere else None
        yield from (e.buffer for e in effects(s) if other is None or e.region is not other)
    yield from (s.source for s in walk(kernel.body) if isinstance(s, View))


def _shape_exprs(buffer: Buffer) -> tuple[Expr, ...]:
    """What addresses need: strides, or the extents of all axes but the first."""
    if buffer.scope != "global":
        return ()
    return buffer.strides if buffer.strides is not None else buffer.shape[1:]


def _free(texts: Iterable[Expr], shapes: Iterable[Expr]) -> Iterator[Var]:
    seen = (v for e in (*texts, *shapes) for v in sorted(free_vars(e), key=lambda v: v.name))
    return iter(dict.fromkeys(seen))


def _pointer(exprs: ExprPrinter, buffer: Buffer, forms: Forms, mutable: bool) -> Parameter:
    text = forms.pointer.format(
        const="" if mutable else "const ",
        kind=exprs.dialect.storage(buffer.dtype),
        name=exprs.name(buffer.name),
    )
    return Parameter(name=buffer.name, declaration=text, format=POINTER)


def _scalar(exprs: ExprPrinter, var: Var, forms: Forms) -> Parameter:
    carrier = carrier_type(var.dtype)
    text = forms.scalar.format(kind=exprs.dialect.carrier(var.dtype), name=exprs.name(var.name))
    return Parameter(name=var.name, declaration=text, format=FORMATS[carrier.name])
