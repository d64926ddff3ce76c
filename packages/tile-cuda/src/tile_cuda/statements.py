"""Statements that CUDA prints in this target's own way: memory of a block, unrolled loops, whole
moves, barriers, atomics, messages."""

from __future__ import annotations

import json
from types import MappingProxyType
from typing import TYPE_CHECKING

from tile_cuda import barriers
from tile_cuda.places import place_of
from tile_ir.diag import InternalError
from tile_ir.expr import Broadcast, Const, Expr, Load, Ramp, Select
from tile_ir.numerics import literal_bits
from tile_ir.ops import (
    Alloc,
    Assert,
    Assume,
    Atomic,
    BarrierWait,
    CommitGroup,
    For,
    MatrixLoad,
    MatrixStore,
    Print,
    Store,
    Sync,
    View,
)
from tile_ir.rewrite import walk
from tile_passes.emit.cfamily import print_alloc, print_store
from tile_passes.emit.device_dialect import is_narrow, is_packed, storage_type
from tile_passes.emit.dialect import CONDITIONAL, INFIX

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tile_ir.core import Buffer
    from tile_ir.opdef import Stmt
    from tile_ir.target import TargetSpec
    from tile_ir.types import DType
    from tile_passes.emit import ExprPrinter, StmtPrinter
    from tile_passes.emit.cfamily import Rule

__all__ = ["print_memory", "rules_for"]

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


def print_memory(p: StmtPrinter, s: Stmt) -> None:
    """Shared memory is one arena with offsets; the rest are scalars and arrays of the thread."""
    assert isinstance(s, Alloc)
    b = s.buffer
    if b.scope == "fragment":
        raise InternalError("E9001", f"the fragment {b.name} reached the emitter", span=s.span)
    if b.scope != "shared":
        print_alloc(p, s)
        return
    if b.offset is None:
        raise InternalError("E9001", f"{b.name} has no place in shared memory", span=s.span)
    kind, name = storage_type(b.dtype), p.exprs.name(b.name)
    p.out.line(f"{kind} *const {name} = ({kind} *)(arena + {b.offset});")


def _view(p: StmtPrinter, s: Stmt) -> None:
    assert isinstance(s, View)
    kind, name = storage_type(s.buffer.dtype), p.exprs.name(s.buffer.name)
    p.out.line(f"{kind} *const {name} = ({kind} *){p.exprs.name(s.source)};")


def _for(p: StmtPrinter, s: Stmt) -> None:
    """A counted loop in the variable's own type."""
    assert isinstance(s, For)
    step = int(s.step.value) if isinstance(s.step, Const) else 0
    if step == 0:
        raise InternalError("E9001", "a loop without a constant step", span=s.span)
    name, kind = p.exprs.name(s.var.name), p.exprs.dialect.carrier(s.var.dtype)
    test = "<" if step > 0 else ">"
    by = f"{name} {'+' if step > 0 else '-'}= {abs(step)}"
    move = {1: f"{name}++", -1: f"{name}--"}.get(step, by)
    if s.unroll > 1:
        p.out.line(f"#pragma unroll {s.unroll}")
    elif s.kind in ("unroll", "vectorized"):
        p.out.line("#pragma unroll")
    elif any(isinstance(inner, _KEPT) for inner in walk(s.body)):
        p.out.line("#pragma unroll 1")
    start, stop = p.exprs.value(s.start), p.exprs.value(s.stop, 10)
    with p.out.block(f"for ({kind} {name} = {start}; {name} {test} {stop}; {move})"):
        p.body(s.body)


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


def _store(p: StmtPrinter, s: Stmt) -> None:
    """An element or a vector; what is only moved is moved as bits."""
    assert isinstance(s, Store)
    if s.clip:
        raise InternalError("E9001", f"a clipped store to {s.buffer}", span=s.span)
    code = None
    if p.exprs.buffers[s.buffer].scope != "var":
        code = moved_code(p.exprs, s.value)
    if code is None:
        print_store(p, s)
        return
    target = p.exprs.buffers[s.buffer]
    place = f"{p.exprs.name(s.buffer)}[{_element(p.exprs, target, s.indices, s.value.dtype)}]"
    if s.value.dtype.lanes == 1:
        p.out.line(f"{place} = {code};")
    elif isinstance(s.value, Load):
        source = p.exprs.buffers[s.value.buffer]
        at = _element(p.exprs, source, s.value.indices, s.value.dtype)
        size = s.value.dtype.storage_bits // 8
        p.out.line(f"tile_move<{size}>(&{place}, &{p.exprs.name(s.value.buffer)}[{at}]);")
    else:
        p.out.line(f"tile_store(&{place}, {code});")


def moved_code(exprs: ExprPrinter, e: Expr) -> str | None:
    """The bits of a value that is an element of memory, a constant, or a choice among such.

    None for what is computed.
    """
    if is_packed(e.dtype) and e.dtype.lanes == 1:
        return None
    if isinstance(e, Load):
        return _loaded_code(exprs, e)
    if isinstance(e, Const) and is_narrow(e.dtype) and e.dtype.name != "tf32":
        return f"({storage_type(e.dtype)}){hex(literal_bits(e.value, e.dtype))}"
    if isinstance(e, Broadcast) and isinstance(e.a, Const) and not is_packed(e.dtype):
        one = moved_code(exprs, e.a)
        return None if one is None else f"tile_splat<{e.dtype.lanes}>({one})"
    if isinstance(e, Select) and e.cond.dtype.lanes == 1:
        t, f = moved_code(exprs, e.t), moved_code(exprs, e.f)
        if t is None or f is None:
            return None
        return f"{exprs.value(e.cond, CONDITIONAL + 1)} ? {t} : {f}"
    return None


def _loaded_code(exprs: ExprPrinter, e: Load) -> str | None:
    buffer = exprs.buffers[e.buffer]
    if buffer.scope == "var" or e.slot is not None:
        return None
    place = f"{exprs.name(e.buffer)}[{_element(exprs, buffer, e.indices, e.dtype)}]"
    if e.dtype.lanes == 1:
        return place
    last = e.indices[-1]
    if not (isinstance(last, Ramp) and last.stride == 1):
        return None
    lanes = e.dtype.lanes // 2 if is_packed(e.dtype) else e.dtype.lanes
    return f"tile_load<{lanes}>(&{place})"


def _element(exprs: ExprPrinter, buffer: Buffer, indices: tuple[Expr, ...], kind: DType) -> str:
    """The subscript of an access: of bytes where an element is half of one."""
    at = exprs.offset(buffer, indices)
    return f"({at}) >> 1" if is_packed(kind) else at


def _atomic(spec: TargetSpec) -> Rule:
    def rule(p: StmtPrinter, s: Stmt) -> None:
        """One instruction where there is one, else a compare-and-exchange loop."""
        assert isinstance(s, Atomic)
        kind = p.exprs.buffers[s.buffer].dtype
        call = _atomic_call(p, s, s.kind in spec.atomics and kind.name in spec.atomics[s.kind])
        if s.result is None:
            p.out.line(f"{call};")
            return
        carrier, name = p.exprs.dialect.carrier(kind), p.exprs.name(s.result.name)
        if storage_type(kind) != carrier:
            p.out.line(f"const {storage_type(kind)} {name}_code = {call};")
            call = _value_of(p, kind, f"{name}_code")
        p.out.line(f"const {carrier} {name} = {call};")

    return rule


def _value_of(p: StmtPrinter, kind: DType, code: str) -> str:
    """The carried value of an element whose bits a C++ variable holds."""
    return p.exprs.dialect.read(kind, "(&code)", "0").replace("(&code)[0]", code)


def _code_of(p: StmtPrinter, kind: DType, value: str) -> str:
    """The bits that memory would hold of a carried value."""
    return p.exprs.dialect.write(kind, "(&code)", "0", value).removeprefix("(&code)[0] = ")


def _atomic_call(p: StmtPrinter, s: Atomic, native: bool) -> str:
    buffer = p.exprs.buffers[s.buffer]
    kind, value = buffer.dtype, p.exprs.value(s.value)
    place = f"&{p.exprs.name(s.buffer)}[{p.exprs.offset(buffer, s.indices)}]"
    if s.kind == "add" and native and is_narrow(kind):
        return f"tile_atomic_add_{kind.name}({place}, {_code_of(p, kind, value)})"
    if s.kind == "add" and kind.name in ATOMIC_ADDS:
        return f"atomicAdd({place}, {value})"
    if s.kind == "add" and kind.name == "i64":
        return f"(long long)atomicAdd((unsigned long long *){place}, (unsigned long long)({value}))"
    whole = kind.name in ATOMIC_WORDS or (s.kind == "exchange" and kind.name == "f32")
    if s.kind in ATOMIC_CALLS and whole:
        return _word_call(s.kind, kind.name, place, value)
    return _atomic_loop(p, s, place, value)


def _word_call(kind: str, dtype: str, place: str, value: str) -> str:
    name = ATOMIC_CALLS[kind]
    if dtype == "i64" and kind not in ("max", "min"):  # declared for unsigned only
        return f"(long long){name}((unsigned long long *){place}, (unsigned long long)({value}))"
    return f"{name}({place}, {value})"


def _atomic_loop(p: StmtPrinter, s: Atomic, place: str, value: str) -> str:
    dialect, kind = p.exprs.dialect, p.exprs.buffers[s.buffer].dtype
    if is_packed(kind):
        raise InternalError("E9001", f"an atomic on {kind}", span=s.span)
    old = _value_of(p, kind, "old")
    if s.kind == "exchange":
        new = value
    elif dialect.infix(s.kind, kind):
        new = dialect.normalize(kind, f"{old} {INFIX[s.kind].sign} ({value})")
    else:
        new = dialect.operator(s.kind, kind, old, value)
    storage = storage_type(kind)
    code = f"({storage})({_code_of(p, kind, new)})"
    return f"tile_atomic_loop({place}, [&]({storage} old) {{ return {code}; }})"


def _assert(p: StmtPrinter, s: Stmt) -> None:
    """Say what failed and stop the launch: the next call of the driver reports it."""
    assert isinstance(s, Assert)
    where = f" at {s.span}" if s.span else ""
    text = json.dumps(f"{s.message or 'assertion failed'}{where}\n").replace("%", "%%")
    with p.out.block(f"if (!({p.exprs.condition(s.cond)}))"):
        p.out.line(f"printf({text});")
        p.out.line("__trap();")


def _print(p: StmtPrinter, s: Stmt) -> None:
    """One message with its values in brackets."""
    assert isinstance(s, Print)
    values = [v for v in s.values if isinstance(v, Expr)]
    if len(values) != len(s.values):
        raise InternalError("E9001", "a printed region reached the emitter", span=s.span)
    shown = [_printf(p, v) for v in values]
    marks = f" [{', '.join(mark for mark, _ in shown)}]" if shown else ""
    text = json.dumps(s.message.replace("%", "%%") + marks + "\n")
    p.out.line(f"printf({', '.join([text, *(value for _, value in shown)])});")


def _printf(p: StmtPrinter, v: Expr) -> tuple[str, str]:
    text = p.exprs.value(v, 13)
    if v.dtype.is_float:
        return "%g", f"(double){text}"
    if v.dtype.is_bool:
        return "%s", f'({text} ? "True" : "False")'
    kind = "long long" if v.dtype.is_signed else "unsigned long long"
    return ("%lld" if v.dtype.is_signed else "%llu"), f"({kind}){text}"


def _nothing(p: StmtPrinter, s: Stmt) -> None:
    """An assumption has done its work in the prover."""


_RULES: Mapping[type[Stmt], Rule] = MappingProxyType(
    {
        Assert: _assert,
        Assume: _nothing,
        For: _for,
        MatrixLoad: _matrix_load,
        MatrixStore: _matrix_store,
        Print: _print,
        Store: _store,
        View: _view,
    }
)


def rules_for(spec: TargetSpec) -> dict[type[Stmt], Rule]:
    """What replaces or extends the rules of every C-family language on an architecture."""
    return {**_RULES, **barriers.RULES, Atomic: _atomic(spec), Sync: barriers.sync_rule(spec)}
