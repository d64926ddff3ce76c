"""Do several trips of a product's loop at once.

A matrix kernel loads and stores its block of the result once per call, which takes a long run
along k to be forgotten. Kernels written for other machines step by 32 or 64. Where a loop does
nothing but bring the next blocks of two operands and multiply them, n trips are one trip with
blocks n times as deep: the same sums in the same order. Blocks are brought by copies or gathered by
parallel loops.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tile_cpu.plan.gathered import Gathered, gathered, operands
from tile_ir import build as b
from tile_ir.expr import Binary, Const, Expr, Var, free_vars
from tile_ir.ops import Copy, For, Gemm, Kernel, Parallel
from tile_ir.rewrite import declared, effects, walk
from tile_passes.base import Pass, PassContext
from tile_passes.lower.affine import coefficient
from tile_passes.plan.pins import decide

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tile_ir.core import Buffer, Function
    from tile_ir.opdef import Stmt
    from tile_passes.plan.model import Plan

__all__ = ["PASS", "Advance", "Block", "advances", "mergeable", "merged", "trips_key"]

DEPTH = 256
"""Elements along k from which loading and storing the result costs less than 2 of 100 cycles."""
GATHERED_DEPTH = 640
"""The same where an operand is gathered: its rows lie in a near cache by then, so that a longer run
costs nothing. Nine taps of 64 channels fit."""
CACHE_SHARE = 2
"""Of the second-level cache's bytes, the blocks of one trip may take one part in so many."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Advance:
    """A copy of the next block along one axis: `axis` of the source, `target` of the tile."""

    copy: Copy
    axis: int
    target: int
    step: int


Block = Advance | Gathered
"""How the next block of an operand is brought."""


def trips_key(kernel: Kernel, loop: For) -> str:
    """The Plan's key of how many trips become one: `KERNEL.LOOPVARIABLE.merge`."""
    return f"{kernel.name}.{loop.var.name}.merge"


def merged(kernel: Kernel, loop: For | None, plan: Plan) -> int:
    """How many trips of a loop the Plan makes one."""
    return 1 if loop is None else int(str(plan.value(trips_key(kernel, loop), 1)))


def mergeable(kernel: Kernel) -> Iterator[For]:
    """Loops that only copy, gather and multiply."""
    for s in walk(kernel.body):
        if not isinstance(s, For) or not any(isinstance(x, Gemm) for x in s.body):
            continue
        if all(isinstance(x, (Copy, Gemm, Parallel)) for x in s.body):
            yield s


def advances(kernel: Kernel, loop: For, buffers: dict[str, Buffer]) -> dict[str, Block] | None:
    """What brings each operand's blocks, when the loop can be merged; else None."""
    if not (_is(loop.start, 0) and _is(loop.step, 1)) or loop.order or loop.stage:
        return None
    products = [s for s in loop.body if isinstance(s, Gemm)]
    found: dict[str, Block] = {}
    for s in loop.body:
        if isinstance(s, Gemm):
            continue
        made = _block(s, loop, products, buffers)
        if made is None or made[0] in found:
            return None
        found[made[0]] = made[1]
    used = [name for g in products for name in (g.a.buffer, g.b.buffer)]
    if not products or set(used) != set(found):
        return None
    if not all(_contracts(g, loop.var, found, buffers) for g in products):
        return None
    return None if _used_elsewhere(kernel, loop, set(found)) else found


def _is(e: Expr, value: int) -> bool:
    return isinstance(e, Const) and e.value == value


def _block(
    s: Stmt, loop: For, products: list[Gemm], buffers: dict[str, Buffer]
) -> tuple[str, Block] | None:
    if isinstance(s, Parallel):
        return gathered(s, products, buffers) if isinstance(loop.stop, Const) else None
    made = _advance(s, loop.var, buffers) if isinstance(s, Copy) else None
    return None if made is None else (made.copy.dst.buffer, made)


def _advance(s: Copy, var: Var, buffers: dict[str, Buffer]) -> Advance | None:
    src, dst = buffers[s.src.buffer], buffers[s.dst.buffer]
    if src.scope != "global" or dst.scope == "global" or dst.rank != 2:
        return None
    moving = [n for n, r in enumerate(s.src.ranges) if var in free_vars(r.start)]
    if len(moving) != 1 or s.dst != b.whole(dst) or src.safe_value is not None:
        return None
    axis = moving[0]
    extent, step = s.src.ranges[axis].extent, coefficient(s.src.ranges[axis].start, var)
    # Blocks must follow each other, and the tile's axes must be the source's last two.
    target = axis - (src.rank - 2)
    if target < 0 or not (isinstance(extent, Const) and extent.value == step):
        return None
    if dst.shape[target] != extent:
        return None
    return Advance(copy=s, axis=axis, target=target, step=int(extent.value))


def _contracts(g: Gemm, var: Var, found: dict[str, Block], buffers: dict[str, Buffer]) -> bool:
    """Whether both operands advance along the axis that the product sums over."""
    sides = operands(g)
    along = all(found[r.buffer].target == axis for r, axis in sides)
    whole = all(r == b.whole(buffers[r.buffer]) for r, _ in sides)
    first = g.init is None or isinstance(g.init, Const) or g.init == b.eq(var, 0)
    return along and whole and first and len({found[r.buffer].step for r, _ in sides}) == 1


def _used_elsewhere(kernel: Kernel, loop: For, names: set[str]) -> bool:
    inside = {id(s) for s in walk(loop.body)}
    return any(
        e.buffer in names for s in walk(kernel.body) if id(s) not in inside for e in effects(s)
    )


def _most(loop: For, found: dict[str, Block], buffers: dict[str, Buffer], cache: int) -> int:
    """How many trips fit one: as deep as is useful, in the cache, and not beyond the loop's end."""
    step = next(iter(found.values())).step
    sizes = (_bytes(buffers[name]) for name in found)
    room = cache // CACHE_SHARE // max(1, sum(sizes))
    depth = GATHERED_DEPTH if any(isinstance(x, Gathered) for x in found.values()) else DEPTH
    count = max(1, min(depth // step, room))
    if isinstance(loop.stop, Const):
        trips = int(loop.stop.value)
        return max(n for n in range(1, count + 1) if trips % n == 0)
    return count if _covers(loop, found, buffers, step) else 1


def _covers(loop: For, found: dict[str, Block], buffers: dict[str, Buffer], step: int) -> bool:
    """Whether the loop goes to the end of every source, so that what lies beyond is nothing."""
    stop = loop.stop
    if not (isinstance(stop, Binary) and stop.op == "ceildiv" and _is(stop.b, step)):
        return False
    return all(
        isinstance(a, Advance)
        and stop.a == buffers[a.copy.src.buffer].shape[a.axis]
        and a.copy.src.ranges[a.axis].start == b.mul(loop.var, step)
        for a in found.values()
    )


def _bytes(buffer: Buffer) -> int:
    count = 1
    for extent in buffer.shape:
        assert isinstance(extent, Const)
        count *= int(extent.value)
    # Narrow operands are widened to 32 bits when they are packed.
    return count * max(32, buffer.dtype.storage_bits) // 8


def plan_trips(fn: Function, cx: PassContext, plan: Plan) -> Plan:
    """Decide `KERNEL.LOOP.merge` for every loop of products."""
    buffers = declared(fn)
    for kernel in walk(fn.body):
        if not isinstance(kernel, Kernel):
            continue
        for loop in mergeable(kernel):
            found = advances(kernel, loop, buffers)
            if found is None:
                continue
            most = _most(loop, found, buffers, cx.target.capacity("l2"))
            allowed = [n for n in range(1, most + 1) if most % n == 0]
            reason = f"{most} trips at once read and write the result once"
            plan = decide(plan, cx, trips_key(kernel, loop), most, reason=reason, allowed=allowed)
    return plan


PASS = Pass(name="plan-trips", phase="plan", plan=plan_trips, doc=__doc__)
