"""Matrix atoms in HIP: calls of the generated wrappers, and the texts of those called."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tile_ir.diag import InternalError
from tile_ir.expr import Const
from tile_ir.ops import Atom
from tile_passes.emit.device_statements import start_of
from tile_rocm.intrinsics.matrix import atom_registers, matrix_wrapper

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

    def print(self, p: StmtPrinter, s: Stmt) -> None:
        """One instruction on register arrays; its accumulator is cleared first where asked."""
        assert isinstance(s, Atom)
        atom = self.spec.matrix.get(s.name)
        if atom is None:
            raise InternalError("E9001", f"the atom {s.name} reached the emitter", span=s.span)
        name, text = matrix_wrapper(atom)
        self.wrappers[name] = text
        c = _place(p, s.c)
        _clear(p, s, atom, c)
        p.out.line(f"{name}({c}, {_place(p, s.a)}, {_place(p, s.b)});")


def _clear(p: StmtPrinter, s: Atom, atom: MatrixAtom, c: str) -> None:
    if s.init is None or (isinstance(s.init, Const) and not s.init.value):
        return
    clear = f"tile_clear<{atom_registers(atom, 'accumulator')}>({c});"
    if isinstance(s.init, Const):
        p.out.line(clear)
        return
    with p.out.block(f"if ({p.exprs.condition(s.init)})"):
        p.out.line(clear)


def _place(p: StmtPrinter, region: Region) -> str:
    if p.exprs.buffers[region.buffer].scope != "local":
        raise InternalError("E9001", f"{region.buffer} is no array of registers")
    return start_of(p, region)
