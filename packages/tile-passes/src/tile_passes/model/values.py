"""Integers of a program while it is simulated: bounds, conditions, coordinates.

What hangs on an array's contents has no value here unless the caller says what an array holds.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tile_ir.expr import Binary, Broadcast, Call, Cast, Const, Expr, Load, Ramp, Select, Unary, Var
from tile_ir.fold import fold_binary

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Values"]


@dataclass(slots=True)
class Values:
    """What is known: variables (dimensions by name), scalars of a thread, arrays of one value.

    `workers` is how many blocks the device runs at once.
    """

    dims: Mapping[str, int]
    contents: Mapping[str, int]
    workers: int
    bound: dict[Var, int | None] = field(default_factory=dict)
    scalars: dict[str, int | None] = field(default_factory=dict)

    def fork(self) -> Values:
        """The same for another group of threads, which goes its own way from here."""
        return Values(self.dims, self.contents, self.workers, dict(self.bound), dict(self.scalars))

    def of(self, e: Expr) -> int | None:
        """The value of an integer or truth value, None where it is not known."""
        if isinstance(e, Const):
            return int(e.value) if e.value == e.value and abs(e.value) != float("inf") else None
        if isinstance(e, Var):
            return self.bound[e] if e in self.bound else self.dims.get(e.name)
        if isinstance(e, Load):
            return self.scalars.get(e.buffer, self.contents.get(e.buffer))
        if isinstance(e, Binary):
            return self._binary(e)
        if isinstance(e, Cast):
            return self.of(e.a)
        if isinstance(e, Select):
            cond = self.of(e.cond)
            return None if cond is None else self.of(e.t if cond else e.f)
        if isinstance(e, Unary):
            a = self.of(e.a)
            if a is None or e.op not in ("neg", "not"):
                return None
            return -a if e.op == "neg" else int(not a)
        if isinstance(e, (Broadcast, Ramp)):
            return self.of(e.children()[0])
        return self.workers if isinstance(e, Call) and e.fn == "device_workers" else None

    def number(self, e: Expr, default: int) -> int:
        """The value, or `default` where it is not known."""
        found = self.of(e)
        return default if found is None else found

    def _binary(self, e: Binary) -> int | None:
        a, b = self.of(e.a), self.of(e.b)
        if a is None or b is None or e.a.dtype.is_float:
            return None
        found = fold_binary(e.op, a, b, e.a.dtype)
        return None if found is None else int(found)
