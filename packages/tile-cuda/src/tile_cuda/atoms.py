"""Matrix atoms in CUDA: calls of the generated wrappers, and the texts of those called."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tile_cuda.async_atoms import AsyncAtoms
from tile_cuda.intrinsics.matrix import atom_registers, mma_wrapper
from tile_ir.diag import InternalError
from tile_ir.expr import Const
from tile_ir.ops import Atom

if TYPE_CHECKING:
    from tile_ir.core import Region
    from tile_ir.opdef import Stmt
    from tile_ir.target import MatrixAtom, TargetSpec
    from tile_passes.emit import StmtPrinter

__all__ = ["AtomPrinter"]


@dataclass(slots=True)
class AtomPrinter:
    """Prints atoms of one function, and remembers which wrappers they call."""

    spec: TargetSpec
    wrappers: dict[str, str] = field(default_factory=dict)
    asynchronous: AsyncAtoms = field(init=False)

    def __post_init__(self) -> None:
        self.asynchronous = AsyncAtoms(self.spec, self.wrappers)

    def print(self, p: StmtPrinter, s: Stmt) -> None:
        """One instruction; that of a warp works on register arrays, and its accumulator is cleared
        first where asked."""
        assert isinstance(s, Atom)
        if self.asynchronous.is_async(s):
            self.asynchronous.print(p, s)
            return
        atom = self.spec.matrix.get(s.name)
        if atom is None:
            raise InternalError("E9001", f"the atom {s.name} reached the emitter", span=s.span)
        name, text = mma_wrapper(atom)
        self.wrappers[name] = text
        c = self._place(p, s.c)
        self._clear(p, s, atom, c)
        p.out.line(f"{name}({c}, {self._place(p, s.a)}, {self._place(p, s.b)});")

    def _clear(self, p: StmtPrinter, s: Atom, atom: MatrixAtom, c: str) -> None:
        if s.init is None or (isinstance(s.init, Const) and not s.init.value):
            return
        registers = atom_registers(atom, "accumulator")
        clear = f"tile_clear<{registers.count}>(({registers.kind} *){c});"
        if isinstance(s.init, Const):
            p.out.line(clear)
            return
        with p.out.block(f"if ({p.exprs.condition(s.init)})"):
            p.out.line(clear)

    def _place(self, p: StmtPrinter, region: Region) -> str:
        buffer = p.exprs.buffers[region.buffer]
        if buffer.scope != "local":
            raise InternalError("E9001", f"{region.buffer} is no array of registers")
        at = p.exprs.offset(buffer, [r.start for r in region.ranges])
        return f"&{p.exprs.name(region.buffer)}[{at}]"
