"""What the Plan says about results that a copy engine carries to global memory, put together.

An outlet is the other way round of a ring: the compute role fills slots, the engine empties them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tile_ir import build as b
from tile_ir.core import Buffer
from tile_ir.layout import parse_layout
from tile_passes.plan.plan_roles import THREADS

if TYPE_CHECKING:
    from tile_ir.layout import Layout
    from tile_passes.plan.model import Plan
    from tile_passes.plan.survey import Drain, Survey


@dataclass(frozen=True, slots=True)
class Outlet:
    """A planned store: its drain, the channel it passes through, the buffer that this carries."""

    drain: Drain
    channel: str
    engine: str
    depth: int
    buffer: Buffer
    """What one slot holds: a chunk of the fragment, or the program's own shared buffer."""
    groups: int = 1
    """Groups of warps that each bring their own rows of every chunk, in their own time."""

    @property
    def staged(self) -> bool:
        """Whether the buffer is the planner's own."""
        return self.buffer is not self.drain.buffer

    @property
    def chunks(self) -> tuple[tuple[int, int], ...]:
        """Where each chunk begins: row and column of the tile."""
        rows, columns = tile_shape(self.drain.buffer)
        down, across = tile_shape(self.buffer)
        return tuple((r, c) for r in range(0, rows, down) for c in range(0, columns, across))


def outlets(found: Survey, kernel: str, plan: Plan) -> tuple[Outlet, ...]:
    """The planned stores of a kernel, in program order."""
    out = []
    for drain in found.drains:
        engine = str(plan.value(f"{kernel}.{drain.name}.engine", THREADS))
        if engine == THREADS:
            continue
        name = drain.carrier
        channel = f"{name}_ring"
        value = plan.value(f"{kernel}.channel[{channel}]", (engine, 1))
        assert isinstance(value, tuple)
        chunk = plan.value(f"{kernel}.{name}.chunk", tile_shape(drain.buffer))
        layout = plan.value(f"{kernel}.{name}.layout", "")
        buffer = drain.buffer
        if buffer.scope != "shared":
            assert isinstance(chunk, tuple)
            made = parse_layout(str(layout)) if layout else None
            buffer = _stage(drain, name, (int(chunk[0]), int(chunk[1])), made)  # type: ignore[arg-type]  # numbers
        groups = int(plan.value(f"{kernel}.{name}.groups", 1))  # type: ignore[arg-type]  # a number
        out.append(Outlet(drain, channel, engine, int(value[1]), buffer, groups))  # type: ignore[arg-type]  # its second entry is its depth
    return tuple(out)


def _stage(drain: Drain, name: str, chunk: tuple[int, int], layout: Layout | None) -> Buffer:
    return Buffer(
        name=name,
        dtype=drain.target.dtype,
        shape=tuple(b.const(n) for n in chunk),
        scope="shared",
        layout=layout,
        span=drain.stmt.span,
    )


def tile_shape(buffer: Buffer) -> tuple[int, int]:
    """The constant extents of a tile of two axes."""
    rows, columns = buffer.shape
    return int(rows.value), int(columns.value)  # type: ignore[attr-defined]  # constants


def held_registers(outlet: Outlet, threads: int) -> int:
    """Registers in which each of so many threads holds its part of a result of the final type."""
    rows, columns = tile_shape(outlet.drain.buffer)
    return -(-rows * columns * outlet.drain.target.dtype.storage_bits // (32 * threads))


def tile_registers(buffer: Buffer, threads: int) -> int:
    """Registers of each of so many threads that share a tile evenly."""
    rows, columns = tile_shape(buffer)
    return -(-rows * columns * buffer.dtype.storage_bits // (32 * threads))
