"""Plan whether the tiles of a loop's iteration get copies, so that the product of one iteration
runs beside the vector work on the product of another.

Only a loop is looked at whose products wait for that work because it reads what they overwrite.
What it costs is counted by planning the unrolled loop as well. Where a product can lag without
copies (the second one of attention), it runs beside the vector work as it is, and copies, of which
the model expects a few percent, make it slower on the device. Where none can, every product is
waited for at once, and copies make it faster, with one group of warps and with two.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tile_ir.rewrite import declared, walk
from tile_passes.base import Pass
from tile_passes.plan.channels import rings
from tile_passes.plan.keys import kernels, loop_key, tiles_of
from tile_passes.plan.model import Candidate, Plan
from tile_passes.plan.pins import decide
from tile_passes.plan.plan_pipeline import groups_of, loop_body
from tile_passes.plan.plan_roles import plan_roles
from tile_passes.plan.schedule import candidates
from tile_passes.plan.staging import fragment_registers, registers_left
from tile_passes.plan.survey import survey, threads_of
from tile_passes.plan.unroll_copies import (
    COPIES,
    even_trips,
    is_plain,
    private_tiles,
    with_copies,
)

if TYPE_CHECKING:
    from tile_ir.core import Function
    from tile_ir.opdef import Body
    from tile_ir.ops import For, Kernel
    from tile_passes.base import PassContext
    from tile_passes.plan.keys import Path
    from tile_passes.plan.schedule import Schedule
    from tile_passes.plan.survey import Survey


LEAST_GAIN = 0.01
"""Part of an iteration that copies have to save. By the model a product of f16 with a factor for
each row saves 2 to 3% on a Hopper GPU, and gained; where a weight is unpacked beside a small
product it saves 0.02%, and lost."""


def plan_copies(fn: Function, cx: PassContext, plan: Plan) -> Plan:
    """Decide `copies` of each pipelined loop with an asynchronous product whose result is used up
    in the iteration: 1, or 2 iterations as one.

    Raises:
        TileError: E0702 for a pin that the loop or its registers do not allow.
    """
    if not any(atom.engine == "async" for atom in cx.target.matrix.values()):
        return plan
    buffers = declared(fn)
    for kernel in kernels(fn):
        tiles = tiles_of(kernel)
        if tiles is None:
            continue
        found = survey(tiles.body, buffers, cx.target)
        for path, loop in found.loops:
            own = private_tiles(tiles.body, loop, buffers)
            if not _awaited(found, path, own):
                continue
            why = _obstacle(cx, kernel, tiles.body, loop, own)
            costs: tuple[Candidate, ...] = ()
            value = 1
            if not why:
                alone, paired = _timed(fn, cx, kernel.name, found.names[path], loop, own)
                value, why = _chosen(alone, paired)
                costs = _costs(alone, paired, own)
            key = f"{kernel.name}.{loop_key(found.names[path])}.copies"
            allowed = (1, COPIES) if costs else (1,)
            plan = decide(plan, cx, key, value, reason=why, allowed=allowed, candidates=costs)
    return plan


def _chosen(alone: Schedule, paired: Schedule) -> tuple[int, str]:
    """How many copies, and why: of the best schedules without and with them."""
    if alone.span:
        return 1, "a product lags without copies, beside the work on the one before"
    saved = 1.0 - paired.cycles / COPIES / alone.cycles
    if saved < LEAST_GAIN:
        return 1, f"copies save {saved:.1%} of the cycles" if saved > 0 else "copies save no cycles"
    return COPIES, "without copies every product is waited for before anything else runs"


def _awaited(found: Survey, path: Path, own: tuple[str, ...]) -> bool:
    """Whether an asynchronous product directly in the loop writes a tile of the iteration alone."""
    return any(
        p.path[:-1] == (*path, 0) and p.stmt.c.buffer in own
        for p in found.products
        if any(atom.engine == "async" for atom in p.atoms)
    )


def _obstacle(cx: PassContext, kernel: Kernel, body: Body, loop: For, own: tuple[str, ...]) -> str:
    """Why a loop cannot have copies, empty where it can."""
    threads = threads_of(kernel.threads)
    copied = tuple(s for s in walk(body) if getattr(getattr(s, "buffer", None), "name", "") in own)
    more, left = fragment_registers(copied, threads), registers_left(body, threads, cx.target)
    if more > left:
        return f"{more} registers of a thread more, {max(left, 0)} are free"
    if not even_trips(loop):
        return f"its iterations are not known to be a multiple of {COPIES}"
    return "" if is_plain(loop) else "its statements cannot stand in it twice"


def _costs(alone: Schedule, paired: Schedule, own: tuple[str, ...]) -> tuple[Candidate, ...]:
    """The modelled cycles of an iteration without and with copies."""
    text = f"cycles an iteration, with a copy of {', '.join(own)}"
    return (
        Candidate(1, alone.cycles, "cycles an iteration"),
        Candidate(COPIES, paired.cycles / COPIES, text),
    )


def _timed(
    fn: Function, cx: PassContext, kernel: str, name: str, loop: For, own: tuple[str, ...]
) -> tuple[Schedule, Schedule]:
    """The best schedules of an iteration, and of two as one with copies."""
    paired = with_copies(fn, {id(loop): own})
    return _best(fn, cx, kernel, name), _best(paired, cx, kernel, name)


def _best(fn: Function, cx: PassContext, name: str, loop_name: str) -> Schedule:
    """The best schedule of the loop of that name."""
    kernel = next(k for k in kernels(fn) if k.name == name)
    tiles = tiles_of(kernel)
    assert tiles is not None  # the loop stands in it
    plan = plan_roles(fn, cx, Plan())
    buffers = declared(fn)
    found = survey(tiles.body, buffers, cx.target)
    path, loop = next((p, s) for p, s in found.loops if found.names[p] == loop_name)
    groups = groups_of(kernel, cx.target)
    made = rings(found, name, plan)
    body = loop_body(found, path, loop, made, name, plan, cx, buffers, groups)
    return candidates(body.problem)[0]


PASS = Pass(name="plan-copies", phase="legalize", plan=plan_copies, doc=__doc__)
