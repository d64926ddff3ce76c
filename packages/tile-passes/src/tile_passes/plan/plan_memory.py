"""Plan where each shared buffer lies: byte offsets such that buffers alive at the same time do not
overlap.

Slots of channels are in use all the time. Other buffers may share bytes when their lives do not
meet; the largest is placed first, each at the lowest aligned offset that is free throughout its
life. Lives are those of the planned program: iterations that overlap, products that are in flight.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tile_ir.diag import TileError
from tile_ir.layout import TileLayout, parse_layout
from tile_ir.ops import Alloc, Combine, View
from tile_ir.rewrite import declared, walk
from tile_passes.analysis.liveness import Interval, live_ranges
from tile_passes.analysis.manual import is_manual
from tile_passes.base import Pass
from tile_passes.plan.channels import ring_slots
from tile_passes.plan.cost import copy_bytes
from tile_passes.plan.keys import kernels, loop_key, tiles_of
from tile_passes.plan.outlets import outlets
from tile_passes.plan.pins import decide, pinned
from tile_passes.plan.plan_pipeline import is_asynchronous
from tile_passes.plan.survey import survey

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tile_ir.core import Buffer, Function
    from tile_ir.opdef import Body
    from tile_ir.ops import For
    from tile_passes.base import PassContext
    from tile_passes.plan.keys import Path
    from tile_passes.plan.model import Plan
    from tile_passes.plan.survey import Survey

_ALIGNMENT = 16
"""The least alignment of a shared buffer: the widest access of one thread."""


def place(
    sizes: Mapping[str, int], lives: Mapping[str, Interval], alignment: int
) -> dict[str, int]:
    """Offsets in bytes: greedy by size, then name. Buffers without a life live always."""
    offsets: dict[str, int] = {}
    for name in sorted(sizes, key=lambda n: (-sizes[n], n)):
        taken = sorted(
            (offsets[other], offsets[other] + sizes[other])
            for other in offsets
            if _meet(lives.get(name), lives.get(other))
        )
        at = 0
        for start, end in taken:
            if at + sizes[name] <= start:
                break
            at = max(at, -(-end // alignment) * alignment)
        offsets[name] = at
    return offsets


def _meet(a: Interval | None, b: Interval | None) -> bool:
    return a is None or b is None or a.meets(b)


def plan_memory(fn: Function, cx: PassContext, plan: Plan) -> Plan:
    """Decide `offset` of each shared buffer and `shared_bytes` of each kernel.

    Raises:
        TileError: E0703 when the buffers do not fit.
    """
    buffers = declared(fn)
    for kernel in kernels(fn):
        tiles = tiles_of(kernel)
        if tiles is not None:
            plan = _kernel(plan, cx, kernel.name, tiles.body, buffers)
    return plan


def _kernel(
    plan: Plan, cx: PassContext, kernel: str, body: Body, buffers: Mapping[str, Buffer]
) -> Plan:
    found = survey(body, buffers, cx.target)
    stores = outlets(found, kernel, plan)
    made = [s.buffer for s in walk(body) if isinstance(s, Alloc) and s.buffer.scope == "shared"]
    made += [o.buffer for o in stores if o.staged]
    if not made:
        return plan
    slots = ring_slots(found, kernel, plan) | {o.buffer.name: o.depth for o in stores}
    viewed = {s.source for s in walk(body) if isinstance(s, View)}
    inboxes = {s.inbox.buffer for s in walk(body) if isinstance(s, Combine)}  # others write them
    sizes = {b.name: _bytes(plan, kernel, b, slots.get(b.name, 1)) for b in made}
    lives = {
        name: life
        for name, life in _lives(plan, cx, kernel, body, buffers, found).items()
        if name in sizes and name not in slots and name not in viewed | inboxes
    }
    scope = cx.target.scopes.get("shared")
    alignment = max(_ALIGNMENT, scope.alignment if scope is not None else 1)
    offsets = _pinned(cx, kernel, sizes) or place(sizes, lives, alignment)
    for name, offset in offsets.items():
        reason = (
            "its slots are in use throughout" if name in slots else "lowest free while it lives"
        )
        plan = decide(plan, cx, f"{kernel}.{name}.offset", offset, reason=reason)
    total = max(offsets[n] + sizes[n] for n in sizes)
    room = cx.target.capacity("shared")
    if room and total > room:
        raise TileError(
            "E0703",
            f"the shared buffers of kernel {kernel} take {total} bytes, a block has {room}",
            made[0].span,
            notes=tuple(f"{n}: {s} bytes" for n, s in sorted(sizes.items())),
            help="use fewer stages or smaller tiles",
        )
    reason = f"{sum(sizes.values())} bytes of buffers"
    return decide(plan, cx, f"{kernel}.shared_bytes", total, reason=reason, allowed=(total,))


def _lives(
    plan: Plan,
    cx: PassContext,
    kernel: str,
    body: Body,
    buffers: Mapping[str, Buffer],
    found: Survey,
) -> dict[str, Interval]:
    """From where to where buffers are in use; of those that are not named nothing is known."""
    if is_manual(body):  # roles run at once, and a copy in flight touches what looks unused
        return {}
    if plan.value(f"{kernel}.tiles.cross", False):  # tiles meet as well
        return {}
    mixed = {id(loop) for path, loop in found.loops if _mixed(plan, kernel, path, loop, found)}
    issued = {
        id(p.stmt) for p in found.products if is_asynchronous(plan, cx, kernel, found.names[p.path])
    }
    return live_ranges(body, buffers, mixed, issued)


def _mixed(plan: Plan, kernel: str, path: Path, loop: For, found: Survey) -> bool:
    """Whether statements of a loop leave the order of the program."""
    key = f"{kernel}.{loop_key(found.names[path])}"
    order = plan.value(f"{key}.order", ())
    assert isinstance(order, tuple)
    program = (found.names.child((*path, 0), i) for i in range(len(loop.body)))
    return plan.value(f"{key}.stage", ()) != () or order != tuple(n for n in program if n in order)


def _bytes(plan: Plan, kernel: str, buffer: Buffer, slots: int) -> int:
    """Bytes of all slots of a buffer, as far apart as their layout says."""
    text = str(plan.value(f"{kernel}.{buffer.name}.layout", ""))
    tile = parse_layout(text) if text and slots > 1 else None
    bits = buffer.dtype.storage_bits
    one = tile.pitch(bits) * bits // 8 if isinstance(tile, TileLayout) else copy_bytes(buffer)
    return one * slots


def _pinned(cx: PassContext, kernel: str, sizes: Mapping[str, int]) -> dict[str, int] | None:
    """Offsets that are all pinned; a part of them cannot be, the rest would not know where is
    room.
    """
    found = {n: pinned(cx, f"{kernel}.{n}.offset") for n in sizes}
    if any(v is None for v in found.values()):
        return None
    return {n: int(v) for n, v in found.items()}  # type: ignore[arg-type]  # numbers, or int() says so


PASS = Pass(
    name="plan-memory",
    phase="plan",
    plan=plan_memory,
    requires=("planned",),
    ensures=("memory planned",),
    doc=__doc__,
)
