"""State of a running program: scalars, memory, the mask of active lanes, the block and the thread
of control.

A *lane* is one iteration of a `parallel` box: all of them are computed at once, as the axes of
numpy arrays.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import random

    from tile_ir.expr import Slot
    from tile_ir.interp.channels import Ring
    from tile_ir.interp.engines import Engines
    from tile_ir.interp.phases import Phases
    from tile_ir.interp.storage import Array, Storage
    from tile_ir.interp.threads import Trip
    from tile_ir.target import TargetSpec

Participant = tuple[str, int]
"""A thread of control within a block: the name of its role ("" without roles) and the index of its
group.
"""


@dataclass(slots=True)
class Session:
    """What one call of `run` was asked for, and the lines printed so far."""

    late: bool
    debug: bool
    strict: bool
    workers: int
    reverse: bool
    random: random.Random | None
    warp: int = 32
    """Threads of a warp."""
    target: TargetSpec | None = None
    lines: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Block:
    """One block: which of how many, its channels, and what its threads of control share."""

    index: int = 0
    count: int | None = None
    """Number of blocks that share the tiles; None when every tile is a block of its own."""
    rings: dict[tuple[str, int], Ring] = field(default_factory=dict)
    declares: list[Callable[[Env], None]] = field(default_factory=list)
    """What opens the channels declared so far, for a block that begins inside."""
    shared: dict[str, Storage] = field(default_factory=dict)
    engines: list[Engines] = field(default_factory=list)
    arrivals: dict[str, int] = field(default_factory=dict)
    """How many threads have come to each barrier since the block began."""
    threads: dict[str, int] = field(default_factory=dict)
    """How many threads run side by side, by role."""
    epoch: int = 0
    """How many barriers the threads of the block have passed."""
    phases: dict[str, Phases] = field(default_factory=dict)
    """The barriers that count, by name."""
    tiles: dict[str, Storage] = field(default_factory=dict)
    """Shared tiles that engines address, by name."""
    rank: int = 0
    peers: list[Block] = field(default_factory=list)
    """The blocks of the cluster by rank, this one included."""
    met: int = 0
    """How often this block has come to a barrier of its cluster."""
    sent: list[tuple[int, Callable[[], None]]] = field(default_factory=list)
    """Copies into other blocks' memory that they have not seen: after which of these barriers they
    do, and what has it happen."""
    brought: dict[str, dict[int, Any]] = field(default_factory=dict)
    """What the others of the cluster bring to be added up here: tile -> rank -> elements."""


class Env:
    """Everything an evaluation may read: one for each thread of control."""

    __slots__ = (
        "block",
        "box",
        "bufs",
        "cursors",
        "engines",
        "mask",
        "run",
        "thread",
        "trip",
        "vars",
    )

    def __init__(self, run: Session, block: Block | None = None) -> None:
        self.run = run
        self.block = block or Block()
        self.vars: dict[str, Any] = {}
        self.bufs: dict[str, Storage] = {}
        self.box: tuple[int, ...] = ()
        self.mask: Array | None = None
        self.thread: Participant = ("", 0)
        self.cursors: dict[tuple[str, str], int] = {}
        self.engines: Engines | None = None
        self.trip: Trip | None = None

    def fork(self) -> Env:
        """A copy that shares memory and block, but not the names bound from now on."""
        new = Env(self.run, self.block)
        new.vars, new.bufs = dict(self.vars), dict(self.bufs)
        new.box, new.mask = self.box, self.mask
        new.thread, new.cursors, new.engines = self.thread, dict(self.cursors), self.engines
        new.trip = self.trip
        return new

    def snapshot(self) -> Env:
        """What an operation that starts now sees when it runs later: its indices are fixed, its
        operands are not.
        """
        new = self.fork()
        for name, storage in self.bufs.items():
            if storage.scope == "var":
                new.bufs[name] = storage.copy()
        return new

    def slot(self, slot: Slot, end: str, depth: int) -> int:
        """The index of a channel slot by the cursor of this thread at `end` ("producer" or
        "consumer").
        """
        return (self.cursors.get((slot.channel, end), 0) - 1 - slot.back) % depth

    def active(self) -> bool:
        """Whether any lane is active."""
        return self.mask is None or bool(self.mask.any())


Eval = Callable[[Env], Any]
"""A compiled expression."""
