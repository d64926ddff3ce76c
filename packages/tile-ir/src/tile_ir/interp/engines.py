"""Operations that an engine carries out while the role that issued them goes on.

An operation happens some time between its issue and the point that waits for it. The oracle lets it
happen at the last moment, or at the first; a program that is right cannot tell.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from tile_ir.diag import TileError

if TYPE_CHECKING:
    from collections.abc import Callable

    from tile_ir.interp.machine import Env


class Operation(Protocol):
    """What is under way: `read` takes its operands, `finish` has it happen, once."""

    def read(self) -> None:
        """Take the operands."""

    def finish(self) -> None:
        """Have it happen."""


class Pending:
    """One issued operation, with what its indices meant when it was issued."""

    def __init__(self, run: Callable[[Env], object], env: Env, sources: frozenset[str]) -> None:
        self.run, self.env, self.sources = run, env, sources
        self.done = self.has_read = False

    def read(self) -> None:
        """Take the operands, so that their memory may be overwritten; the results stay to be
        written.
        """
        if self.done or self.has_read:
            return
        self.has_read = True
        for name in self.sources:
            storage = self.env.bufs[name]
            if storage.scope != "global":
                self.env.bufs[name] = storage.copy()

    def finish(self) -> None:
        """Have the operation happen, once."""
        if not self.done:
            self.done = True
            self.run(self.env)


Group = list[Operation]


class Engines:
    """The streams of one thread of control: operations since the last group, and the groups in
    order, by engine.
    """

    def __init__(self) -> None:
        self.open: dict[str, Group] = {}
        self.groups: dict[str, list[Group]] = {}
        self.tokens: dict[str, list[tuple[str, int]]] = {}
        """The groups closed under each name, as engine and position."""

    def issue(self, engine: str, op: Operation) -> None:
        """Append an operation to the stream of an engine."""
        self.open.setdefault(engine, []).append(op)

    def close(self, engine: str, token: str | None = None) -> Group:
        """Close the group of the operations issued since the last one."""
        group = self.open.pop(engine, [])
        groups = self.groups.setdefault(engine, [])
        groups.append(group)
        if token is not None:
            self.tokens.setdefault(token, []).append((engine, len(groups)))
        return group

    def settle(self, token: str, back: int, *, read: bool) -> None:
        """Wait for the group closed as `token` (`back` of them ago) and all older ones of its
        engine.

        Raises:
            TileError: E0508 when no group of that name was closed here.
        """
        closed = self.tokens.get(token)
        if closed is None:
            raise TileError(
                "E0508",
                f"settle of {token}, but no group was closed under that name",
                help=f"close it with `group <engine> -> {token}` before, in the same role",
            )
        if back < len(closed):
            engine, count = closed[-1 - back]
            self._complete(engine, count, read)

    def settle_count(self, engine: str, pending: int, *, read: bool) -> None:
        """Wait until at most `pending` groups are unfinished."""
        groups = self.groups.get(engine, [])
        self._complete(engine, len(groups) - pending, read)

    def _complete(self, engine: str, count: int, read: bool) -> None:
        for group in self.groups.get(engine, [])[: max(count, 0)]:
            for op in group:
                if read:
                    op.read()
                else:
                    op.finish()

    def flush(self) -> None:
        """The end of the block completes everything."""
        for engine in {**self.groups, **self.open}:
            self.close(engine)
            self._complete(engine, len(self.groups[engine]), read=False)
