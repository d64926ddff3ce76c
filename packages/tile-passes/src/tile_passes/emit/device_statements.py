"""Statements that every device's C++ prints alike: memory of a block, loops, whole moves, atomics
on any type."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from tile_ir.diag import InternalError, TileError
from tile_ir.expr import Broadcast, Const, Expr, Load, Ramp, Select
from tile_ir.numerics import literal_bits
from tile_ir.ops import Alloc, Assume, AsyncCopy, Atomic, For, Store, View
from tile_passes.emit.cfamily import print_alloc, print_store
from tile_passes.emit.device_dialect import is_narrow, is_packed
from tile_passes.emit.dialect import CONDITIONAL, INFIX

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from tile_ir.core import Buffer, Region
    from tile_ir.opdef import Body, Stmt
    from tile_ir.types import DType
    from tile_passes.emit.cfamily import Rule, StmtPrinter
    from tile_passes.emit.exprs import ExprPrinter

__all__ = [
    "RULES",
    "atomic_loop",
    "code_of",
    "moved_code",
    "print_atomic",
    "print_copy",
    "print_counted_loop",
    "print_memory",
    "print_nothing",
    "refuse_assert",
    "refuse_print",
    "start_of",
    "updated_code",
    "value_of",
]

RELEASES = frozenset({"release", "acq_rel", "seq_cst"})
"""Orders of atomics behind which others see what was written before."""
ACQUIRES = frozenset({"consume", "acquire", "acq_rel", "seq_cst"})
"""Orders of atomics behind which this thread sees what others had released."""


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
    kind, name = _pointed(p, b.dtype, b.scope), p.exprs.name(b.name)
    p.out.line(f"{kind} *const {name} = ({kind} *)(arena + {b.offset});")


def _pointed(p: StmtPrinter, kind: DType, scope: str) -> str:
    return p.exprs.dialect.spaces.get(scope, "") + p.exprs.dialect.storage(kind)


def _view(p: StmtPrinter, s: Stmt) -> None:
    assert isinstance(s, View)
    kind = _pointed(p, s.buffer.dtype, p.exprs.buffers[s.source].scope)
    name = p.exprs.name(s.buffer.name)
    p.out.line(f"{kind} *const {name} = ({kind} *){p.exprs.name(s.source)};")


def print_counted_loop(
    p: StmtPrinter,
    s: Stmt,
    hints: Iterable[str],
    inside: Callable[[Body], None] | None = None,
) -> None:
    """A counted loop in the variable's own type, below the lines that say how to unroll it;
    `inside` prints its body where that is not printed as any other."""
    assert isinstance(s, For)
    step = int(s.step.value) if isinstance(s.step, Const) else 0
    if step == 0:
        raise InternalError("E9001", "a loop without a constant step", span=s.span)
    name, kind = p.exprs.name(s.var.name), p.exprs.dialect.carrier(s.var.dtype)
    test = "<" if step > 0 else ">"
    by = f"{name} {'+' if step > 0 else '-'}= {abs(step)}"
    move = {1: f"{name}++", -1: f"{name}--"}.get(step, by)
    for hint in hints:
        p.out.line(hint)
    start, stop = p.exprs.value(s.start), p.exprs.value(s.stop, 10)
    with p.out.block(f"for ({kind} {name} = {start}; {name} {test} {stop}; {move})"):
        (inside or p.body)(s.body)


def start_of(p: StmtPrinter, region: Region) -> str:
    """The address of a region's first element."""
    buffer = p.exprs.buffers[region.buffer]
    at = p.exprs.offset(buffer, [r.start for r in region.ranges])
    if buffer.dtype.storage_bits < 8:
        at = f"({at}) >> 1"
    return f"&{p.exprs.name(region.buffer)}[{at}]"


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
        return f"({exprs.dialect.storage(e.dtype)}){hex(literal_bits(e.value, e.dtype))}"
    if isinstance(e, Broadcast) and isinstance(e.a, Const):
        return _splat_code(exprs, e.a, e.dtype)
    if isinstance(e, Select) and e.cond.dtype.lanes == 1:
        t, f = moved_code(exprs, e.t), moved_code(exprs, e.f)
        if t is None or f is None:
            return None
        return f"{exprs.value(e.cond, CONDITIONAL + 1)} ? {t} : {f}"
    return exprs.code(e)


def _splat_code(exprs: ExprPrinter, one: Const, kind: DType) -> str | None:
    """A constant in every lane; two lanes share a byte where an element is half of one."""
    if is_packed(kind):
        code = literal_bits(one.value, one.dtype)
        return (
            f"tile_splat<{kind.lanes // 2}>(({exprs.dialect.storage(kind.scalar)}){hex(code * 17)})"
        )
    text = moved_code(exprs, one)
    return None if text is None else f"tile_splat<{kind.lanes}>({text})"


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


def print_atomic(p: StmtPrinter, s: Stmt, call: str, fence: str = "") -> None:
    """An atomic whose text is `call`, which gives the bits from before; they are named where the
    program does. `fence` and an order name a function that orders memory of the device: the
    instructions themselves order nothing."""
    assert isinstance(s, Atomic)
    order = s.order if fence and p.exprs.buffers[s.buffer].scope == "global" else "relaxed"
    ordered = f"{fence}_{'seq_cst' if order == 'seq_cst' else 'acq_rel'}();"
    if order in RELEASES:
        p.out.line(ordered)
    _print_update(p, s, call)
    if order in ACQUIRES:
        p.out.line(ordered)


def _print_update(p: StmtPrinter, s: Atomic, call: str) -> None:
    if s.result is None:
        p.out.line(f"{call};")
        return
    dialect, kind = p.exprs.dialect, p.exprs.buffers[s.buffer].dtype
    carrier, name = dialect.carrier(kind), p.exprs.name(s.result.name)
    if dialect.storage(kind) != carrier:
        p.out.line(f"const {dialect.storage(kind)} {name}_code = {call};")
        call = value_of(p, kind, f"{name}_code")
    p.out.line(f"const {carrier} {name} = {call};")


def value_of(p: StmtPrinter, kind: DType, code: str) -> str:
    """The carried value of an element whose bits a C++ variable holds."""
    return p.exprs.dialect.read(kind, "(&code)", "0").replace("(&code)[0]", code)


def code_of(p: StmtPrinter, kind: DType, value: str) -> str:
    """The bits that memory would hold of a carried value."""
    return p.exprs.dialect.write(kind, "(&code)", "0", value).removeprefix("(&code)[0] = ")


def updated_code(p: StmtPrinter, s: Atomic, value: str) -> str:
    """The bits that an atomic leaves where the variable `old` holds those from before."""
    dialect, kind = p.exprs.dialect, p.exprs.buffers[s.buffer].dtype
    if is_packed(kind):
        raise InternalError("E9001", f"an atomic on {kind}", span=s.span)
    old = value_of(p, kind, "old")
    if s.kind == "exchange":
        new = value
    elif dialect.infix(s.kind, kind):
        new = dialect.normalize(kind, f"{old} {INFIX[s.kind].sign} ({value})")
    else:
        new = dialect.operator(s.kind, kind, old, value)
    return f"({dialect.storage(kind)})({code_of(p, kind, new)})"


def atomic_loop(p: StmtPrinter, s: Atomic, place: str, value: str) -> str:
    """The call of the prelude's compare-and-exchange loop, with a lambda."""
    storage = p.exprs.dialect.storage(p.exprs.buffers[s.buffer].dtype)
    code = updated_code(p, s, value)
    return f"tile_atomic_loop({place}, [&]({storage} old) {{ return {code}; }})"


def print_copy(p: StmtPrinter, s: Stmt) -> None:
    """The thread's own few bytes, at once and through registers, where no engine takes them. Zeros
    arrive where the condition does not hold."""
    assert isinstance(s, AsyncCopy)
    size = p.exprs.buffers[s.dst.buffer].dtype.storage_bits
    for r in s.dst.ranges:
        assert isinstance(r.extent, Const)  # the verifier's rule
        size *= int(r.extent.value)
    dst, src = start_of(p, s.dst), start_of(p, s.src)
    if s.where is None:
        p.out.line(f"tile_move<{size // 8}>({dst}, {src});")
        return
    p.out.line(f"tile_move_or_zero<{size // 8}>({dst}, {src}, {p.exprs.value(s.where)});")


def print_nothing(p: StmtPrinter, s: Stmt) -> None:
    """Groups of copies that were complete when they were issued have nothing to wait for."""


def refuse_print(p: StmtPrinter, s: Stmt) -> None:
    """Raise TileError E3101: kernels of such a device cannot print."""
    raise TileError(
        "E3101",
        "kernels of this target cannot print",
        s.span,
        ("printing needs a service of the host that the generated code does without",),
        "Store the value to an output, or run the kernel with target='cpu'.",
    )


def refuse_assert(p: StmtPrinter, s: Stmt) -> None:
    """Raise TileError E3101: kernels of such a device cannot say what failed."""
    raise TileError(
        "E3101",
        "kernels of this target cannot check an assertion",
        s.span,
        ("a kernel has no way to stop the launch or to say why",),
        "State it about the arguments, outside of the kernel, or run with target='cpu'.",
    )


def _nothing(p: StmtPrinter, s: Stmt) -> None:
    """An assumption has done its work in the prover."""


RULES: Mapping[type[Stmt], Rule] = MappingProxyType(
    {Alloc: print_memory, Assume: _nothing, Store: _store, View: _view}
)
"""What replaces or extends the rules of every C-family language on a device."""
