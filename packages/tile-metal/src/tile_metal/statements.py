"""Statements that Metal prints in this target's own way: unrolled loops, copies, matrix products,
atomics; and what its kernels cannot do."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from tile_ir.diag import InternalError, TileError
from tile_ir.expr import Const
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
from tile_metal.intrinsics.matrix import matrix_function
from tile_passes.emit.device_dialect import is_narrow
from tile_passes.emit.device_statements import (
    RULES,
    print_atomic,
    print_copy,
    print_counted_loop,
    print_nothing,
    refuse_assert,
    refuse_print,
    start_of,
    updated_code,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tile_ir.opdef import Stmt
    from tile_ir.target import TargetSpec
    from tile_metal.functors import Functors
    from tile_passes.emit import StmtPrinter
    from tile_passes.emit.cfamily import Rule

__all__ = ["rules_for", "sync_rule"]

WORD_BITS = 32


def _for(p: StmtPrinter, s: Stmt) -> None:
    assert isinstance(s, For)
    hints = []
    if s.unroll > 1:
        hints.append(f"#pragma clang loop unroll_count({s.unroll})")
    elif s.kind in ("unroll", "vectorized"):
        hints.append("#pragma clang loop unroll(full)")
    print_counted_loop(p, s, hints)


def sync_rule(device_memory: bool) -> Rule:
    """How threads meet; with `device_memory` they then see each other's writes to it too."""
    tail = "_device" if device_memory else ""

    def rule(p: StmtPrinter, s: Stmt) -> None:
        assert isinstance(s, Sync)
        if s.id == 0 and s.scope == "block":
            p.out.line(f"tile_sync{tail}();")
        elif s.id == 0 and s.scope == "group":
            p.out.line(f"tile_simdgroup_sync{tail}();")
        else:
            raise InternalError("E9001", f"sync {s.scope} reached the emitter", span=s.span)

    return rule


def _atom(spec: TargetSpec) -> Rule:
    def rule(p: StmtPrinter, s: Stmt) -> None:
        """One product on register arrays; its accumulator is cleared first where asked."""
        assert isinstance(s, Atom)
        atom = spec.matrix.get(s.name)
        if atom is None:
            raise InternalError("E9001", f"the atom {s.name} reached the emitter", span=s.span)
        for region in (s.c, s.a, s.b):
            if p.exprs.buffers[region.buffer].scope != "local":
                raise InternalError("E9001", f"{region.buffer} is no array of registers")
        c = start_of(p, s.c)
        _clear(p, s, c)
        call = matrix_function(atom, spec)
        p.out.line(f"{call}({c}, {start_of(p, s.a)}, {start_of(p, s.b)});")

    return rule


def _clear(p: StmtPrinter, s: Atom, c: str) -> None:
    if s.init is None or (isinstance(s.init, Const) and not s.init.value):
        return
    if isinstance(s.init, Const):
        p.out.line(f"tile_clear<2>({c});")
        return
    with p.out.block(f"if ({p.exprs.condition(s.init)})"):
        p.out.line(f"tile_clear<2>({c});")


def _atomic(spec: TargetSpec, functors: Functors) -> Rule:
    def rule(p: StmtPrinter, s: Stmt) -> None:
        """One instruction where there is one, else a compare-and-exchange loop on a word."""
        assert isinstance(s, Atomic)
        buffer = p.exprs.buffers[s.buffer]
        kind, value = buffer.dtype, p.exprs.value(s.value)
        place = f"&{p.exprs.name(s.buffer)}[{p.exprs.offset(buffer, s.indices)}]"
        if kind.bits > WORD_BITS:
            raise _no_wide_atomic(s, str(kind))
        native = kind.name in spec.atomics.get(s.kind, ()) and not is_narrow(kind)
        # Additions of floats exist for memory of the device only.
        if native and not (s.kind == "add" and kind.is_float and buffer.scope == "shared"):
            call = f"tile_atomic_{s.kind}<{p.exprs.dialect.carrier(kind)}>({place}, {value})"
        else:
            storage = p.exprs.dialect.storage(kind)
            of = functors.name(updated_code(p, s, "x"), ("old", "x"))
            call = f"tile_atomic_loop<{storage}, {of}>({place}, {value})"
        print_atomic(p, s, call, fence="tile_fence")

    return rule


def _no_wide_atomic(s: Atomic, kind: str) -> TileError:
    return TileError(
        "E3101",
        f"kernels of this target have no atomic {s.kind} on {kind}",
        s.span,
        ("the widest word that can be exchanged in one step has 32 bits",),
        "Accumulate in i32 or f32, or reduce in two kernels without atomics.",
    )


_RULES: Mapping[type[Stmt], Rule] = MappingProxyType(
    {
        **RULES,
        Assert: refuse_assert,
        AsyncCopy: print_copy,
        CommitGroup: print_nothing,
        For: _for,
        Print: refuse_print,
        SettleCount: print_nothing,
    }
)


def rules_for(spec: TargetSpec, functors: Functors) -> dict[type[Stmt], Rule]:
    """What replaces or extends the rules of every C-family language on an architecture."""
    return {**_RULES, Atom: _atom(spec), Atomic: _atomic(spec, functors)}
