"""What a launch counts: memory by space, barriers, products, the cost of accesses, instructions.

* `global_load_bytes`, `global_store_bytes`, `shared_load_bytes`, `shared_store_bytes`,
  `local_load_bytes`, `local_store_bytes`: bytes that threads, and copy engines for them, ask for. A
  thread's registers are not counted.
* `asynchronous_bytes`: bytes of copies that run beside the threads.
* `atomics`: elements of atomic operations.
* `barrier_arrivals`, `barrier_waits`: threads that arrive at barriers of any kind, and that have
  passed one.
* `warp_operations`: threads at collective operations of a warp.
* `multiply_adds`: products of matrix instructions.
* `global_sectors`, `global_sectors_needed`: 32-byte sectors that the loads and stores of warps
  touch, and the fewest that could hold as many different bytes; `coalescing_efficiency` is needed
  by touched, 1.0 where nothing is touched. Each tensor counts as if it began at a sector. Bulk
  copies are not among them.
* `bank_conflicts`: turns of shared memory beyond those that the bytes of a warp's access need.
* `switches`: changes from thread to thread in the emulator itself.
* `instructions`: how many of each kind all threads together execute, those that a false predicate
  turns off included; empty where the target's kernels are compiled for this processor.

An access of a warp is what its lanes do at one place for the n-th time each.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

__all__ = ["COUNTERS", "Counted", "instructions_of"]

COUNTERS = (
    "global_load_bytes",
    "global_store_bytes",
    "shared_load_bytes",
    "shared_store_bytes",
    "atomics",
    "barrier_arrivals",
    "warp_operations",
    "multiply_adds",
    "asynchronous_bytes",
    "switches",
    "bank_conflicts",
    "global_sectors",
    "global_sectors_needed",
    "local_load_bytes",
    "local_store_bytes",
    "barrier_waits",
)
"""The numbers, in the order of the C enumeration."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """What one or several launches of a kernel counted."""

    totals: Mapping[str, int]
    instructions: Mapping[str, int] = field(default_factory=dict)

    def plus(self, other: Counted | None) -> Counted:
        """This launch and those before."""
        if other is None:
            return self
        return Counted(
            totals=_sum(self.totals, other.totals),
            instructions=_sum(self.instructions, other.instructions),
        )

    def table(self) -> dict[str, Any]:
        """Name of a counter -> its value."""
        touched, needed = self.totals["global_sectors"], self.totals["global_sectors_needed"]
        return {
            **self.totals,
            "coalescing_efficiency": needed / touched if touched else 1.0,
            "instructions": dict(sorted(self.instructions.items())),
        }


def _sum(first: Mapping[str, int], second: Mapping[str, int]) -> dict[str, int]:
    return {k: first.get(k, 0) + second.get(k, 0) for k in (*first, *second)}


def instructions_of(mix: Sequence[Mapping[str, int]], visits: Iterable[int]) -> dict[str, int]:
    """Instructions of each kind, from those of a kernel's pieces and how often each was begun."""
    found: dict[str, int] = {}
    for piece, times in zip(mix, visits, strict=False):  # at least one, where there is no piece
        for kind, count in piece.items():
            found[kind] = found.get(kind, 0) + count * times
    return {kind: count for kind, count in found.items() if count}
