"""Plan whether an operand that a loop only reads stays in registers all along.

The matrix engine then reads it without shared memory's bandwidth, and its slot is free for the next
tile at once. It takes registers that must not be needed otherwise.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tile_ir.layout import default_axes
from tile_ir.rewrite import declared
from tile_passes.base import Pass
from tile_passes.plan.atoms import tiling
from tile_passes.plan.homes import REGISTER, SHARED, home_key
from tile_passes.plan.keys import kernels, tiles_of
from tile_passes.plan.pins import decide
from tile_passes.plan.plan_registers import needed, splits
from tile_passes.plan.plan_roles import GENERIC, ROLES_APART, ROLES_ONE, policy_of
from tile_passes.plan.relations import positional
from tile_passes.plan.survey import survey, threads_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tile_ir.core import Buffer, Function
    from tile_ir.layout import FragmentLayout
    from tile_ir.ops import Kernel
    from tile_passes.base import PassContext
    from tile_passes.plan.model import Plan
    from tile_passes.plan.survey import Keep, Survey


def plan_homes(fn: Function, cx: PassContext, plan: Plan) -> Plan:
    """Decide `a_home` of products, and the `layout` of what registers hold."""
    buffers = declared(fn)
    for kernel in kernels(fn):
        tiles = tiles_of(kernel)
        if tiles is None or plan.value(f"{kernel.name}.roles", ROLES_ONE) != ROLES_APART:
            continue
        found = survey(tiles.body, buffers, cx.target)
        need = needed(plan, kernel.name, tiles.body, cx.target)
        for keep in found.keeps:
            layout = _layout(plan, cx, kernel, keep, found, buffers)
            if layout is None:
                continue
            more = -(-layout.values * keep.buffer.dtype.storage_bits // 32)
            most = splits(cx.target, threads_of(kernel.threads))[-1][1]
            fits = need + more <= most
            value = REGISTER if fits else SHARED
            reason = f"{need + more} registers of at most {most}"
            key = home_key(keep, kernel.name)
            plan = decide(plan, cx, key, value, reason=reason, allowed=(REGISTER, SHARED))
            if plan.value(key, SHARED) == REGISTER:
                key = f"{kernel.name}.{keep.name}.layout"
                plan = decide(plan, cx, key, str(layout), reason="as the atom reads it")
                need += more
    return plan


def _layout(
    plan: Plan,
    cx: PassContext,
    kernel: Kernel,
    keep: Keep,
    found: Survey,
    buffers: Mapping[str, Buffer],
) -> FragmentLayout | None:
    """The layout in which the product's atom takes the operand from registers, None when it does
    not."""
    product = keep.product
    atom = cx.target.matrix.get(str(plan.value(f"{kernel.name}.{product.name}.atom", GENERIC)))
    if atom is None or atom.engine != "async" or "register" not in atom.a.homes:
        return None
    policy = policy_of(product, found, buffers)
    split = tiling(atom, product.shape, threads_of(kernel.threads), policy)
    if split is None:
        return None
    return positional(split.a(), dict(zip(("m", "k"), default_axes(2), strict=True)))


PASS = Pass(
    name="plan-homes",
    phase="plan",
    plan=plan_homes,
    requires=("layouts planned",),
    doc=__doc__,
)
