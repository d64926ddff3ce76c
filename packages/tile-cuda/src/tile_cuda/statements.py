"""Statements that CUDA prints in this target's own way: unrolled loops, matrix accesses, barriers,
atomics, messages."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from tile_cuda import barriers, inline_source
from tile_cuda.places import place_of
from tile_ir import build
from tile_ir.diag import InternalError
from tile_ir.expr import Const, Expr, Load, Ramp
from tile_ir.ops import (
    Assert,
    Atomic,
    BarrierWait,
    CommitGroup,
    For,
    MatrixLoad,
    MatrixStore,
    Print,
    Send,
    Sync,
)
from tile_ir.rewrite import walk
from tile_passes.emit.device_dialect import is_narrow
from tile_passes.emit.device_statements import (
    RULES,
    atomic_loop,
    code_of,
    print_atomic,
    print_counted_loop,
)
from tile_passes.emit.names import c_string

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tile_ir.core import Buffer
    from tile_ir.opdef import Stmt
    from tile_ir.target import TargetSpec
    from tile_passes.emit import StmtPrinter
    from tile_passes.emit.cfamily import Rule

__all__ = ["rules_for"]

_KEPT = (BarrierWait, CommitGroup)
"""What keeps a loop from being unrolled unasked: a wait gains nothing by it, and copies of
accumulators at the seams cost the registers that keep matrix instructions in flight."""
ATOMIC_ADDS = frozenset({"i32", "u32", "u64", "f32", "f64"})
"""Types that `atomicAdd` takes."""
ATOMIC_WORDS = frozenset({"i32", "u32", "i64", "u64"})
ATOMIC_CALLS = {
    "max": "atomicMax",
    "min": "atomicMin",
    "and": "atomicAnd",
    "or": "atomicOr",
    "xor": "atomicXor",
    "exchange": "atomicExch",
}


def _for(p: StmtPrinter, s: Stmt) -> None:
    assert isinstance(s, For)
    hints = []
    if s.unroll > 1:
        hints.append(f"#pragma unroll {s.unroll}")
    elif s.kind in ("unroll", "vectorized"):
        hints.append("#pragma unroll")
    elif any(isinstance(inner, _KEPT) for inner in walk(s.body)):
        hints.append("#pragma unroll 1")
    print_counted_loop(p, s, hints)


def _matrix_load(p: StmtPrinter, s: Stmt) -> None:
    """1, 2 or 4 matrices by the lanes of a warp; the prelude has one function for each number."""
    assert isinstance(s, MatrixLoad)
    taken = s.dst.ranges[-1].extent
    assert isinstance(taken, Const)  # the verifier's rule
    places = [place_of(p, region) for region in (s.dst, s.row)]
    turned = "_trans" if s.transpose else ""
    p.out.line(f"tile_ldmatrix{turned}_x{int(taken.value) // 2}({', '.join(places)});")


def _matrix_store(p: StmtPrinter, s: Stmt) -> None:
    """The way back of `_matrix_load`."""
    assert isinstance(s, MatrixStore)
    taken = s.src.ranges[-1].extent
    assert isinstance(taken, Const)  # the verifier's rule
    places = [place_of(p, region) for region in (s.row, s.src)]
    turned = "_trans" if s.transpose else ""
    p.out.line(f"tile_stmatrix{turned}_x{int(taken.value) // 2}({', '.join(places)});")


def _atomic(spec: TargetSpec) -> Rule:
    def rule(p: StmtPrinter, s: Stmt) -> None:
        """One instruction where there is one, else a compare-and-exchange loop."""
        assert isinstance(s, Atomic)
        kind = p.exprs.buffers[s.buffer].dtype
        call = _atomic_call(p, s, s.kind in spec.atomics and kind.name in spec.atomics[s.kind])
        print_atomic(p, s, call, fence="tile_fence")

    return rule


def _atomic_call(p: StmtPrinter, s: Atomic, native: bool) -> str:
    buffer = p.exprs.buffers[s.buffer]
    kind, value = buffer.dtype, p.exprs.value(s.value)
    place = f"&{p.exprs.name(s.buffer)}[{p.exprs.offset(buffer, s.indices)}]"
    if isinstance(s.value, Load) and s.value.dtype.lanes > 1:
        lanes = ", ".join(map(p.exprs.value, _lanes(s.value, p.exprs.buffers[s.value.buffer])))
        return f"tile_reduce_add_{s.value.dtype.name}({place}, {lanes})"
    if s.kind == "add" and native and is_narrow(kind):
        return f"tile_atomic_add_{kind.name}({place}, {code_of(p, kind, value)})"
    if s.kind == "add" and kind.name in ATOMIC_ADDS:
        return f"atomicAdd({place}, {value})"
    if s.kind == "add" and kind.name == "i64":
        return f"(long long)atomicAdd((unsigned long long *){place}, (unsigned long long)({value}))"
    whole = kind.name in ATOMIC_WORDS or (s.kind == "exchange" and kind.name == "f32")
    if s.kind in ATOMIC_CALLS and whole:
        return _word_call(s.kind, kind.name, place, value)
    return atomic_loop(p, s, place, value)


def _lanes(e: Load, buffer: Buffer) -> list[Load]:
    """The neighbours that a vector access reads, one by one."""
    *above, last = e.indices
    assert isinstance(last, Ramp)  # by the pass that makes it, as the stride is
    assert last.stride == 1
    return [build.load(buffer, (*above, build.add(last.base, i))) for i in range(e.dtype.lanes)]


def _word_call(kind: str, dtype: str, place: str, value: str) -> str:
    name = ATOMIC_CALLS[kind]
    if dtype == "i64" and kind not in ("max", "min"):  # declared for unsigned only
        return f"(long long){name}((unsigned long long *){place}, (unsigned long long)({value}))"
    return f"{name}({place}, {value})"


def _assert(p: StmtPrinter, s: Stmt) -> None:
    """Say what failed and stop the launch: the next call of the driver reports it."""
    assert isinstance(s, Assert)
    where = f" at {s.span}" if s.span else ""
    text = c_string(f"{s.message or 'assertion failed'}{where}\n").replace("%", "%%")
    with p.out.block(f"if (!({p.exprs.condition(s.cond)}))"):
        p.out.line(f"printf({text});")
        p.out.line("__trap();")


def _print(p: StmtPrinter, s: Stmt) -> None:
    """One message; each {} in it stands for a value, further values follow it."""
    assert isinstance(s, Print)
    values = [v for v in s.values if isinstance(v, Expr)]
    if len(values) != len(s.values):
        raise InternalError("E9001", "a printed region reached the emitter", span=s.span)
    shown = [_printf(p, v) for v in values]
    text, marks = s.message.replace("%", "%%"), [mark for mark, _ in shown]
    while marks and "{}" in text:
        text = text.replace("{}", marks.pop(0), 1)
    text = c_string(" ".join(filter(None, [text, *marks])) + "\n")
    p.out.line(f"printf({', '.join([text, *(value for _, value in shown)])});")


def _printf(p: StmtPrinter, v: Expr) -> tuple[str, str]:
    text = p.exprs.value(v, 13)
    if v.dtype.is_float:
        return "%g", f"(double){text}"
    if v.dtype.is_bool:
        return "%s", f'({text} ? "True" : "False")'
    kind = "long long" if v.dtype.is_signed else "unsigned long long"
    return ("%lld" if v.dtype.is_signed else "%llu"), f"({kind}){text}"


def _send(p: StmtPrinter, s: Stmt) -> None:
    """A word for another block of the cluster."""
    assert isinstance(s, Send)
    buffer = p.exprs.buffers[s.buffer]
    place = f"&{p.exprs.name(s.buffer)}[{p.exprs.offset(buffer, s.indices)}]"
    barrier = f"&{p.exprs.name(s.barrier)}[{p.exprs.value(s.index)}]"
    value, peer = p.exprs.value(s.value), p.exprs.value(s.peer)
    p.out.line(f"tile_send({place}, {value}, {barrier}, {peer});")


_RULES: Mapping[type[Stmt], Rule] = MappingProxyType(
    {
        **RULES,
        **inline_source.RULES,
        Assert: _assert,
        For: _for,
        MatrixLoad: _matrix_load,
        MatrixStore: _matrix_store,
        Print: _print,
        Send: _send,
    }
)


def rules_for(spec: TargetSpec) -> dict[type[Stmt], Rule]:
    """What replaces or extends the rules of every C-family language on an architecture."""
    return {**_RULES, **barriers.RULES, Atomic: _atomic(spec), Sync: barriers.sync_rule(spec)}
