"""Copies that threads bring through registers: what that costs, and how many slots it needs.

Where nothing copies by itself while threads compute, a copy of a pipelined loop is cut in two. Its
loads are started before an iteration's work and are under way meanwhile; after it, threads put what
came into shared memory. One tile is ahead, whatever the number of slots: a second slot saves a
barrier, a third would save nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

from tile_ir.expr import Const
from tile_ir.layout import blocked
from tile_ir.ops import Alloc
from tile_ir.rewrite import walk
from tile_passes.plan.cost import shared_bytes

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tile_ir.core import Buffer
    from tile_ir.layout import FragmentLayout
    from tile_ir.opdef import Body
    from tile_ir.target import TargetSpec
    from tile_passes.plan.survey import Fill, Survey

MOST_STAGED_SLOTS = 2

_REGISTER_BITS = 32
_ACCESS_BYTES = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class StagedLoad:
    """What a pipelined loop with staged copies takes of a core."""

    carried: tuple[str, ...]
    """Its shared buffers."""
    cycles: float
    """Of the work of one iteration of one block, as modelled."""
    threads: int
    registers: int
    """Of one thread."""


@dataclass(frozen=True, slots=True)
class Slots:
    """A number of slots, and the cycles of an iteration with it."""

    depth: int
    cycles: float
    reason: str


def staged_load(
    found: Survey,
    body: Body,
    buffers: Mapping[str, Buffer],
    spec: TargetSpec,
    threads: int,
) -> StagedLoad:
    """What a kernel with staged copies takes of a core, whichever of its loops runs."""
    own = spec.registers.reserve if spec.registers is not None else 0
    own += fragment_registers(body, threads) + staged_registers(found, buffers, threads)
    return StagedLoad(carried=(), cycles=0.0, threads=threads, registers=max(own, 1))


def fetch_layout(fill: Fill, source: Buffer, threads: int) -> FragmentLayout:
    """Who holds what of a tile on its way: threads one after another along a row, each with as much
    as one access takes while all have some.
    """
    shape = _shape(fill.buffer)
    vector = max(_ACCESS_BYTES * 8 // source.dtype.storage_bits, 1)
    while vector > 1 and (shape[-1] % vector or prod(shape) < vector * threads):
        vector //= 2
    return blocked(shape, threads=threads, vector=vector)


def staged_registers(found: Survey, buffers: Mapping[str, Buffer], threads: int) -> int:
    """32-bit registers of one thread that hold the next tiles of all staged copies."""
    total = 0
    for fill in found.fills:
        if fill.staged:
            source = buffers[fill.stmt.src.buffer]
            values = fetch_layout(fill, source, threads).values
            total += -(-values * source.dtype.storage_bits // _REGISTER_BITS)
    return total


def registers_left(body: Body, threads: int, spec: TargetSpec) -> int:
    """32-bit registers of one thread beside all fragments and the compiler's reserve; without a
    number in the description, as many as anything takes.
    """
    if spec.registers is None:
        return 1 << 30
    most = min(spec.registers.per_thread, spec.registers.per_core // max(threads, 1))
    return most - spec.registers.reserve - fragment_registers(body, threads)


def fragment_registers(body: Body, threads: int) -> int:
    """32-bit registers of one thread for an even share of every fragment."""
    own = [s.buffer for s in walk(body) if isinstance(s, Alloc) and s.buffer.scope == "fragment"]
    return sum(registers_of(b, threads) for b in own)


def registers_of(buffer: Buffer, threads: int) -> int:
    """32-bit registers of one thread for an even share of a fragment."""
    return -(-prod(_shape(buffer)) * buffer.dtype.storage_bits // (_REGISTER_BITS * threads))


def _shape(buffer: Buffer) -> tuple[int, ...]:
    return tuple(int(n.value) if isinstance(n, Const) else 1 for n in buffer.shape)


def staged_depths(
    load: StagedLoad, buffers: Mapping[str, Buffer], slots: Mapping[str, int], spec: TargetSpec
) -> tuple[Slots, ...]:
    """One slot and two for the buffers of a loop, each with the cycles of an iteration; the best
    first. None where not even one fits.

    A trip stands still at its barriers, unless another block of the core works meanwhile: with b
    blocks at once, a core needs max(b * work, work + barriers) / b cycles for the trip of a block.
    """
    latency = max((x.latency for x in spec.barriers.values() if x.scope == "block"), default=0)
    room, out = spec.capacity("shared"), list[Slots]()
    for depth in range(1, MOST_STAGED_SLOTS + 1):
        taken = shared_bytes(buffers, {**slots, **dict.fromkeys(load.carried, depth)})
        blocks = _blocks(spec, taken, load)
        if room and taken > room:
            continue
        barriers = 3 - depth
        cost = max(blocks * load.cycles, load.cycles + barriers * latency) / blocks
        text = f"cycles an iteration, {barriers} barriers in it, {blocks} blocks to a core"
        out.append(Slots(depth, cost, text))
    return tuple(sorted(out, key=lambda s: (s.cycles, -s.depth)))


def _blocks(spec: TargetSpec, shared: int, load: StagedLoad) -> int:
    """Blocks that a core runs at once."""
    limits = [spec.max_blocks_per_core]
    room = spec.capacity("shared")
    if room and shared:
        limits.append(room // shared)
    if spec.registers is not None:
        limits.append(spec.registers.per_core // (load.threads * load.registers))
    return max(1, min(limits))
