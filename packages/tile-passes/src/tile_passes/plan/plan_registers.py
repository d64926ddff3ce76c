"""Plan how many registers a thread of each role may have.

A block starts with equal registers for all threads. Where they can move, a role of one thread gives
up what it does not need and the compute role takes it: the more it needs, the less is left to the
service role.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tile_ir.layout import FragmentLayout, parse_layout
from tile_ir.ops import Alloc
from tile_ir.rewrite import declared, walk
from tile_passes.base import Pass
from tile_passes.plan.homes import kept
from tile_passes.plan.keys import kernels, tiles_of
from tile_passes.plan.model import Candidate
from tile_passes.plan.outlets import held_registers, outlets, tile_registers
from tile_passes.plan.pins import decide
from tile_passes.plan.plan_roles import ROLES_APART, ROLES_ONE, service_warps
from tile_passes.plan.survey import survey, threads_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tile_ir.core import Function
    from tile_ir.opdef import Body
    from tile_ir.ops import Kernel
    from tile_ir.target import TargetSpec
    from tile_ir.target.memory import Registers
    from tile_passes.base import PassContext
    from tile_passes.plan.model import Plan
    from tile_passes.plan.outlets import Outlet
    from tile_passes.plan.survey import Keep

Split = tuple[int, int]
"""Registers of a service thread and of a compute thread."""

NOT_MOVED: Split = (0, 0)

_LEAST_SERVICE = 24
"""Fewest registers that a thread which only issues copies was seen to need."""


def plan_registers(fn: Function, cx: PassContext, plan: Plan) -> Plan:
    """Decide `registers` of each kernel with roles: (service, compute) per thread, (0, 0) for
    equal ones. State `blocks_per_core` of each kernel, and what limits it.
    """
    buffers = declared(fn)
    for kernel in kernels(fn):
        tiles = tiles_of(kernel)
        if tiles is None:
            continue
        threads = threads_of(kernel.threads)
        if plan.value(f"{kernel.name}.roles", ROLES_ONE) != ROLES_APART:
            need = needed(plan, kernel.name, tiles.body, cx.target)
            plan = _occupancy(plan, cx, kernel.name, threads, need)
            continue
        found = survey(tiles.body, buffers, cx.target)
        stores, homes = outlets(found, kernel.name, plan), kept(found, kernel.name, plan)
        need = alive(plan, kernel, tiles.body, cx.target, stores, homes)
        options = splits(cx.target, threads)
        value = _best(options, need, _alone(plan, cx.target, kernel.name))
        costs = tuple(Candidate(s, float(s[1]), "registers of a compute thread") for s in options)
        reason = f"about {need} are alive in a compute thread"
        key = f"{kernel.name}.registers"
        allowed = (NOT_MOVED, *options[1:])
        plan = decide(plan, cx, key, value, reason=reason, allowed=allowed, candidates=costs)
        moved = plan.value(key, NOT_MOVED) != NOT_MOVED
        plan = _service(plan, cx, kernel.name, moved)
        service = service_of(plan, kernel.name, cx.target) * cx.target.warp_width
        each = options[0][1] if moved else need  # moved ones come from equal shares
        plan = _occupancy(plan, cx, kernel.name, threads + service, each)
    return plan


def _service(plan: Plan, cx: PassContext, kernel: str, moved: bool) -> Plan:
    """Decide how many warps the role of one thread takes: a whole group, or one of them where no
    registers move."""
    whole = service_warps(cx.target)
    allowed = (whole,) if moved else tuple(dict.fromkeys((whole, 1)))
    reason = "registers move between whole groups" if moved else "a group, as registers move by"
    return decide(plan, cx, f"{kernel}.service", whole, reason=reason, allowed=allowed)


def service_of(plan: Plan, kernel: str, spec: TargetSpec) -> int:
    """The warps that a kernel's role of one thread takes."""
    return int(plan.value(f"{kernel}.service", service_warps(spec)))  # type: ignore[arg-type]  # a number


def _occupancy(plan: Plan, cx: PassContext, kernel: str, threads: int, each: int) -> Plan:
    """How many blocks a core runs at once, a consequence: shared memory, registers and the core
    itself limit it; `each`: registers of one of the block's threads.
    """
    spec = cx.target
    shared, room = int(plan.value(f"{kernel}.shared_bytes", 0)), spec.capacity("shared")  # type: ignore[arg-type]  # a number
    limits = [Candidate(spec.max_blocks_per_core, None, "blocks that a core takes")]
    if shared and room:
        limits.append(Candidate(room // shared, None, f"{shared} of {room} bytes of shared memory"))
    if spec.registers is not None and each:
        unit, pool = spec.registers.unit, spec.registers.per_core
        taken = min(-(-each // unit) * unit, spec.registers.per_thread) * threads
        why = f"about {taken} of {pool} registers"
        limits.append(Candidate(max(pool // taken, 1), None, why))
    least = min(limits, key=lambda c: c.value)
    key = f"{kernel}.blocks_per_core"
    reason, allowed = f"limited by {least.reason}", (least.value,)
    others = tuple(c for c in limits if c is not least)
    return decide(plan, cx, key, least.value, reason=reason, allowed=allowed, candidates=others)


def alive(
    plan: Plan,
    kernel: Kernel,
    body: Body,
    spec: TargetSpec,
    stores: Iterable[Outlet],
    homes: Iterable[Keep],
) -> int:
    """Registers of one compute thread: those of all fragments and of results held beyond their
    tile; or, where a result leaves, the result and the chunk of it that is on its way.
    """
    threads = threads_of(kernel.threads)
    most = total = needed(plan, kernel.name, body, spec, homes)
    for outlet in (o for o in stores if o.staged):
        chunk = tile_registers(outlet.buffer, threads)
        if plan.value(f"{kernel.name}.{outlet.drain.name}.interleave", ()):
            most = max(most, total + chunk + held_registers(outlet, threads))
        else:
            own = tile_registers(outlet.drain.buffer, threads)
            most = max(most, own + chunk + _reserve(spec))
    return most


def _reserve(spec: TargetSpec) -> int:
    return spec.registers.reserve if spec.registers is not None else 0


def needed(
    plan: Plan, kernel: str, body: Body, spec: TargetSpec, homes: Iterable[Keep] = ()
) -> int:
    """Registers that all fragments take in one thread, with the compiler's reserve."""
    own = [s.buffer for s in walk(body) if isinstance(s, Alloc) and s.buffer.scope == "fragment"]
    parts = [(b.name, b.dtype) for b in own] + [(k.name, k.buffer.dtype) for k in homes]
    return _reserve(spec) + sum(_of_fragment(plan, kernel, n, t.storage_bits) for n, t in parts)


def _of_fragment(plan: Plan, kernel: str, name: str, bits: int) -> int:
    text = plan.value(f"{kernel}.{name}.layout", "")
    layout = parse_layout(str(text)) if text else None
    if not isinstance(layout, FragmentLayout):
        return 0
    return -(-layout.values * bits // 32)


def _alone(plan: Plan, spec: TargetSpec, kernel: str) -> bool:
    """Whether shared memory leaves room for one block on a core only."""
    taken = plan.value(f"{kernel}.shared_bytes", 0)
    return 2 * int(taken) > spec.capacity("shared")  # type: ignore[arg-type]  # a number


def _best(options: tuple[Split, ...], need: int, alone: bool) -> Split:
    """Equal registers where they suffice and other blocks may want them, else the first that
    suffices, else the most.
    """
    equal, *moved = options
    if not moved or (equal[1] >= need and not alone):
        return NOT_MOVED
    return next((s for s in moved if s[1] >= need), moved[-1])


def splits(spec: TargetSpec, threads: int) -> tuple[Split, ...]:
    """The (service, compute) registers that are possible: equal ones, then those that give the
    compute role more, the most for the service role first.
    """
    registers = spec.registers
    if registers is None:
        return (NOT_MOVED,)
    service = service_warps(spec) * spec.warp_width
    equal = _equal(registers, threads + service)
    out = [(equal, equal)]
    if registers.movable:
        for left in range(registers.service, _LEAST_SERVICE - 1, -registers.unit):
            pool = equal * (threads + service) - left * service
            most = min(pool // threads, registers.per_thread)
            compute = most // registers.unit * registers.unit
            if compute > out[-1][1]:
                out.append((left, compute))
    return tuple(out)


def _equal(registers: Registers, threads: int) -> int:
    """Registers of each thread when all have the same."""
    unit = registers.unit
    return min(registers.per_core // threads, registers.per_thread) // unit * unit


PASS = Pass(
    name="plan-registers",
    phase="plan",
    plan=plan_registers,
    requires=("layouts planned", "memory planned"),
    doc=__doc__,
)
