"""Statements that HIP prints in this target's own way: memory of a block, unrolled loops, whole
moves, barriers, atomics."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from tile_ir.diag import InternalError, TileError
from tile_ir.expr import Broadcast, Const, Expr, Load, Ramp, Select
from tile_ir.numerics import literal_bits
from tile_ir.ops import (
    Alloc,
    Assert,
    Assume,
    AsyncCopy,
    Atom,
    Atomic,
    CommitGroup,
    For,
    Print,
    SettleCount,
    Store,
    Sync,
    View,
)
from tile_passes.emit.cfamily import print_alloc, print_store
from tile_passes.emit.device_dialect import is_narrow, is_packed, storage_type
from tile_passes.emit.dialect import CONDITIONAL, INFIX

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tile_ir.core import Buffer, Region
    from tile_ir.opdef import Stmt
    from tile_ir.target import TargetSpec
    from tile_ir.types import DType
    from tile_passes.emit import ExprPrinter, StmtPrinter
    from tile_passes.emit.cfamily import Rule
    from tile_rocm.atoms import AtomPrinter

__all__ = ["rules_for", "start_of"]

ATOMIC_CALLS = {
    "add": "tile_atomic_add",
    "max": "tile_atomic_max",
    "min": "tile_atomic_min",
    "and": "tile_atomic_and",
    "or": "tile_atomic_or",
    "xor": "tile_atomic_xor",
    "exchange": "tile_atomic_exchange",
}


def _alloc(p: StmtPrinter, s: Stmt) -> None:
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
    start, stop = p.exprs.value(s.start), p.exprs.value(s.stop, 10)
    with p.out.block(f"for ({kind} {name} = {start}; {name} {test} {stop}; {move})"):
        p.body(s.body)


def start_of(p: StmtPrinter, region: Region) -> str:
    """The address of a region's first element."""
    buffer = p.exprs.buffers[region.buffer]
    at = p.exprs.offset(buffer, [r.start for r in region.ranges])
    if buffer.dtype.storage_bits < 8:
        at = f"({at}) >> 1"
    return f"&{p.exprs.name(region.buffer)}[{at}]"


def _async_copy(p: StmtPrinter, s: Stmt) -> None:
    """The thread's own few bytes, at once and through registers: the engine that writes shared
    memory directly cannot leave the lanes of a wave their own addresses. Zeros arrive where the
    condition does not hold."""
    assert isinstance(s, AsyncCopy)
    size = p.exprs.buffers[s.dst.buffer].dtype.storage_bits
    for r in s.dst.ranges:
        assert isinstance(r.extent, Const)  # the verifier's rule
        size *= int(r.extent.value)
    size //= 8
    dst, src = start_of(p, s.dst), start_of(p, s.src)
    if s.where is None:
        p.out.line(f"tile_move<{size}>({dst}, {src});")
        return
    where = p.exprs.value(s.where)
    p.out.line(f"tile_move_or_zero<{size}>({dst}, {src}, {where});")


def _done(p: StmtPrinter, s: Stmt) -> None:
    """Groups of copies have nothing to wait for: each was complete when it was issued."""


def _sync(p: StmtPrinter, s: Stmt) -> None:
    assert isinstance(s, Sync)
    if s.id == 0 and s.scope == "block":
        p.out.line("tile_sync();")
    elif s.id == 0 and s.scope == "group":
        p.out.line("tile_wave_sync();")
    else:
        raise InternalError("E9001", f"sync {s.scope} reached the emitter", span=s.span)


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
        call = _atomic_call(p, s, kind.name in spec.atomics.get(s.kind, ()))
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
    value = p.exprs.value(s.value)
    place = f"&{p.exprs.name(s.buffer)}[{p.exprs.offset(buffer, s.indices)}]"
    if native and not is_narrow(buffer.dtype):
        carrier = p.exprs.dialect.carrier(buffer.dtype)
        return f"{ATOMIC_CALLS[s.kind]}<{carrier}>({place}, {value})"
    return _atomic_loop(p, s, place, value)


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
    """Stop the launch: the next call of the driver reports it. What failed stands in the source."""
    assert isinstance(s, Assert)
    text = (s.message or "assertion failed").replace("*/", "* /")
    with p.out.block(f"if (!({p.exprs.condition(s.cond)}))"):
        p.out.line(f"__builtin_trap(); /* {' '.join(text.split())} */")


def _print(_: StmtPrinter, s: Stmt) -> None:
    raise TileError(
        "E3101",
        "kernels of this target cannot print",
        s.span,
        ("printing needs a service of the host that the generated code does without",),
        "Store the value to an output, or run the kernel with target='cpu'.",
    )


def _nothing(p: StmtPrinter, s: Stmt) -> None:
    """An assumption has done its work in the prover."""


_RULES: Mapping[type[Stmt], Rule] = MappingProxyType(
    {
        Alloc: _alloc,
        Assert: _assert,
        Assume: _nothing,
        AsyncCopy: _async_copy,
        CommitGroup: _done,
        For: _for,
        Print: _print,
        SettleCount: _done,
        Store: _store,
        Sync: _sync,
        View: _view,
    }
)


def rules_for(spec: TargetSpec, atoms: AtomPrinter) -> dict[type[Stmt], Rule]:
    """What replaces or extends the rules of every C-family language on an architecture."""
    return {**_RULES, Atom: atoms.print, Atomic: _atomic(spec)}
