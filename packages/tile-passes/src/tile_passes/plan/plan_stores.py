"""Plan which results a copy engine carries to global memory, and how they are put before it.

The layout in which a matrix engine leaves its results gives each thread a few contiguous bytes. An
engine that takes boxes from shared memory writes whole rows, and the threads go on meanwhile. The
result passes in chunks through a few slots of shared memory, one swizzled row of the engine wide.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tile_ir.layout import FragmentLayout, parse_layout
from tile_passes.base import Pass
from tile_passes.plan.channels import ring_slots
from tile_passes.plan.cost import shared_bytes
from tile_passes.plan.keys import buffers_for, kernels, loop_key, tiles_of
from tile_passes.plan.model import Candidate
from tile_passes.plan.outlets import held_registers, outlets, tile_registers, tile_shape
from tile_passes.plan.pins import decide, pinned
from tile_passes.plan.plan_layout import swizzled
from tile_passes.plan.plan_registers import needed, splits
from tile_passes.plan.plan_roles import ROLES_APART, ROLES_ONE, THREADS
from tile_passes.plan.plan_tiles import HARDWARE, IN_A_LOOP
from tile_passes.plan.starts import may_be_negative
from tile_passes.plan.survey import survey, threads_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tile_ir.core import Function
    from tile_ir.layout import Layout
    from tile_ir.ops import Kernel, Tiles
    from tile_passes.base import PassContext
    from tile_passes.plan.model import Plan
    from tile_passes.plan.outlets import Outlet
    from tile_passes.plan.survey import Drain, Survey

_SLOTS = 2
"""One chunk is written while the one before is on its way."""

_ROWS = 8
"""Rows after which a swizzle repeats."""

_BARRIER_BYTES = 1024
"""Left free for the barriers of channels."""


def plan_stores(fn: Function, cx: PassContext, plan: Plan) -> Plan:
    """Decide `engine`, `chunk`, `layout` and `channel` of copies from fragments, or from shared
    buffers, to global memory.
    """
    for kernel in kernels(fn):
        tiles = tiles_of(kernel)
        if tiles is None:
            continue
        buffers = buffers_for(fn, kernel)
        found = survey(tiles.body, buffers, cx.target)
        slots = ring_slots(found, kernel.name, plan)
        room = cx.target.capacity("shared") - shared_bytes(buffers, slots) - _BARRIER_BYTES
        negative = may_be_negative(fn, found.drains)
        for drain in sorted(found.drains, key=lambda d: -len(d.path)):  # those of loops first
            if drain.name in negative:
                plan = _by_threads(plan, cx, kernel.name, drain)
                continue
            plan, taken = _drain(plan, cx, kernel.name, drain, room, threads_of(kernel.threads))
            room -= taken
        plan = _interleave(plan, cx, kernel, tiles, found)
    return plan


def _by_threads(plan: Plan, cx: PassContext, kernel: str, drain: Drain) -> Plan:
    reason = "a start may be negative, at which the engine stops the device"
    key = f"{kernel}.{drain.name}.engine"
    return decide(plan, cx, key, THREADS, reason=reason, allowed=(THREADS,))


def _interleave(plan: Plan, cx: PassContext, kernel: Kernel, tiles: Tiles, found: Survey) -> Plan:
    """Decide whether a result leaves during the loop of the block's next tile."""
    leaving = outlets(found, kernel.name, plan)
    busy = any(len(o.drain.path) > 1 for o in leaving)
    for outlet in leaving:
        if not outlet.staged:
            continue
        loop = _main_loop(plan, kernel.name, outlet, found)
        threads = threads_of(kernel.threads)
        extra = held_registers(outlet, threads)
        need = needed(plan, kernel.name, tiles.body, cx.target) + extra
        need += tile_registers(outlet.buffer, threads)  # the chunk on its way
        most = splits(cx.target, threads)[-1][1]
        value: tuple[str, ...] = ()
        claim = plan.value(f"{kernel.name}.tiles.claim", HARDWARE)
        if claim not in IN_A_LOOP:
            reason = "a block has one tile"
        elif not loop:
            reason = "no loop of products before it"
        elif busy:
            reason = "its loop has results of its own to carry away"
        elif need > most:
            reason = f"{need} registers would be alive, a thread can have {most}"
        else:
            value, reason = (loop, outlet.channel), f"{extra} registers hold it meanwhile"
        allowed = ((), (loop, outlet.channel)) if loop and claim in IN_A_LOOP else ((),)
        key = f"{kernel.name}.{outlet.drain.name}.interleave"
        plan = decide(plan, cx, key, value, reason=reason, allowed=allowed)
        if plan.value(key, ()):
            return plan
    return plan


def _main_loop(plan: Plan, kernel: str, outlet: Outlet, found: Survey) -> str:
    """The variable of the one pipelined loop before the store in the tile's body, empty when there
    is none or its iterations overlap in stages."""
    before = [
        (path, loop)
        for path, loop in found.loops
        if len(path) == 1 and len(outlet.drain.path) == 1 and path < outlet.drain.path
    ]
    if len(before) != 1:
        return ""
    ((path, loop),) = before
    staged = plan.value(f"{kernel}.{loop_key(found.names[path])}.stage", ())
    return "" if staged else loop.var.name


def _groups(
    plan: Plan, cx: PassContext, kernel: str, drain: Drain, rows: int, threads: int
) -> tuple[int, str]:
    """How many groups of warps bring their rows of chunks by themselves, and why; 1: all threads
    fill a chunk together.
    """
    size = cx.target.group_warps * cx.target.warp_width
    groups = threads // size
    layout = _planned(plan, kernel, drain)
    if plan.value(f"{kernel}.roles", ROLES_ONE) != ROLES_APART or groups < _SLOTS:
        return 1, "one group of warps"
    if layout is None or threads % size or rows % (groups * _ROWS):
        return 1, "groups do not share the rows evenly"
    share = rows // groups
    digits = [(d.extent, d.stride if d.axis == "d0" else 0) for d in layout.thread]
    if layout.group or any(_row(digits, t) % rows // share != t // size for t in range(threads)):
        return 1, "groups of warps share rows"
    return groups, "each group of warps goes on without the others"


def _row(digits: list[tuple[int, int]], thread: int) -> int:
    """The first row that a thread holds, by the (extent, stride) of its digits along rows."""
    row = 0
    for extent, stride in digits:
        thread, place = divmod(thread, extent)
        row += place * stride
    return row


def _drain(
    plan: Plan, cx: PassContext, kernel: str, drain: Drain, room: int, threads: int
) -> tuple[Plan, int]:
    """Decide about one store; also the bytes that it takes beyond the program's own buffers."""
    key = f"{kernel}.{drain.name}.engine"
    name = drain.carrier
    engine = drain.engines[0]
    ways = _ways(plan, cx, kernel, drain, engine.swizzles)
    fitting = [w for w in ways if drain.buffer.scope == "shared" or w.bytes <= room]
    worth = bool(fitting) and _scattered(plan, kernel, drain)
    reason = "whole rows, written while the threads go on"
    if not worth:
        reason = (
            "no room for chunks" if ways and not fitting else "threads write as wide by themselves"
        )
    value = engine.name if worth else THREADS
    allowed = (THREADS, *(e.name for e in drain.engines)) if fitting else (THREADS,)
    plan = decide(plan, cx, key, value, reason=reason, allowed=allowed)
    if plan.value(key, THREADS) == THREADS:
        return plan, 0
    best = fitting[0]
    costs = tuple(Candidate(w.chunk, float(w.bytes), f"bytes of {w.slots} slots") for w in ways)
    if drain.buffer.scope == "fragment":
        chunks = tuple(w.chunk for w in fitting)
        at = f"{kernel}.{name}.chunk"
        why = "the largest that fits"
        plan = decide(plan, cx, at, best.chunk, reason=why, allowed=chunks, candidates=costs)
        best = next(w for w in fitting if w.chunk == plan.value(at, best.chunk))
    if drain.buffer.scope == "fragment":
        groups, why = _groups(plan, cx, kernel, drain, best.chunk[0], threads)
        at = f"{kernel}.{name}.groups"
        plan = decide(plan, cx, at, groups, reason=why, allowed=tuple(dict.fromkeys((1, groups))))
    why = "rows of the engine's widest swizzle"
    plan = decide(plan, cx, f"{kernel}.{name}.layout", str(best.layout), reason=why)
    channel = (str(plan.value(key, "")), best.slots, name)
    at = f"{kernel}.channel[{name}_ring]"
    plan = decide(plan, cx, at, channel, reason="emptied by the engine", allowed=(channel,))
    return plan, best.bytes if drain.buffer.scope == "fragment" else 0


@dataclass(frozen=True, slots=True)
class _Way:
    """Chunks of one shape in so many slots."""

    chunk: tuple[int, int]
    slots: int
    layout: Layout
    bytes: int


def _ways(
    plan: Plan, cx: PassContext, kernel: str, drain: Drain, swizzles: Iterable[str]
) -> list[_Way]:
    """The chunks that the engine takes, best first: rows as wide as its widest swizzle, or wider so
    that every thread holds a part of each chunk in the same registers; all rows of the tile, or
    those that the threads hold side by side.
    """
    rows, columns = tile_shape(drain.buffer)
    accepted = frozenset(swizzles)
    bits = drain.target.dtype.storage_bits
    whole = swizzled((rows, columns), bits, accepted)
    if whole is None:
        return []
    if drain.buffer.scope == "shared":
        given = drain.buffer.layout or pinned(cx, f"{kernel}.{drain.buffer.name}.layout")
        if given is not None and str(given) != str(whole):
            return []
        return [_Way((rows, columns), 1, whole, 0)]
    width = max(whole.axis("d1").digits[0].extent, _side_by_side(plan, kernel, drain, "d1"))
    out = []
    for height in dict.fromkeys((rows, _side_by_side(plan, kernel, drain, "d0"))):
        layout = swizzled((height, width), bits, accepted)
        if rows % height or columns % width or layout is None:
            continue
        count = (rows // height) * (columns // width)
        slots = min(_SLOTS, count)
        out.append(_Way((height, width), slots, layout, slots * height * width * bits // 8))
    return out


def _side_by_side(plan: Plan, kernel: str, drain: Drain, axis: str) -> int:
    """Rows (`d0`) or columns (`d1`) from the first on that different threads hold, without a
    gap; without a layout all rows, and as few columns as one likes.
    """
    layout = _planned(plan, kernel, drain)
    if layout is None:
        return tile_shape(drain.buffer)[0] if axis == "d0" else 1
    return max((d.extent * d.stride for d in layout.thread if d.axis == axis), default=1)


def _scattered(plan: Plan, kernel: str, drain: Drain) -> bool:
    """Whether a thread that stored its own elements would write few bytes at once."""
    layout = _planned(plan, kernel, drain)
    if layout is None:
        return drain.buffer.scope == "shared"
    run = 1
    for digit in layout.value:
        if digit.axis == "d1" and digit.stride == run:
            run *= digit.extent
    return run * drain.target.dtype.storage_bits < 8 * drain.engines[0].granularity


def _planned(plan: Plan, kernel: str, drain: Drain) -> FragmentLayout | None:
    text = plan.value(f"{kernel}.{drain.buffer.name}.layout", "")
    layout = parse_layout(str(text)) if text else None
    return layout if isinstance(layout, FragmentLayout) else None


PASS = Pass(
    name="plan-stores",
    phase="plan",
    plan=plan_stores,
    requires=("layouts planned",),
    ensures=("stores planned",),
    doc=__doc__,
)
