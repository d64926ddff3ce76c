"""Plan who does what: the engine of each copy, the atom of each product, and whether copies get
warps of their own.

Copies whose indices are scalars can be issued by one thread that runs ahead of the others. That
pays when the engine takes whole boxes from one thread and a loop runs more than once; otherwise the
compute warps issue copies themselves.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tile_ir.rewrite import declared
from tile_passes.base import Pass
from tile_passes.plan.atoms import tiling
from tile_passes.plan.keys import kernels, tiles_of
from tile_passes.plan.model import Candidate
from tile_passes.plan.pins import decide
from tile_passes.plan.survey import survey, threads_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tile_ir.core import Buffer, Function
    from tile_ir.ops import Kernel
    from tile_ir.target import TargetSpec
    from tile_passes.base import PassContext
    from tile_passes.plan.model import Plan
    from tile_passes.plan.survey import Fill, Product, Survey

THREADS = "threads"
"""The engine of a copy that the compute threads carry out by loads and stores."""

GENERIC = "generic"
"""The atom of a product that is computed by multiply-add loops."""

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
        plan = _roles(plan, cx, kernel.name, found)
        apart = plan.value(f"{kernel.name}.roles", ROLES_ONE) == ROLES_APART
        for fill in found.fills:
            plan = _engine(plan, cx, kernel.name, fill, apart)
        for product in found.products:
            plan = _atom(plan, cx, kernel, product, policy_of(product, found, buffers))
    return plan


def _elected(fill: Fill) -> bool:
    return any(e.elect for e in fill.engines)


def _roles(plan: Plan, cx: PassContext, kernel: str, found: Survey) -> Plan:
    able = [f for f in found.fills if _elected(f)]
    worth = any(f.loop is not None for f in able)
    value = ROLES_APART if worth else ROLES_ONE
    reason = (
        "one thread issues whole boxes, ahead of the warps that use them"
        if worth
        else "no pipelined copy that one thread could issue"
    )
    allowed = (ROLES_ONE, ROLES_APART) if able else (ROLES_ONE,)
    return decide(plan, cx, f"{kernel}.roles", value, reason=reason, allowed=allowed)


def _engine(plan: Plan, cx: PassContext, kernel: str, fill: Fill, apart: bool) -> Plan:
    usable = [e for e in fill.engines if apart or not e.elect]
    best = next((e for e in usable if e.elect == apart), None)
    names = (*(e.name for e in usable), THREADS)
    value = THREADS if best is None else best.name
    candidates = tuple(Candidate(e.name, e.latency, f"{e.rate:g} bytes a cycle") for e in usable)
    key = f"{kernel}.{fill.name}.engine"
    reason = "fewest instructions of the engines that take it" if best else "no engine takes it"
    return decide(plan, cx, key, value, reason=reason, allowed=names, candidates=candidates)


def policy_of(product: Product, found: Survey, buffers: Mapping[str, Buffer]) -> str:
    """How units share the tile: along m only where products feed each other through registers."""
    chained = any(buffers[p.stmt.a.buffer].scope == "fragment" for p in found.products)
    return "full_row" if chained and product.stmt.policy == "square" else product.stmt.policy


def _atom(plan: Plan, cx: PassContext, kernel: Kernel, product: Product, policy: str) -> Plan:
    threads = threads_of(kernel.threads)
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
    key = f"{kernel.name}.{product.name}.atom"
    return decide(plan, cx, key, names[0], reason=reason, allowed=names, candidates=candidates)


def service_warps(spec: TargetSpec) -> int:
    """Warps of a role of one thread: a whole group where registers move between groups, else
    one.
    """
    registers = spec.registers
    return spec.group_warps if registers is not None and registers.movable else 1


PASS = Pass(
    name="plan-roles", phase="plan", plan=plan_roles, ensures=("roles planned",), doc=__doc__
)
