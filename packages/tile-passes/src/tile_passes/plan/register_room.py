"""Ask whether the registers of a thread suffice for a loop under a schedule.

Nothing can spill a tile that a product in flight writes, so a schedule that needs too many does not
run slower: it does not compile.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tile_passes.analysis.dependence import touches
from tile_passes.plan.lifetimes import Held, registers_alive
from tile_passes.plan.plan_registers import splits
from tile_passes.plan.plan_roles import GENERIC, ROLES_APART, ROLES_ONE
from tile_passes.plan.staging import registers_of
from tile_passes.plan.survey import threads_of
from tile_passes.plan.unroll_copies import filled

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tile_ir.core import Buffer
    from tile_ir.ops import For, Kernel
    from tile_passes.base import PassContext
    from tile_passes.plan.keys import Path
    from tile_passes.plan.model import Plan
    from tile_passes.plan.schedule import Problem, Schedule
    from tile_passes.plan.survey import Survey

_SCALARS = 8
"""Registers of a thread for positions in channels and loops, beside the compiler's reserve."""

_STAGED_SCALARS = 16
"""The same where iterations overlap, and stages have positions of their own."""

_ADDRESS = 3
"""Registers for an operand's address that stays. A loop without stages has it in scalar registers;
with stages the first iterations stand before the loop and share it in vector registers (measured
with five products: 98 moves to scalar registers against 13, and spills where two were counted)."""


def held_tiles(
    loop: For, positions: Sequence[int], buffers: Mapping[str, Buffer], threads: int
) -> tuple[Held, ...]:
    """The fragments that a loop's statements, those at `positions` of its body, touch."""
    nodes: dict[str, list[int]] = {}
    fresh: dict[str, bool] = {}
    for k, at in enumerate(positions):
        for name, touch in touches(loop.body[at]).items():
            if name in buffers and buffers[name].scope == "fragment":
                nodes.setdefault(name, []).append(k)
                anew = filled(loop.body[at], buffers) == name
                fresh.setdefault(name, anew or not touch.reads)
    return tuple(
        Held(
            registers=registers_of(buffers[name], threads), nodes=tuple(touched), fresh=fresh[name]
        )
        for name, touched in nodes.items()
    )


def fixed_steps(
    found: Survey,
    path: Path,
    ringed: set[str],
    buffers: Mapping[str, Buffer],
    kernel: str,
    plan: Plan,
    cx: PassContext,
) -> int:
    """Steps along k for which a loop's products address operands in shared memory that no channel
    moves on, and that registers could not hold: the compiler keeps these addresses, once for all
    products that read an operand in one direction."""
    ringed = ringed | {k.buffer.name for k in found.keeps}
    steps: dict[tuple[str, bool], int] = {}
    for product in (p for p in found.products if p.path[:-1] == (*path, 0)):
        atom = cx.target.matrix.get(str(plan.value(f"{kernel}.{product.name}.atom", GENERIC)))
        if atom is None or atom.engine != "async":
            continue
        stmt = product.stmt
        along_k = ((stmt.a.buffer, not stmt.transpose_a), (stmt.b.buffer, stmt.transpose_b))
        for name, direction in along_k:
            if buffers[name].scope == "shared" and name not in ringed:
                count = -(-product.shape[2] // atom.k)
                steps[name, direction] = max(steps.get((name, direction), 0), count)
    return sum(steps.values())


def registers_fit(
    cx: PassContext,
    plan: Plan,
    kernel: Kernel,
    problem: Problem,
    tiles: tuple[Held, ...],
    fixed: int,
    schedule: Schedule,
) -> bool:
    """Whether a thread has the registers that a schedule's tiles take, beside the compiler's
    reserve; asked only where products are in flight, whose registers nothing can spill."""
    spec = cx.target
    if spec.registers is None or not any(n.asynchronous for n in problem.nodes):
        return True
    threads = threads_of(kernel.threads)
    most = min(spec.registers.per_thread, spec.registers.per_core // threads)
    if plan.value(f"{kernel.name}.roles", ROLES_ONE) == ROLES_APART:
        most = splits(spec, threads)[-1][1]
    alive = registers_alive(problem, schedule, tiles)
    scalars = _SCALARS if not schedule.span else _STAGED_SCALARS + _ADDRESS * fixed
    return alive + spec.registers.reserve + scalars <= most
