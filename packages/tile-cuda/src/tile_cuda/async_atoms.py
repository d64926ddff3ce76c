"""Asynchronous matrix instructions of a warp group: calls of the generated wrappers, groups, waits.

Registers of an instruction in flight must not be touched, and reads of finished ones must not move
above the wait. So after a wait the accumulators that it finishes pass through an empty statement
that claims to change them. Which these are follows from the order of the text: groups finish in the
order in which they were closed. A loop's own groups may be in flight from the trip before; what is
settled in a branch counts as in flight behind it.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tile_cuda.descriptors import Descriptor, SharedOperand, shared_operand
from tile_cuda.intrinsics.matrix import wgmma_wrapper
from tile_cuda.matrix_steps import constant_distances, follow_each_other, steps_of
from tile_ir import build as b
from tile_ir.diag import InternalError
from tile_ir.expr import Const
from tile_ir.ops import Atom, CommitGroup
from tile_ir.rewrite import walk
from tile_ir.types import dtype

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tile_ir.core import Buffer, Region
    from tile_ir.opdef import Body, Stmt
    from tile_ir.ops import Kernel
    from tile_ir.target import TargetSpec
    from tile_passes.emit import StmtPrinter
    from tile_passes.naming import Names

__all__ = ["MATRIX_ENGINE", "AsyncAtoms"]

MATRIX_ENGINE = "mma"
"""What groups of asynchronous matrix instructions call their engine."""


@dataclass(slots=True)
class AsyncAtoms:
    """The asynchronous instructions of one function. `begin` starts a kernel."""

    spec: TargetSpec
    wrappers: dict[str, str]
    bases: dict[Descriptor, str] = field(default_factory=dict)
    visible: list[str] = field(default_factory=list)
    flying: list[frozenset[str]] = field(default_factory=list)
    opened: set[str] = field(default_factory=set)

    def begin(self, kernel: Kernel, buffers: Mapping[str, Buffer], names: Names) -> None:
        """Name the descriptors that the kernel's instructions need."""
        self.bases.clear()
        self.visible.clear()
        self.flying.clear()
        self.opened.clear()
        for s in walk(kernel.body):
            if isinstance(s, Atom) and self.is_async(s):
                for operand in self._shared_operands(s, buffers):
                    found = operand.descriptor
                    if found not in self.bases:
                        self.bases[found] = names.fresh(f"{found.buffer}_at")

    def is_async(self, s: Atom) -> bool:
        """Whether a warp group issues the instruction and goes on."""
        atom = self.spec.matrix.get(s.name)
        return atom is not None and atom.engine == "async"

    def declare(self, p: StmtPrinter, buffer: Buffer) -> None:
        """After a buffer's declaration: the descriptors of its start; note registers in sight."""
        if buffer.scope == "local":
            self.visible.append(buffer.name)
        for found, name in self.bases.items():
            if found.buffer == buffer.name:
                call = f"tile_descriptor<{found.swizzle}>"
                place = p.exprs.name(buffer.name)
                p.out.line(
                    f"const unsigned long long {name} ="
                    f" {call}({place}, {found.lead}, {found.stride});"
                )

    def print(self, p: StmtPrinter, s: Atom, steps: int = 1, moves: tuple[int, ...] = ()) -> None:
        """One instruction, or `steps` of them whose operands lie `moves` further; `init` becomes
        the choice to overwrite the accumulator."""
        buffers = p.exprs.buffers
        *first, last = self._shared_operands(s, buffers)
        atom = self.spec.matrix[s.name]
        name, text = wgmma_wrapper(atom, last.mn, "ss" if first else "rs", steps)
        self.wrappers[name] = text
        a = self._described(p, first[0]) if first else f"(const unsigned *){self._place(p, s.a)}"
        majors = [int(o.mn_major) for o in (*first, last)]
        flagged = dtype(atom.a.dtype).bits == 16
        if not flagged and any(majors):
            raise InternalError("E9001", f"{s.name} reads only along k", span=s.span)
        numbers = ", ".join(map(str, [*(majors if flagged else ()), *moves]))
        c, given = self._place(p, s.c), f"<{numbers}>" if numbers else ""
        p.out.line(f"{name}{given}({c}, {a}, {self._described(p, last)}, {self._keep(p, s)});")
        self.opened.add(s.c.buffer)

    def print_steps(self, p: StmtPrinter, loop: Stmt) -> bool:
        """One statement for all instructions of an unrolled loop, where it is one product's."""
        steps = steps_of(loop)
        moves = self._moves(p, steps) if len(steps) > 1 and self.is_async(steps[0]) else None
        if moves is None:
            return False
        self.print(p, steps[0], len(steps), moves)
        return True

    def _moves(self, p: StmtPrinter, steps: tuple[Atom, ...]) -> tuple[int, ...] | None:
        """How far the operands in shared memory are from those of the first step, in chunks; None
        where one is not at a constant distance, or A is not in registers one behind the other."""
        operands = [self._shared_operands(s, p.exprs.buffers) for s in steps]
        found: list[int] = []
        for places in zip(*operands, strict=True):
            moves = constant_distances([o.start for o in places])
            if moves is None or len({o.descriptor for o in places}) > 1:
                return None
            found += moves
        return tuple(found) if len(operands[0]) > 1 or follow_each_other(steps) else None

    def commit(self, p: StmtPrinter) -> None:
        """Close a group."""
        p.out.line("tile_wgmma_commit();")
        self.flying.append(frozenset(self.opened))
        self.opened.clear()

    def settle(self, p: StmtPrinter, pending: int) -> None:
        """Wait for all but `pending` groups, and pin the accumulators that are finished."""
        p.out.line(f"tile_wgmma_wait<{pending}>();")
        cut = max(len(self.flying) - pending, 0)
        done, left = self.flying[:cut], self.flying[cut:]
        self.flying = left
        for name in sorted(frozenset().union(*done).difference(self.opened, *left)):
            if name in self.visible:
                count = _elements(p.exprs.buffers[name])
                p.out.line(f"tile_settle<{count}>({p.exprs.name(name)});")

    @contextmanager
    def branch(self) -> Iterator[None]:
        """Around the text of a branch."""
        before = list(self.flying)
        yield
        self.flying = before + [g for g in self.flying if g not in before]

    @contextmanager
    def loop(self, body: Body) -> Iterator[None]:
        """Around the text of a loop."""
        before = list(self.flying)
        self.flying += self._groups(body)
        yield
        self.flying = [g for g in before if g not in self.flying] + self.flying

    def _groups(self, body: Body) -> list[frozenset[str]]:
        """What a body's groups write, in the order in which they are closed."""
        found, opened = [], set()
        for s in walk(body):
            if isinstance(s, Atom) and self.is_async(s):
                opened.add(s.c.buffer)
            elif isinstance(s, CommitGroup) and s.engine == MATRIX_ENGINE:
                found.append(frozenset(opened))
                opened = set()
        return found

    def _shared_operands(self, s: Atom, buffers: Mapping[str, Buffer]) -> tuple[SharedOperand, ...]:
        """B, and before it A where it is in shared memory."""
        last = shared_operand(buffers[s.b.buffer], s.b, mn_first=s.transpose_b)
        if buffers[s.a.buffer].scope != "shared":
            return (last,)
        return (shared_operand(buffers[s.a.buffer], s.a, mn_first=not s.transpose_a), last)

    def _described(self, p: StmtPrinter, operand: SharedOperand) -> str:
        base = self.bases[operand.descriptor]
        start = p.exprs.value(operand.start)
        return base if start == "0" else f"tile_descriptor_plus({base}, {start})"

    def _keep(self, p: StmtPrinter, s: Atom) -> str:
        return "true" if s.init is None else p.exprs.value(b.logical_not(s.init))

    def _place(self, p: StmtPrinter, region: Region) -> str:
        buffer = p.exprs.buffers[region.buffer]
        if buffer.scope != "local":
            raise InternalError("E9001", f"{region.buffer} is no array of registers")
        at = p.exprs.offset(buffer, [r.start for r in region.ranges])
        return f"&{p.exprs.name(region.buffer)}[{at}]"


def _elements(buffer: Buffer) -> int:
    count = 1
    for extent in buffer.shape:
        assert isinstance(extent, Const)  # registers have constant extents
        count *= int(extent.value)
    return count
