"""Statements that C prints in this target's own way: scratch memory, views, atomics, messages,
parallel loops.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from tile_cpu.c_dialect import write_past_caches
from tile_cpu.sizes import buffer_bytes, is_dynamic
from tile_ir.diag import InternalError
from tile_ir.expr import Binary, Cast, Expr, Load, Ramp
from tile_ir.ops import Alloc, Assert, Assume, Atomic, Parallel, Print, Store, View
from tile_passes.emit.cfamily import print_alloc, print_store
from tile_passes.emit.names import c_string

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tile_cpu.c_matrix import MatrixPrinter
    from tile_ir.opdef import Stmt
    from tile_ir.types import DType
    from tile_passes.emit import StmtPrinter
    from tile_passes.emit.cfamily import Rule

__all__ = ["rules_for", "streamed_stores"]


def _alloc(matrix: MatrixPrinter) -> Rule:
    """A pointer into scratch where the plan gave an offset; else a local of the job."""

    def rule(p: StmtPrinter, s: Stmt) -> None:
        assert isinstance(s, Alloc)
        b = s.buffer
        kind = matrix.element_type(b) or p.exprs.dialect.storage(b.dtype)
        if is_dynamic(b):
            p.out.line(f"{kind} *const {p.exprs.name(b.name)} = ({kind} *)more;")
            p.out.line(f"more += {p.exprs.index(buffer_bytes(b))};")
            return
        if b.offset is None:
            print_alloc(p, s)
            return
        p.out.line(f"{kind} *const {p.exprs.name(b.name)} = ({kind} *)(scratch + {b.offset});")

    return rule


def _view(p: StmtPrinter, s: Stmt) -> None:
    assert isinstance(s, View)
    kind, name = p.exprs.dialect.storage(s.buffer.dtype), p.exprs.name(s.buffer.name)
    p.out.line(f"{kind} *const {name} = ({kind} *){p.exprs.name(s.source)};")


def _parallel(p: StmtPrinter, s: Stmt) -> None:
    """Independent iterations in row-major order."""
    assert isinstance(s, Parallel)
    _nest(p, s, 0)


def _nest(p: StmtPrinter, s: Parallel, axis: int) -> None:
    if axis == len(s.vars):
        p.body(s.body)
        return
    name, kind = p.exprs.name(s.vars[axis].name), p.exprs.dialect.index_type
    stop = p.exprs.index(s.extents[axis], 10)
    with p.out.block(f"for ({kind} {name} = 0; {name} < {stop}; {name}++)"):
        _nest(p, s, axis + 1)


def _atomic(p: StmtPrinter, s: Stmt) -> None:
    """A call of the prelude; blocks run on several threads at once. A tile belongs to one block,
    and a block to one thread, which nobody interrupts."""
    assert isinstance(s, Atomic)
    buffer = p.exprs.buffers[s.buffer]
    if s.result is None and buffer.scope != "global" and s.kind in _PLAIN:
        old = Load(s.buffer, s.indices, buffer.dtype)
        value = Binary(s.kind, old, s.value, buffer.dtype)
        p.body((Store(buffer=s.buffer, indices=s.indices, value=value, span=s.span),))
        return
    place = f"&{p.exprs.name(s.buffer)}[{p.exprs.offset(buffer, s.indices)}]"
    call = f"tile_atomic_{s.kind}_{buffer.dtype.name}({place}, {p.exprs.value(s.value)})"
    if s.result is None:
        p.out.line(f"{call};")
        return
    carrier = p.exprs.dialect.carrier(s.result.dtype)
    p.out.line(f"const {carrier} {p.exprs.name(s.result.name)} = {call};")


_PLAIN = frozenset({"add", "and", "or", "xor"})
"""Atomic operations that are the operators of their names."""


def _assert(p: StmtPrinter, s: Stmt) -> None:
    """Report and leave: the launch ends with an error that carries the message and the line."""
    assert isinstance(s, Assert)
    where = f"\n  at {s.span}" if s.span else ""
    text = c_string(f"{s.message or 'assertion failed'}{where}")
    with p.out.block(f"if (!({p.exprs.condition(s.cond)}))"):
        p.out.line(f'rt->fail(rt, {text}, "", 0);')
        p.out.line(p.leave)


def _print(p: StmtPrinter, s: Stmt) -> None:
    """One message; each {} in it stands for a value, further values follow it. Regions are loops
    by now.
    """
    assert isinstance(s, Print)
    values = [v for v in s.values if isinstance(v, Expr)]
    if len(values) != len(s.values):
        raise InternalError("E9001", "a printed region reached the emitter", span=s.span)
    kinds = "".join(_kind(v.dtype) for v in values)
    beyond = len(values) - s.message.count("{}")
    text = c_string(" ".join(filter(None, [s.message, *["{}"] * beyond])) + "\n")
    if not values:
        p.out.line(f'rt->print(rt, {text}, "", 0);')
        return
    packed = ", ".join(_slot(p, v) for v in values)
    p.out.line(f'rt->print(rt, {text}, "{kinds}", (const uint64_t[]){{{packed}}});')


def _kind(dtype: DType) -> str:
    if dtype.is_float:
        return "f"
    if dtype.is_bool:
        return "b"
    return "i" if dtype.is_signed else "u"


def _slot(p: StmtPrinter, v: Expr) -> str:
    text = p.exprs.value(v, 13)
    if v.dtype.is_float:
        return f"tile_bits_f64((double){text})"
    return f"(uint64_t){'(int64_t)' if v.dtype.is_signed else ''}{text}"


def _nothing(p: StmtPrinter, s: Stmt) -> None:
    """An assumption has done its work in the prover."""


_RULES: Mapping[type[Stmt], Rule] = MappingProxyType(
    {
        Assert: _assert,
        Assume: _nothing,
        Atomic: _atomic,
        Parallel: _parallel,
        Print: _print,
        View: _view,
    }
)


def streamed_stores(past: Mapping[str, str]) -> Rule:
    """Stores of vectors to these tensors go past the caches, each where its condition holds."""

    def rule(p: StmtPrinter, s: Stmt) -> None:
        assert isinstance(s, Store)
        if s.buffer not in past or not isinstance(s.indices[-1], Ramp):
            print_store(p, s)
            return
        kind, value = s.value.dtype, s.value
        if isinstance(value, Cast) and p.exprs.dialect.write_converts(value.a.dtype, kind):
            value = value.a
        name, at = p.exprs.name(s.buffer), p.exprs.offset(p.exprs.buffers[s.buffer], s.indices)
        text = write_past_caches(kind, name, at, p.exprs.value(value), past[s.buffer])
        p.out.line(f"{text};")

    return rule


def rules_for(matrix: MatrixPrinter) -> dict[type[Stmt], Rule]:
    """What replaces or extends the rules of every C-family language, for a function with these
    matrix kernels.
    """
    return {**_RULES, Alloc: _alloc(matrix), **matrix.rules()}
