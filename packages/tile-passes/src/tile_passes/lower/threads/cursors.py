"""Where the two ends of a channel are: a slot number and a parity in scalars of each thread.

A cursor stands on the slot taken last and steps to the next one before it is used again, so that
between two steps every access means the same slot. It is never reset: loops and tiles leave it
where it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tile_ir import build as b
from tile_ir.core import Buffer
from tile_ir.expr import Load
from tile_ir.ops import Alloc, If, Store
from tile_ir.types import i32
from tile_passes.lower.threads.addresses import ZERO

if TYPE_CHECKING:
    from tile_ir.diag import Span
    from tile_ir.expr import Expr
    from tile_ir.opdef import Body
    from tile_passes.naming import Names

__all__ = ["Cursor"]


@dataclass(frozen=True, slots=True)
class Cursor:
    """One end's place in a ring of `depth` slots; a ring of one has no slot number, an end that
    never waits on a barrier no parity."""

    depth: int
    slot: Buffer | None
    parity: Buffer | None
    start: int
    """The parity of the first wait."""

    @staticmethod
    def make(stem: str, depth: int, names: Names, *, start: int | None) -> Cursor:
        """A cursor before its first slot; `start` None: it never waits on a barrier."""
        return Cursor(
            depth,
            _scalar(names.fresh(f"{stem}_slot")) if depth > 1 else None,
            None if start is None else _scalar(names.fresh(f"{stem}_parity")),
            start or 0,
        )

    @property
    def scalars(self) -> tuple[Buffer, ...]:
        """The thread's own variables of this cursor."""
        return tuple(v for v in (self.slot, self.parity) if v is not None)

    def declared(self) -> Body:
        """Its variables, so set that the first step comes to slot 0 and the starting parity."""
        out: list[Alloc | Store] = []
        if self.slot is not None:
            out += [Alloc(buffer=self.slot), _put(self.slot, b.const(self.depth - 1, i32), None)]
        if self.parity is not None:
            before = b.const(1 - self.start, i32)
            out += [Alloc(buffer=self.parity), _put(self.parity, before, None)]
        return tuple(out)

    def step(self, span: Span | None) -> Body:
        """To the next slot; past the last one the parity turns."""
        turn: Body = ()
        if self.parity is not None:
            turn = (_put(self.parity, b.bit_xor(_get(self.parity), 1), span),)
        if self.slot is None:
            return turn
        here = _get(self.slot)
        wrap = (_put(self.slot, ZERO, span), *turn)
        return (
            _put(self.slot, b.add(here, 1), span),
            If(cond=b.eq(here, self.depth), then=wrap, span=span),
        )

    def at(self, back: int = 0) -> Expr:
        """The slot it stands on, or the one `back` before."""
        if self.slot is None:
            return ZERO
        here = _get(self.slot)
        if back == 0:
            return here
        before = b.sub(here, back)
        return b.select(b.lt(before, 0), b.add(before, self.depth), before)

    def phase(self) -> Expr:
        """The parity to wait for at the slot it stands on."""
        assert self.parity is not None  # asked only of ends that wait
        return _get(self.parity)


def _scalar(name: str) -> Buffer:
    return Buffer(name=name, dtype=i32, shape=(), scope="var")


def _get(scalar: Buffer) -> Load:
    return Load(scalar.name, (), i32)


def _put(scalar: Buffer, value: Expr, span: Span | None) -> Store:
    return Store(buffer=scalar.name, indices=(), value=value, span=span)
