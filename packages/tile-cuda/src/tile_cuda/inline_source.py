"""Calls of functions that a kernel brings as CUDA C++ text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tile_ir.expr import Load
from tile_ir.ops import CallExtern, Source
from tile_ir.rewrite import walk

if TYPE_CHECKING:
    from tile_ir.core import Function
    from tile_ir.opdef import Stmt
    from tile_passes.emit import StmtPrinter
    from tile_passes.emit.cfamily import Rule

__all__ = ["RULES", "texts_of"]


def texts_of(fn: Function) -> list[str]:
    """The texts that a function's kernels bring, each once, in order."""
    return list(dict.fromkeys(s.text for s in walk(fn.body) if isinstance(s, Source)))


def _source(p: StmtPrinter, s: Stmt) -> None:
    """It stands before the kernels."""


def _call(p: StmtPrinter, s: Stmt) -> None:
    """The call, with places as pointers that take the type of the parameter."""
    assert isinstance(s, CallExtern)
    texts = []
    for n, arg in enumerate(s.args):
        if n not in s.places:
            texts.append(p.exprs.value(arg))
            continue
        assert isinstance(arg, Load)  # the verifier's rule
        name = p.exprs.name(arg.buffer)
        buffer = p.exprs.buffers[arg.buffer]
        at = f"{name}[{p.exprs.offset(buffer, arg.indices)}]" if arg.indices else name
        texts.append(f"tile_place{{(void *)&{at}}}")
    call = f"{s.name}({', '.join(texts)});"
    if s.result is not None:
        carrier = p.exprs.dialect.carrier(s.result.dtype)
        call = f"const {carrier} {p.exprs.name(s.result.name)} = {call}"
    p.out.line(call)


RULES: dict[type[Stmt], Rule] = {CallExtern: _call, Source: _source}
