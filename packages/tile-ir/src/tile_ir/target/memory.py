"""Parts of a target description: where data lives, how it moves and what waits for it.

Units: bytes, registers of 32 bits, cycles.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["Barrier", "Cluster", "CopyEngine", "Registers", "Scope", "VectorUnit"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """A memory scope: how large it is for those who share it, and how it likes to be accessed."""

    name: str
    shared_by: Literal["thread", "group", "block", "cluster", "core", "device"]
    bytes: int | None = None
    """Capacity for one block (shared memory) or for one of `shared_by`; None: not a constant."""
    alignment: int = 1
    """Bytes to which an allocation must be aligned."""
    banks: int = 0
    """Number of banks serving one access of a warp; 0: not banked."""
    bank_bytes: int = 4
    line_bytes: int = 0
    """Granularity of transfers (cache line, transaction sector); 0: unknown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Registers:
    """Scalar (32-bit) registers and what the compiler keeps of them."""

    per_thread: int
    """Most registers that one thread may have."""
    per_core: int
    unit: int = 1
    """Allocation granularity per thread."""
    reserve: int = 0
    """Registers of each thread that the planner leaves to the vendor's compiler."""
    movable: bool = False
    """Whether groups may hand registers to each other at run time."""
    service: int = 0
    """Registers left to a thread of a service role when they move; 0: they do not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VectorUnit:
    """The vector registers of one thread: number, and size in bytes; 0 where there are none."""

    registers: int = 0
    bytes: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyEngine:
    """A way to move bytes between two scopes.

    `completion` is how the end of a copy is seen: `barrier` (the engine adds the bytes to a phase
    barrier), `counted` (the issuing threads count groups) or `none` (synchronous).
    """

    name: str
    source: str
    destination: str
    completion: Literal["barrier", "counted", "none"]
    elect: bool = False
    """One thread issues for the whole block; else every thread moves its own piece."""
    bytes: tuple[int, ...] = ()
    """Sizes that one thread moves at once, largest first; empty for an engine that moves boxes."""
    granularity: int = 1
    """The contiguous extent of a box must be a multiple of this many bytes."""
    alignment: int = 1
    """Alignment in bytes of both addresses and of every stride."""
    shared_alignment: int = 1
    """Alignment in bytes of a box in shared memory, beyond that."""
    max_rank: int = 1
    max_box: int = 0
    """Largest extent of a box along one axis; 0: no limit."""
    swizzles: tuple[str, ...] = ()
    """Swizzles it can apply on the way, in the layout grammar."""
    fill: bool = False
    """Elements outside the tensor arrive as zeros (loads) or are dropped (stores)."""
    lane_linear: bool = False
    """What one instruction of a group brings lands side by side in the order of its threads: where
    it lands cannot be chosen for each thread."""
    multicast: bool = False
    reduce: tuple[str, ...] = ()
    """Combining stores it offers: add, min, max."""
    rate: float = 0.0
    latency: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Barrier:
    """A kind of barrier.

    `phase` barriers live in shared memory, count arrivals and flip a parity; `counted` ones are
    waits for a number of outstanding groups; `plain` ones block until all have come.
    """

    name: str
    kind: Literal["phase", "counted", "plain"]
    scope: Literal["group", "block", "cluster", "device"] = "block"
    count: int = 0
    """How many exist in a block; 0: as many as memory holds."""
    bytes: int = 0
    """Bytes of shared memory that one takes."""
    transactions: bool = False
    """Whether copy engines can add arrived bytes to it."""
    latency: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """Blocks that run together and see each other's shared memory; `blocks` = 1: there are none."""

    blocks: int = 1
    multicast: bool = False
