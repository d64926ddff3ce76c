"""Names in scope: which scalar or buffer a name means at a place in a program."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tile_ir.core import Buffer
from tile_ir.expr import Var

if TYPE_CHECKING:
    from collections.abc import Iterable

Symbol = Var | Buffer


class Symbols:
    """A stack of scopes over one namespace. `mark` opens a scope, `reset` closes it."""

    __slots__ = ("_found", "_undo")

    def __init__(self, symbols: Iterable[Symbol] = ()) -> None:
        self._found: dict[str, Symbol] = {}
        self._undo: list[tuple[str, Symbol | None]] = []
        for symbol in symbols:
            self.declare(symbol)

    def declare(self, symbol: Symbol) -> None:
        """Bring a variable or buffer into the innermost scope."""
        self._undo.append((symbol.name, self._found.get(symbol.name)))
        self._found[symbol.name] = symbol

    def find(self, name: str) -> Symbol | None:
        """What `name` means here, or None."""
        return self._found.get(name)

    def buffer(self, name: str) -> Buffer | None:
        """The buffer of that name, or None when there is none in scope."""
        found = self._found.get(name)
        return found if isinstance(found, Buffer) else None

    def mark(self) -> int:
        """Open a scope; give the result to `reset` to close it."""
        return len(self._undo)

    def reset(self, mark: int) -> None:
        """Forget everything declared since `mark`."""
        while len(self._undo) > mark:
            name, before = self._undo.pop()
            if before is None:
                del self._found[name]
            else:
                self._found[name] = before

    def names(self) -> list[str]:
        """Every name in scope, sorted."""
        return sorted(self._found)
