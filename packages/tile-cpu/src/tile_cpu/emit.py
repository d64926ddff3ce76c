"""From a lowered function to one C file: the jobs of its kernels and the host entry that launches
them.

Every kernel becomes `static void NAME_job(context, job, worker, scratch)`, one tile per job; the
entry unpacks the arguments, computes how many tiles there are, and hands each kernel to the pool in
order. The text is header-free: the contract with the runtime and the prelude functions that the
text mentions are pasted in front.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tile_cpu.c_dialect import DIALECT
from tile_cpu.c_matrix import MatrixPrinter
from tile_cpu.c_statements import rules_for
from tile_cpu.host_entry import print_entry
from tile_cpu.job import job_stem, print_job
from tile_cpu.prelude.index import abi_text, pieces_for
from tile_cpu.prelude.templates import resolve
from tile_cpu.streams import Streams
from tile_cpu.windows import CExprPrinter, multiples
from tile_ir.expr import Binary, Call, Const, Expr, Select, Var
from tile_ir.expr import walk as walk_expr
from tile_ir.ops import For, Kernel, Let, Parallel, Tiles
from tile_ir.rewrite import bound_vars, declared, walk
from tile_passes.emit import ExprPrinter, StmtPrinter, Writer, c_name
from tile_passes.emit.identifiers import identifiers

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tile_ir.core import Function
    from tile_ir.target import TargetSpec

__all__ = ["Source", "emit_function", "emit_functions"]

RUNTIME_NAMES = frozenset(
    {
        *("args", "context", "ctx", "job", "matrix_rows", "more", "njobs", "rt", "scratch"),
        *("worker", "workspace"),
    }
)
"""What the emitted functions call their own parameters."""

_MENTIONED = re.compile(r"\b(?:tile_\w+|[iuf]\d+x\d+|bf16x\d+)\b")


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """The text of one function and the name of its entry."""

    text: str
    entry: str


def emit_function(fn: Function, spec: TargetSpec, line_directives: bool = False) -> Source:
    """Print a lowered function for the machines of `spec`; equal functions give equal text."""
    text, (entry,) = emit_functions((fn,), spec, line_directives)
    return Source(text=text, entry=entry)


def emit_functions(
    fns: Sequence[Function], spec: TargetSpec, line_directives: bool = False
) -> tuple[str, tuple[str, ...]]:
    """Print several functions of different names into one file; returns its text and their
    entries.
    """
    out = Writer(line_directives)
    kernels: dict[str, str] = {}
    needs: set[str] = set()
    for fn in fns:
        matrix = MatrixPrinter.of(fn, spec)
        printer = StmtPrinter(_expressions(fn), out, rules_for(matrix))
        streams = Streams.of(fn, spec)
        for kernel in walk(fn.body):
            if isinstance(kernel, Kernel):
                past, opening = streams.of_kernel(kernel), matrix.opening(kernel)
                print_job(printer, kernel, job_stem(fn, kernel), past, opening)
        print_entry(printer, fn, c_name(fn.name))
        kernels |= matrix.kernels
        needs |= matrix.needs
    body = out.text()
    needs |= {name for name in _MENTIONED.findall(body) if resolve(name)}
    text = "\n".join((abi_text(), pieces_for(needs), *kernels.values(), body))
    return text, tuple(c_name(fn.name) for fn in fns)


def _expressions(fn: Function) -> ExprPrinter:
    buffers = declared(fn)
    names = identifiers(fn, buffers, RUNTIME_NAMES)
    printer = CExprPrinter(DIALECT, buffers, names, _wide_variables(fn))
    printer.known = multiples(fn)
    return printer


def _wide_variables(fn: Function) -> set[Var]:
    """Dimensions, tile indices, loop variables, and what is computed from those: declared in the
    index type.
    """
    wide = set(fn.dims)
    for s in walk(fn.body):
        if isinstance(s, (Tiles, For, Parallel)) or (
            isinstance(s, Let) and _is_index(s.value, wide)
        ):
            wide.update(bound_vars(s))
    return wide


def _is_index(e: Expr, wide: set[Var]) -> bool:
    """Whether `e` is integer arithmetic on such variables alone, and at least one of them."""
    nodes = walk_expr(e)
    inner, leaves = [n for n in nodes if n.children()], [n for n in nodes if not n.children()]
    return (
        e.dtype.is_int
        and all(isinstance(n, (Binary, Select)) for n in inner)
        and all(n.dtype.is_int and (isinstance(n, (Call, Const)) or n in wide) for n in leaves)
        and any(n in wide for n in leaves)
    )
