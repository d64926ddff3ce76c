"""What a kernel takes from the host function around it, as the fields of its context structure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tile_ir.expr import Call, Var, free_vars
from tile_ir.expr import walk as walk_expr
from tile_ir.opdef import Access
from tile_ir.ops import Alloc, Assert, Kernel, Print, View
from tile_ir.rewrite import all_effects, bound_vars, stmt_exprs, walk

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tile_ir.core import Buffer
    from tile_ir.expr import Expr
    from tile_passes.emit import ExprPrinter

__all__ = ["Field", "captured", "needs_runtime"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One member of the context: its identifier and its C type, pointers with their star."""

    name: str
    kind: str

    @property
    def declaration(self) -> str:
        """`float *A`, `int64_t M`."""
        return f"{self.kind}{'' if self.kind.endswith('*') else ' '}{self.name}"

    @property
    def local(self) -> str:
        """The declaration of the same thing inside the job, where it does not change."""
        star = self.kind.endswith("*")
        return f"{self.kind}const {self.name}" if star else f"const {self.kind} {self.name}"


def captured(exprs: ExprPrinter, kernel: Kernel) -> tuple[Field, ...]:
    """The buffers and variables that a kernel uses and does not declare, in order of first use."""
    inside = {s.buffer.name for s in walk(kernel.body) if isinstance(s, (Alloc, View))}
    bound = {v for s in walk(kernel.body) for v in bound_vars(s)}
    written = {
        e.buffer for e in all_effects(kernel.body) if e.access & (Access.WRITE | Access.UPDATE)
    }
    viewed = {s.source: s.buffer.name for s in walk(kernel.body) if isinstance(s, View)}
    fields: dict[str, Field] = {}
    for name in _buffers_used(kernel):
        if name not in inside:
            mutable = name in written or viewed.get(name, name) in written
            fields[name] = _buffer_field(exprs, exprs.buffers[name], mutable)
    shapes = [e for n in (*fields, *inside) for e in _shape_exprs(exprs.buffers[n])]
    used = [e for s in walk(kernel.body) for e in stmt_exprs(s)]
    for var in dict.fromkeys(v for e in (*shapes, *used) for v in sorted(free_vars(e), key=str)):
        if var not in bound:
            fields[var.name] = _variable_field(exprs, var)
    return tuple(fields.values())


def _buffers_used(kernel: Kernel) -> Iterator[str]:
    yield from dict.fromkeys(e.buffer for e in all_effects(kernel.body))
    yield from dict.fromkeys(s.source for s in walk(kernel.body) if isinstance(s, View))


def _shape_exprs(buffer: Buffer) -> tuple[Expr, ...]:
    return (*buffer.shape, *(buffer.strides or ()))


def _buffer_field(exprs: ExprPrinter, buffer: Buffer, mutable: bool) -> Field:
    kind = exprs.dialect.storage(buffer.dtype)
    return Field(name=exprs.name(buffer.name), kind=f"{'' if mutable else 'const '}{kind} *")


def _variable_field(exprs: ExprPrinter, var: Var) -> Field:
    kind = exprs.dialect.index_type if var in exprs.wide else exprs.dialect.carrier(var.dtype)
    return Field(name=exprs.name(var.name), kind=kind)


def needs_runtime(kernel: Kernel) -> bool:
    """Whether the job itself talks to the runtime: messages, failures, the number of workers."""
    for s in walk(kernel.body):
        if isinstance(s, (Assert, Print)):
            return True
        for e in stmt_exprs(s):
            if any(isinstance(n, Call) and n.fn == "device_workers" for n in walk_expr(e)):
                return True
    return False
