"""The printer of one function's kernels: the rules that share what a kernel needs besides its
statements (tensor maps, descriptors of shared tiles, groups in flight)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tile_cuda.async_atoms import MATRIX_ENGINE
from tile_cuda.atoms import AtomPrinter
from tile_cuda.boxes import BoxPrinter
from tile_cuda.statements import rules_for
from tile_ir.diag import InternalError
from tile_ir.expr import Const
from tile_ir.ops import (
    Alloc,
    Atom,
    BoxLoad,
    BoxStore,
    CommitGroup,
    For,
    If,
    Pin,
    SettleCount,
    While,
)
from tile_passes.emit import StmtPrinter
from tile_passes.emit.cfamily import RULES
from tile_passes.emit.device_statements import print_memory

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tile_ir.core import Buffer
    from tile_ir.opdef import Body, Stmt
    from tile_ir.ops import Kernel
    from tile_ir.target import TargetSpec
    from tile_passes.emit import ExprPrinter, Writer
    from tile_passes.naming import Names

__all__ = ["KernelPrinter"]


class KernelPrinter(StmtPrinter):
    """Prints the kernels of one function; `begin` comes before each."""

    def __init__(self, exprs: ExprPrinter, out: Writer, spec: TargetSpec) -> None:
        self.spec = spec
        self.atoms = AtomPrinter(spec)
        self.boxes = BoxPrinter()
        own = {
            Alloc: _alloc,
            Atom: self.atoms.print,
            BoxLoad: self.boxes.load,
            BoxStore: self.boxes.store,
            CommitGroup: _commit,
            Pin: _pin,
            SettleCount: _settle,
        }
        super().__init__(exprs, out, {**rules_for(spec), **own})
        self.rules |= {For: self._loop, While: self._loop, If: self._branch}
        self._plain = {**RULES, **rules_for(spec)}

    def begin(self, kernel: Kernel, buffers: Mapping[str, Buffer], names: Names) -> None:
        """Forget the kernel before; name what this one needs."""
        self.atoms.asynchronous.begin(kernel, buffers, names)
        self.boxes.begin(kernel, buffers, names)

    def body(self, body: Body) -> None:
        """Print statements; registers declared among them are out of sight afterwards."""
        visible = self.atoms.asynchronous.visible
        mark = len(visible)
        super().body(body)
        del visible[mark:]

    def _loop(self, p: StmtPrinter, s: Stmt) -> None:
        assert isinstance(s, (For, While))
        if self.atoms.asynchronous.print_steps(p, s):
            return
        with self.atoms.asynchronous.loop(s.body):
            self._plain[type(s)](p, s)

    def _branch(self, p: StmtPrinter, s: Stmt) -> None:
        with self.atoms.asynchronous.branch():
            self._plain[type(s)](p, s)


def _alloc(p: StmtPrinter, s: Stmt) -> None:
    assert isinstance(s, Alloc)
    assert isinstance(p, KernelPrinter)
    print_memory(p, s)
    p.atoms.asynchronous.declare(p, s.buffer)


def _commit(p: StmtPrinter, s: Stmt) -> None:
    """The group of what this thread issued on an engine ends here."""
    assert isinstance(s, CommitGroup)
    assert isinstance(p, KernelPrinter)
    engine = p.spec.copy.get(s.engine)
    if s.engine == MATRIX_ENGINE:
        p.atoms.asynchronous.commit(p)
    elif engine is None or engine.completion != "counted":
        raise InternalError("E9001", f"{s.engine} has no groups to commit", span=s.span)
    else:
        p.out.line("tile_copy_commit();" if engine.bytes else "tile_bulk_commit();")


def _pin(p: StmtPrinter, s: Stmt) -> None:
    """What keeps the next wait behind the computation of these registers, on architectures whose
    assembler moves it: their sum is asked for in front of it."""
    assert isinstance(s, Pin)
    assert isinstance(p, KernelPrinter)
    if p.spec.hints.get("pin") != "never_taken_store":
        return
    buffer, name = p.exprs.buffers[s.value.buffer], p.exprs.name(s.value.buffer)
    (held,) = s.value.ranges
    if buffer.dtype.name != "f32" or not isinstance(held.extent, Const):
        raise InternalError("E9001", f"a pin of {buffer.dtype} in {s.value}", span=s.span)
    parts = [f"{name}[{i}]" for i in range(int(held.extent.value))]
    p.out.line(f"tile_pin({' + '.join(parts)}, arena);")


def _settle(p: StmtPrinter, s: Stmt) -> None:
    """The wait of the engine's kind for all but some of its groups."""
    assert isinstance(s, SettleCount)
    assert isinstance(p, KernelPrinter)
    engine = p.spec.copy.get(s.engine)
    if engine is None:
        p.atoms.asynchronous.settle(p, s.pending)
    elif engine.bytes:
        p.out.line(f"tile_copy_wait<{s.pending}>();")
    else:
        p.out.line(f"tile_bulk_wait{'_read' if s.read else ''}<{s.pending}>();")
