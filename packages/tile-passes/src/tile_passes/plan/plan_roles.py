"""Plan who does what: the engine of each copy, the atom of each product, and whether copies get
warps of their own.

Copies whose indices are scalars can be issued by one thread that runs ahead of the others. That
pays when the engine takes whole boxes from one thread and a loop runs more than once; otherwise the
compute warps issue copies themselves.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tile_ir.layout import convert_kind, rename
from tile_ir.rewrite import declared
from tile_passes.analysis.manual import is_manual, threads_at
from tile_passes.base import Pass
from tile_passes.plan.atoms import tiling
from tile_passes.plan.keys import kernels, tiles_of
from tile_passes.plan.model import Candidate
from tile_passes.plan.pins import decide
from tile_passes.plan.staging import registers_left, staged_registers
from tile_passes.plan.survey import survey, threads_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tile_ir.core import Buffer, Function
    from tile_ir.layout import FragmentLayout
    from tile_ir.opdef import Body
    from tile_ir.ops import Kernel
    from tile_ir.target import TargetSpec
    from tile_passes.base import PassContext
    from tile_passes.plan.model import Plan
    from tile_passes.plan.survey import Fill, Product, Survey

THREADS = "threads"
"""The engine of a copy that the compute threads carry out by loads and stores."""

STAGED = "registers"
"""The engine of a copy that the compute threads carry out in two steps: into registers before an
iteration's work, from there to shared memory after it."""

GENERIC = "generic"
"""The atom of a product that is computed by multiply-add loops."""

_REGISTER_BITS = 32

ROLES_APART = ("producer", "compute")
ROLES_ONE = ("compute",)


def plan_roles(fn: Function, cx: PassContext, plan: Plan) -> Plan:
    """Decide `engine` of each copy to shared memory, `atom` of each product, and `roles` of each
    kernel.
    """
    buffers = declared(fn)
    for kernel in kernels(fn):
        tiles = tiles_of(kernel)
        if tiles is None:
            continue
        found = survey(tiles.body, buffers, cx.target)
        plan = _roles(plan, cx, kernel, found, by_hand=is_manual(tiles.body))
        apart = plan.value(f"{kernel.name}.roles", ROLES_ONE) == ROLES_APART
        for fill in (f for f in found.fills if not f.staged):
            plan = _engine(plan, cx, kernel.name, fill, apart)
        for product in found.products:
            plan = _atom(plan, cx, kernel, product, found, buffers)
        plan = _staged(plan, cx, kernel, tiles.body, found, buffers)
    return plan


def _elected(fill: Fill) -> bool:
    return any(e.elect for e in fill.engines)


def _roles(plan: Plan, cx: PassContext, kernel: Kernel, found: Survey, *, by_hand: bool) -> Plan:
    room = _has_room(kernel, cx.target)
    able = [f for f in found.fills if _elected(f) and room]
    worth = any(f.loop is not None for f in able)
    value = ROLES_APART if worth else ROLES_ONE
    reason = (
        "one thread issues whole boxes, ahead of the warps that use them"
        if worth
        else "no pipelined copy that one thread could issue"
        if room
        else "the compute threads leave none of a block's to a role of one thread"
    )
    if by_hand:
        reason = "the kernel says itself who copies and who waits for whom"
    allowed = (ROLES_ONE, ROLES_APART) if able else (ROLES_ONE,)
    return decide(plan, cx, f"{kernel.name}.roles", value, reason=reason, allowed=allowed)


def _has_room(kernel: Kernel, spec: TargetSpec) -> bool:
    """Whether a block of the target has threads left for a role of one thread; one whose number of
    threads is not described has."""
    more = service_warps(spec) * spec.warp_width
    return spec.max_threads == 1 or threads_of(kernel.threads) + more <= spec.max_threads


def _engine(plan: Plan, cx: PassContext, kernel: str, fill: Fill, apart: bool) -> Plan:
    usable = [e for e in fill.engines if apart or not e.elect]
    best = next((e for e in usable if e.elect == apart), None)
    names = (*(e.name for e in usable), THREADS)
    value = THREADS if best is None else best.name
    candidates = tuple(Candidate(e.name, e.latency, f"{e.rate:g} bytes a cycle") for e in usable)
    key = f"{kernel}.{fill.name}.engine"
    reason = "fewest instructions of the engines that take it" if best else "no engine takes it"
    return decide(plan, cx, key, value, reason=reason, allowed=names, candidates=candidates)


def _staged(
    plan: Plan,
    cx: PassContext,
    kernel: Kernel,
    body: Body,
    found: Survey,
    buffers: Mapping[str, Buffer],
) -> Plan:
    """Copies go through registers ahead of time where these have room beside everything else."""
    if not any(f.staged for f in found.fills):
        return plan
    threads = threads_of(kernel.threads)
    need = staged_registers(found, buffers, threads)
    operands = (
        _operand_registers(plan, cx, kernel, p, policy_of(p, found, buffers), buffers)
        for p in found.products
    )
    room = registers_left(body, threads, cx.target) - max(operands, default=0)
    reason = f"{need} registers of a thread hold what comes next, {room} are free"
    candidates = (Candidate(STAGED, float(need), "registers of a thread"),)
    value, allowed = STAGED if need <= room else THREADS, (STAGED, THREADS)
    for fill in (f for f in found.fills if f.staged):
        key = f"{kernel.name}.{fill.name}.engine"
        plan = decide(plan, cx, key, value, reason=reason, allowed=allowed, candidates=candidates)
    return plan


def _operand_registers(
    plan: Plan,
    cx: PassContext,
    kernel: Kernel,
    product: Product,
    policy: str,
    buffers: Mapping[str, Buffer],
) -> int:
    """32-bit registers of one thread for the operands of one step along k that lie in memory."""
    atom = cx.target.matrix.get(str(plan.value(f"{kernel.name}.{product.name}.atom", GENERIC)))
    split = None
    if atom is not None:
        split = tiling(atom, product.shape, threads_of(kernel.threads), policy)
    if split is None:
        return 0
    total = 0
    for region, layout in ((product.stmt.a, split.a()), (product.stmt.b, split.b())):
        operand = buffers[region.buffer]
        if operand.scope == "shared":
            steps = max(1, split.k // split.atom.k)
            total += -(-layout.values // steps * operand.dtype.storage_bits // _REGISTER_BITS)
    return total


def policy_of(product: Product, found: Survey, buffers: Mapping[str, Buffer]) -> str:
    """How units share the tile: along m only where products feed each other through registers."""
    chained = any(buffers[p.stmt.a.buffer].scope == "fragment" for p in found.products)
    return "full_row" if chained and product.stmt.policy == "square" else product.stmt.policy


def _atom(
    plan: Plan,
    cx: PassContext,
    kernel: Kernel,
    product: Product,
    found: Survey,
    buffers: Mapping[str, Buffer],
) -> Plan:
    threads, policy = threads_at(kernel, product.path), policy_of(product, found, buffers)
    able = [a for a in product.atoms if tiling(a, product.shape, threads, policy) is not None]
    names = (*(a.name for a in able), GENERIC)
    candidates = tuple(
        Candidate(
            a.name,
            1 / a.rate if a.rate and a in able else None,
            f"{a.engine}, {a.rate:g} a cycle"
            if a in able
            else f"{threads} threads do not share it",
        )
        for a in product.atoms
    )
    reason = "highest rate" if able else "no atom has these types, extents, homes and threads"
    key, value = f"{kernel.name}.{product.name}.atom", names[0]
    fast = [a for a in able if a.rate == able[0].rate]
    if buffers[product.stmt.a.buffer].scope == "fragment" and len(fast) > 1:
        results = tuple(_results(plan, cx, kernel, product, found, buffers))
        splits = ((a, tiling(a, product.shape, threads, policy)) for a in fast)
        fits = (a.name for a, s in splits if s is not None and _takes(s.a(), results))
        value = next(fits, value)
        if value != names[0]:
            reason = "highest rate; takes the result of a product from the registers it lies in"
    return decide(plan, cx, key, value, reason=reason, allowed=names, candidates=candidates)


def _results(
    plan: Plan,
    cx: PassContext,
    kernel: Kernel,
    product: Product,
    found: Survey,
    buffers: Mapping[str, Buffer],
) -> Iterator[FragmentLayout]:
    """How the results of earlier products lie that have the extents of this one's first operand,
    with its axes."""
    for other in found.products:
        atom = cx.target.matrix.get(str(plan.value(f"{kernel.name}.{other.name}.atom", GENERIC)))
        if atom is None or other.shape[:2] != (product.shape[0], product.shape[2]):
            continue
        policy = policy_of(other, found, buffers)
        split = tiling(atom, other.shape, threads_at(kernel, other.path), policy)
        if split is not None:
            yield rename(split.accumulator(), {"n": "k"})


def _takes(operand: FragmentLayout, results: tuple[FragmentLayout, ...]) -> bool:
    """Whether a thread has of one of the results what it needs of the operand."""
    return any(convert_kind(r, operand) in ("identity", "rename") for r in results)


def service_warps(spec: TargetSpec) -> int:
    """Warps of a role of one thread: a whole group where registers move between groups, else
    one.
    """
    registers = spec.registers
    return spec.group_warps if registers is not None and registers.movable else 1


PASS = Pass(
    name="plan-roles", phase="plan", plan=plan_roles, ensures=("roles planned",), doc=__doc__
)
