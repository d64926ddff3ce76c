"""Fresh names for what passes introduce: readable stems, never a clash with the user's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tile_ir.expr import Var
from tile_ir.rewrite import bound_vars, declared, walk
from tile_ir.types import i32

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tile_ir.core import Function
    from tile_ir.types import DType


class Names:
    """Hands out names that nothing else in a program has."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._taken = set(taken)

    @staticmethod
    def of(fn: Function) -> Names:
        """The names of a function; its parameters, dimensions, buffers and variables are taken."""
        taken = {p.name for p in fn.params} | {d.name for d in fn.dims} | set(declared(fn))
        for stmt in walk(fn.body):
            taken.update(v.name for v in bound_vars(stmt))
        return Names(taken)

    def fresh(self, stem: str) -> str:
        """`stem`, or `stem_1`, `stem_2`, ... when it is taken; taken from now on."""
        name, n = stem, 0
        while name in self._taken:
            n += 1
            name = f"{stem}_{n}"
        self._taken.add(name)
        return name

    def var(self, stem: str, dtype: DType = i32) -> Var:
        """A variable of a fresh name."""
        return Var(self.fresh(stem), dtype)
