"""Statements that HIP prints in this target's own way: unrolled loops, copies, barriers,
atomics."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from tile_ir.diag import InternalError
from tile_ir.ops import (
    Assert,
    AsyncCopy,
    Atom,
    Atomic,
    CommitGroup,
    For,
    Print,
    SettleCount,
    Sync,
)
from tile_passes.emit.device_dialect import is_narrow
from tile_passes.emit.device_statements import (
    RULES,
    atomic_loop,
    print_atomic,
    print_copy,
    print_counted_loop,
    print_nothing,
    refuse_print,
)
from tile_rocm.ordering import (
    brings_operands,
    fills_registers,
    in_order,
    stays_a_loop,
    steps_at_once,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tile_ir.opdef import Body, Stmt
    from tile_ir.target import TargetSpec
    from tile_passes.emit import StmtPrinter
    from tile_passes.emit.cfamily import Rule
    from tile_rocm.atoms import AtomPrinter

__all__ = ["rules_for"]


def _for(p: StmtPrinter, s: Stmt) -> None:
    _loop(p, s, lambda body: _body(p, body))


def _for_with_steps_in_pairs(spec: TargetSpec) -> Rule:
    def rule(p: StmtPrinter, s: Stmt) -> None:
        """A loop; if over a product's steps, with a point before every second one that its operands
        are not read ahead of, and before each one where registers are short."""
        assert isinstance(s, For)
        if not brings_operands(s, p.exprs.buffers):
            _for(p, s)
            return
        point = "tile_steps_apart();"
        if not fills_registers(p.exprs.buffers.values(), spec):
            point = f"if (!({p.exprs.name(s.var.name)} & 1)) {{ {point} }}"

        def body(inner: Body) -> None:
            p.out.line(point)
            p.body(inner)

        _loop(p, s, body, steps_at_once(s, p.exprs.buffers))

    return rule


def _loop(p: StmtPrinter, s: Stmt, body: Callable[[Body], None], at_once: int = 0) -> None:
    """A loop; `at_once` of its trips stand side by side where it is not 0."""
    assert isinstance(s, For)
    hints = []
    if at_once or s.unroll > 1:
        hints.append(f"#pragma unroll {at_once or s.unroll}")
    elif s.kind in ("unroll", "vectorized"):
        hints.append("#pragma unroll")
    elif stays_a_loop(s, p.exprs.buffers):
        hints.append("#pragma nounroll")
    print_counted_loop(p, s, hints, body)


def _body(p: StmtPrinter, body: Body) -> None:
    """A loop's body with the points that keep loads and products in their order."""
    for point, part in in_order(body, p.exprs.buffers):
        if point:
            p.out.line(f"{point}();")
        p.body(part)


def _sync(p: StmtPrinter, s: Stmt) -> None:
    assert isinstance(s, Sync)
    if s.id == 0 and s.scope == "block":
        p.out.line("tile_sync();")
    elif s.id == 0 and s.scope == "group":
        p.out.line("tile_wave_sync();")
    else:
        raise InternalError("E9001", f"sync {s.scope} reached the emitter", span=s.span)


def _atomic(spec: TargetSpec) -> Rule:
    def rule(p: StmtPrinter, s: Stmt) -> None:
        """One instruction where there is one, else a compare-and-exchange loop."""
        assert isinstance(s, Atomic)
        kind = p.exprs.buffers[s.buffer].dtype
        call = _atomic_call(p, s, kind.name in spec.atomics.get(s.kind, ()))
        print_atomic(p, s, call, fence="tile_fence")

    return rule


def _atomic_call(p: StmtPrinter, s: Atomic, native: bool) -> str:
    buffer = p.exprs.buffers[s.buffer]
    value = p.exprs.value(s.value)
    place = f"&{p.exprs.name(s.buffer)}[{p.exprs.offset(buffer, s.indices)}]"
    if native and not is_narrow(buffer.dtype):
        carrier = p.exprs.dialect.carrier(buffer.dtype)
        return f"tile_atomic_{s.kind}<{carrier}>({place}, {value})"
    return atomic_loop(p, s, place, value)


def _assert(p: StmtPrinter, s: Stmt) -> None:
    """Stop the launch: the next call of the driver reports it. What failed stands in the source."""
    assert isinstance(s, Assert)
    text = (s.message or "assertion failed").replace("*/", "* /")
    with p.out.block(f"if (!({p.exprs.condition(s.cond)}))"):
        p.out.line(f"__builtin_trap(); /* {' '.join(text.split())} */")


_RULES: Mapping[type[Stmt], Rule] = MappingProxyType(
    {
        **RULES,
        Assert: _assert,
        AsyncCopy: print_copy,
        CommitGroup: print_nothing,
        For: _for,
        Print: refuse_print,
        SettleCount: print_nothing,
        Sync: _sync,
    }
)


def rules_for(spec: TargetSpec, atoms: AtomPrinter) -> dict[type[Stmt], Rule]:
    """What replaces or extends the rules of every C-family language on an architecture."""
    own: dict[type[Stmt], Rule] = {Atom: atoms.print, Atomic: _atomic(spec)}
    if spec.hints.get("matrix_steps") == "in_pairs":
        own[For] = _for_with_steps_in_pairs(spec)
    return {**_RULES, **own}
