"""Turn every tile operation into loops over elements.

It stands at the head of the lowering, after the Plan was applied: what a target has no instruction
for becomes independent iterations (`parallel`) over element accesses, in the vocabulary that fusion
and vectorization work on. A target passes rules of its own, which go first.

    before:  fill C[:, :], 0.0
    after:   parallel (i, j) in (128, 64) { store C[i, j] = 0.0 }
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

from tile_ir.ops import (
    Atomic,
    AtomicTile,
    Copy,
    Fill,
    For,
    Gemm,
    Print,
    Reduce,
    Scan,
    Shuffle,
    Store,
    Transpose,
    WarpReduce,
)
from tile_ir.rewrite import declared, replace, with_body
from tile_passes.analysis.context import FactWalk
from tile_passes.analysis.facts import Facts
from tile_passes.base import Pass, PassContext
from tile_passes.lower.atomics import lower_atomic_tile, lower_clipped_atomic, lower_clipped_store
from tile_passes.lower.context import LowerContext, Rule
from tile_passes.lower.copies import lower_copy, lower_fill, lower_transpose
from tile_passes.lower.messages import lower_print
from tile_passes.lower.products import lower_gemm
from tile_passes.lower.reductions import lower_reduce, lower_scan
from tile_passes.lower.warps import lower_shuffle, lower_warp_reduce
from tile_passes.naming import Names

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tile_ir.core import Buffer, Function
    from tile_ir.opdef import Body, Stmt
    from tile_passes.plan.model import Plan

GENERIC: Mapping[type[Stmt], Rule] = MappingProxyType(
    {
        Atomic: lower_clipped_atomic,
        AtomicTile: lower_atomic_tile,
        Copy: lower_copy,
        Fill: lower_fill,
        Gemm: lower_gemm,
        Print: lower_print,
        Reduce: lower_reduce,
        Scan: lower_scan,
        Shuffle: lower_shuffle,
        Store: lower_clipped_store,
        Transpose: lower_transpose,
        WarpReduce: lower_warp_reduce,
    }
)
"""The rule of each tile operation that needs nothing of the target."""


@dataclass(frozen=True, slots=True)
class _Lowering:
    rules: tuple[Mapping[type[Stmt], Rule], ...]
    buffers: Mapping[str, Buffer]
    names: Names
    strict: bool

    def visit(self, stmt: Stmt, facts: Facts) -> Stmt | Body | None:
        if isinstance(stmt, For) and (stmt.order or stmt.stage):
            return replace(stmt, order=(), stage=())  # it counts statements that are loops now
        cx = LowerContext(buffers=self.buffers, names=self.names, facts=facts, strict=self.strict)
        for table in self.rules:
            rule = table.get(type(stmt))
            made = rule(stmt, cx) if rule is not None else None
            if made is not None:
                return stmt if made == (stmt,) else made
        return None


def lower_tiles(fn: Function, rules: Mapping[type[Stmt], Rule] | None = None) -> Function:
    """Rewrite every tile operation, by the target's rule where it has one and it applies."""
    tables = (rules, GENERIC) if rules else (GENERIC,)
    lowering = _Lowering(tables, declared(fn), Names.of(fn), fn.numerics == "strict")
    return with_body(fn, FactWalk.of(fn).rewrite(fn.body, Facts.of_dims(fn.dims), lowering.visit))


def _run(fn: Function, cx: PassContext, plan: Plan) -> Function:
    return lower_tiles(fn)


PASS = Pass(name="lower-tiles", phase="lower", rewrite=_run, ensures=("element-wise",), doc=__doc__)
