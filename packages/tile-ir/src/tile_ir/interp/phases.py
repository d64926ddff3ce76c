"""Barriers that count arrivals and bytes, and what is under way until their phase ends."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tile_ir.diag import TileError

if TYPE_CHECKING:
    from collections.abc import Callable

    from tile_ir.interp.engines import Operation
    from tile_ir.interp.machine import Block

__all__ = ["Action", "Phases", "phases_of"]


class Action:
    """An operation under way: `finish` has it happen, once; `read` takes its operands before."""

    __slots__ = ("_finish", "_read", "done", "has_read")

    def __init__(self, finish: Callable[[], None], read: Callable[[], None] | None = None) -> None:
        self._finish, self._read = finish, read
        self.done = self.has_read = False

    def read(self) -> None:
        """Take the operands; their memory may be overwritten from now on."""
        if self._read is not None and not self.has_read:
            self._read()
        self.has_read = True

    def finish(self) -> None:
        """Have it happen."""
        if not self.done:
            self.read()
            self.done = True
            self._finish()


class Phases:
    """An array of barriers.

    The phase of one ends with its last arrival and byte; then what was loaded onto it is there.
    """

    def __init__(self, name: str, wanted: list[int]) -> None:
        count = len(wanted)
        self.name, self.wanted = name, wanted
        """The arrivals that end a phase of each."""
        self.arrived, self.bytes, self.done = [0] * count, [0] * count, [0] * count
        self.under_way: list[list[Operation]] = [[] for _ in range(count)]
        self.here: list[list[int]] = [[] for _ in range(count)]
        """The block's own threads that have arrived in each phase that goes on."""
        self.were: list[list[int]] = [[] for _ in range(count)]
        """Those that arrived in the phases that ended last."""

    def arrive(self, at: int, threads: int = 1, thread: int | None = None) -> None:
        """So many arrivals at once; `thread` is the block's own one that arrives.

        Raises:
            TileError: E0515 when the phase has all its arrivals already, or has them before the
                last of these.
        """
        self._check(at)
        wanted, before = self.wanted[at], self.arrived[at]
        if before + threads > wanted:
            why = f"one arrival too many at {self.name}[{at}]"
            if threads > 1:
                why = f"{threads} threads arrive at {self.name}[{at}], which waits for "
                why += f"{wanted - before} more of {wanted}"
            fix = f"let {wanted} threads arrive in each phase, or declare more arrivals"
            raise TileError("E0515", why, help=fix)
        self.arrived[at] += threads
        if thread is not None:
            self.here[at].append(thread)
        self._end(at)

    def expect(self, at: int, size: int, *, silent: bool = False) -> None:
        """`size` more bytes before the phase ends, and one arrival unless `silent`."""
        self._check(at)
        self.bytes[at] += size
        if not silent:
            self.arrive(at)

    def attach(self, at: int, action: Operation) -> None:
        """An operation that is over when the phase ends, which announces itself."""
        self._check(at)
        self.under_way[at].append(action)

    def load(self, at: int, size: int, action: Action) -> None:
        """A copy of so many bytes onto the barrier."""
        self._check(at)
        self.bytes[at] -= size
        self.under_way[at].append(action)
        self._end(at)

    def ended(self, at: int, parity: int) -> bool:
        """Whether the phase of that parity has ended."""
        self._check(at)
        return self.done[at] % 2 != parity

    def _end(self, at: int) -> None:
        if self.arrived[at] == self.wanted[at] and self.bytes[at] == 0:
            for action in self.under_way[at]:
                action.finish()
            self.under_way[at] = []
            self.arrived[at] = 0
            self.here[at], self.were[at] = [], self.here[at]
            self.done[at] += 1

    def _check(self, at: int) -> None:
        if not 0 <= at < len(self.done):
            fix = f"keep the index from 0 to {len(self.done) - 1}, or declare more barriers"
            raise TileError("E0502", f"there is no barrier {self.name}[{at}]", help=fix)


def phases_of(block: Block, name: str) -> Phases:
    """The barriers of a name in a block.

    Raises:
        TileError: E0508 when nothing initialised them.
    """
    found = block.phases.get(name)
    if found is None:
        fix = f"put `barriers {name}: [count] arrivals n` before, where all threads come"
        raise TileError("E0508", f"barrier {name} was not initialised", help=fix)
    return found
