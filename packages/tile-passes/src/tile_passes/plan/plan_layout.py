"""Plan a layout for every shared buffer and fragment, and which thread runs which iteration of a
parallel loop.

Pins of the user come first, then what matrix atoms demand, heaviest product first. From there
layouts spread along the statements that relate two fragments (element-wise, reduction, copy). What
stays free is dealt out in blocks whose vectors fit the widest access. Where two demands disagree
the lighter side is converted; `insert-conversions` does it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod
from typing import TYPE_CHECKING

from tile_ir.diag import TileError
from tile_ir.expr import Const
from tile_ir.layout import (
    Axis,
    Digit,
    FragmentLayout,
    Layout,
    TileLayout,
    blocked,
    convert_kind,
    default_axes,
    panels,
    parse_layout,
    row_major,
    same_function,
    swizzle_for,
)
from tile_ir.opdef import bodies
from tile_ir.ops import BULK, Alloc, Copy, Parallel, Role
from tile_ir.rewrite import declared, walk
from tile_passes.analysis.manual import engine_of, threads_at
from tile_passes.base import Pass
from tile_passes.plan.atoms import tiling
from tile_passes.plan.conflicts import weighed
from tile_passes.plan.keys import Names, kernels, tiles_of
from tile_passes.plan.lanes import by_lanes, held_layout
from tile_passes.plan.pins import as_value, decide
from tile_passes.plan.plan_roles import GENERIC, STAGED
from tile_passes.plan.relations import directed, leader, loop_axes, positional, relations, throughs
from tile_passes.plan.survey import survey, threads_of
from tile_passes.plan.turned import Step, by_turns, crossings

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tile_ir.core import Buffer, Function
    from tile_ir.opdef import Body, Stmt
    from tile_ir.ops import Kernel
    from tile_passes.base import PassContext
    from tile_passes.plan.keys import Path
    from tile_passes.plan.model import Candidate, Plan
    from tile_passes.plan.relations import Relation, Through
    from tile_passes.plan.survey import Product, Survey

_ROW_BYTES = (128, 64, 32)
"""Widths of swizzled rows, best first; wider rows are cut into panels."""


@dataclass(slots=True)
class _Inference:
    """The layouts found so far for the fragments of one kernel, each with the reason."""

    buffers: Mapping[str, Buffer]
    edges: dict[str, list[Relation | Through]]
    found: dict[str, FragmentLayout] = field(default_factory=dict)
    why: dict[str, str] = field(default_factory=dict)

    def set(self, name: str, layout: FragmentLayout, why: str) -> None:
        """Fix one layout, unless an earlier demand did."""
        if name not in self.found and _fits(layout, self.buffers[name]):
            self.found[name], self.why[name] = layout, why

    def spread(self) -> None:
        """Follow relations, from the largest fragments outwards, until nothing new is found."""
        work = sorted(self.found, key=self._size)
        while work:
            source = work.pop()
            for edge in self.edges.get(source, ()):
                if edge.target in self.found:
                    continue
                try:
                    wanted = edge.wanted(self.found[source])
                except TileError:
                    wanted = None
                if wanted is None:  # no digits say it; the target stays free
                    continue
                self.set(edge.target, wanted, f"follows {source}")
                if edge.target in self.found:
                    work.append(edge.target)
            work.sort(key=self._size)

    def _size(self, name: str) -> tuple[int, str]:
        return prod(_shape(self.buffers[name])), name


def plan_layout(fn: Function, cx: PassContext, plan: Plan) -> Plan:
    """Decide `layout` of buffers and parallel loops, and `convert` where two layouts meet in a
    copy.
    """
    buffers = declared(fn)
    for kernel in kernels(fn):
        tiles = tiles_of(kernel)
        if tiles is not None:
            plan = _kernel(plan, cx, kernel, tiles.body, buffers)
    return plan


def _kernel(
    plan: Plan, cx: PassContext, kernel: Kernel, body: Body, buffers: Mapping[str, Buffer]
) -> Plan:
    found = survey(body, buffers, cx.target)
    threads = threads_of(kernel.threads)
    edges: dict[str, list[Relation | Through]] = {}
    for stmt in walk(body):
        found_here: list[Relation | Through] = [
            *relations(stmt, buffers),
            *throughs(stmt, buffers),
        ]
        for edge in found_here:
            edges.setdefault(edge.source, []).append(edge)
    inference = _Inference(buffers, edges)
    own = [s.buffer for s in walk(body) if isinstance(s, Alloc)]
    party = _parties(kernel, body)
    _pins(inference, cx, kernel.name, own)
    chained = any(buffers[p.stmt.a.buffer].scope == "fragment" for p in found.products)
    for product in sorted(found.products, key=lambda p: -prod(p.shape)):
        # A result that feeds another product stays in its threads when all units lie along m.
        _strict(inference, plan, cx, kernel, product, "full_row" if chained else "")
    inference.spread()
    moved = _moved_bits(body, buffers)
    for buffer in sorted(own, key=lambda b: -prod(_shape(b))):
        if buffer.scope == "fragment" and buffer.name not in inference.found:
            count = party.get(buffer.name, threads)
            vector = _vector(cx, buffer, count, moved.get(buffer.name, 0))
            free = blocked(_shape(buffer), threads=count, vector=vector)
            inference.set(buffer.name, free, "free: widest vectors, fewest registers")
            inference.spread()
    crossed = crossings(_steps(kernel, body, inference), buffers, inference.found)
    for buffer in own:
        if buffer.scope == "fragment":
            layout, why = inference.found[buffer.name], inference.why[buffer.name]
            key = f"{kernel.name}.{buffer.name}.layout"
            plan = decide(plan, cx, key, str(layout), reason=why)
        elif buffer.scope == "shared":
            lanes = by_lanes(buffer, found, plan, cx, kernel.name, buffers, threads)
            if buffer.name in crossed:
                accepted = _accepted(plan, cx, kernel.name, buffer, [], found)
                lanes = lanes or by_turns(buffer, crossed[buffer.name], accepted, cx.target)
            plan = _shared(plan, cx, kernel.name, buffer, found, lanes)
    plan = _held(plan, cx, kernel.name, found, buffers, threads)
    return _loops(plan, cx, kernel, found.names, body, inference)


def _held(
    plan: Plan,
    cx: PassContext,
    kernel: str,
    found: Survey,
    buffers: Mapping[str, Buffer],
    threads: int,
) -> Plan:
    """The layouts of what registers hold on the way to shared memory."""
    for fill in found.fills:
        if plan.value(f"{kernel}.{fill.name}.engine", "") == STAGED:
            source = buffers[fill.stmt.src.buffer]
            tile = parse_layout(str(plan.value(f"{kernel}.{fill.buffer.name}.layout", "")))
            layout, why = held_layout(fill, source, tile, threads), "as it is loaded and put down"
            plan = decide(plan, cx, f"{kernel}.{fill.held}.layout", str(layout), reason=why)
    return plan


def _parties(kernel: Kernel, body: Body) -> dict[str, int]:
    """The threads that hold each buffer which a role of the kernel's own declares."""
    return {
        s.buffer.name: threads_at(kernel, (at,))
        for at, role in enumerate(body)
        if isinstance(role, Role)
        for s in walk(role.body)
        if isinstance(s, Alloc)
    }


def _pins(inference: _Inference, cx: PassContext, kernel: str, own: list[Buffer]) -> None:
    """Layouts that the user gave, in the program or as a pin."""
    for buffer in own:
        key = f"{kernel}.{buffer.name}.layout"
        given: Layout | None = buffer.layout
        if key in cx.pins:
            given = parse_layout(str(as_value(cx.pins[key])))
        if isinstance(given, FragmentLayout):
            names = dict(zip(given.outputs, default_axes(buffer.rank), strict=False))
            inference.set(buffer.name, positional(given, names), "pinned")


def _strict(
    inference: _Inference,
    plan: Plan,
    cx: PassContext,
    kernel: Kernel,
    product: Product,
    policy: str,
) -> None:
    """What the planned atom of a product demands of its accumulator and register operands."""
    atom = cx.target.matrix.get(str(plan.value(f"{kernel.name}.{product.name}.atom", GENERIC)))
    if atom is None:
        return
    stmt = product.stmt
    policy = policy if stmt.policy == "square" and policy else stmt.policy
    split = tiling(atom, product.shape, threads_at(kernel, product.path), policy)
    if split is None:
        return
    wanted = (
        (stmt.c, split.accumulator, ("m", "n")),
        (stmt.a, split.a, ("k", "m") if stmt.transpose_a else ("m", "k")),
        (stmt.b, split.b, ("n", "k") if stmt.transpose_b else ("k", "n")),
    )
    for region, made, axes in wanted:
        buffer = inference.buffers[region.buffer]
        if buffer.scope == "fragment" and buffer.rank == len(axes):
            layout = positional(made(), dict(zip(axes, default_axes(buffer.rank), strict=True)))
            inference.set(buffer.name, layout, f"{product.name} by {atom.name}")


def _fits(layout: FragmentLayout, buffer: Buffer) -> bool:
    """Whether the layout's box covers the buffer."""
    return all(have >= want for have, want in zip(layout.output_shape, _shape(buffer), strict=True))


def _shape(buffer: Buffer) -> tuple[int, ...]:
    return tuple(int(n.value) if isinstance(n, Const) else 1 for n in buffer.shape)


def _moved_bits(body: Body, buffers: Mapping[str, Buffer]) -> dict[str, int]:
    """Bits of the widest element that copies bring each fragment from global memory or there."""
    found: dict[str, int] = {}
    for s in walk(body):
        if isinstance(s, Copy):
            sides = buffers[s.src.buffer], buffers[s.dst.buffer]
            for held, memory in (sides, sides[::-1]):
                if held.scope == "fragment" and memory.scope == "global":
                    bits = memory.dtype.storage_bits
                    found[held.name] = max(found.get(held.name, 0), bits)
    return found


def _vector(cx: PassContext, buffer: Buffer, threads: int, moved: int) -> int:
    """Elements of the widest access that a row of the buffer is a multiple of. Where memory has
    narrower elements (of `moved` bits), its accesses count if all threads get one."""
    shape, own = _shape(buffer), buffer.dtype.storage_bits
    row = (shape or (1,))[-1]
    for size in cx.target.access_bytes:
        wide = size * 8 // (moved or own)
        if own > moved > 0 and wide and row % wide == 0 and prod(shape) >= wide * threads:
            return wide
        count = size * 8 // own
        if count and row % count == 0:
            return count
    return 1


# -- shared memory


def _shared(
    plan: Plan,
    cx: PassContext,
    kernel: str,
    buffer: Buffer,
    found: Survey,
    lanes: tuple[Candidate, ...],
) -> Plan:
    if buffer.name in found.viewed:
        return _in_order(plan, cx, kernel, buffer)
    key = f"{kernel}.{buffer.name}.layout"
    options = list(_shared_options(buffer, plan, cx, kernel, found))
    value, reason = str(options[0][0]), options[0][1]
    if lanes:
        value, reason = str(lanes[0].value), f"{lanes[0].cost:.0f} {lanes[0].reason}"
    given = buffer.layout
    if given is not None and key not in cx.pins:
        value, reason = str(given), "given by the kernel"
    costs = lanes or _layouts_weighed(buffer, cx)
    return decide(plan, cx, key, value, reason=reason, candidates=costs)


def _in_order(plan: Plan, cx: PassContext, kernel: str, buffer: Buffer) -> Plan:
    """A view counts the elements of a buffer in order: they lie so, whoever else reads them."""
    plain = str(row_major(_shape(buffer)))
    if buffer.layout is not None and str(buffer.layout) != plain:
        raise TileError(
            "E0702",
            f"{buffer.name} cannot lie as {buffer.layout}",
            buffer.span,
            notes=("a view of it sees its elements in order",),
            help=f"leave the layout of {buffer.name} out, or copy it instead of viewing it",
        )
    key, reason = f"{kernel}.{buffer.name}.layout", "a view sees its elements in order"
    return decide(plan, cx, key, plain, reason=reason, allowed=(plain,))


def _layouts_weighed(buffer: Buffer, cx: PassContext) -> tuple[Candidate, ...]:
    """Panels of every width, and plain rows, with their bank conflicts."""
    shape, bits = _shape(buffer), buffer.dtype.storage_bits
    if len(shape) != 2:
        return ()
    panelled = [_panelled((shape[0], shape[1]), bits, row) for row in _ROW_BYTES]
    return weighed([p for p in panelled if p is not None] + [row_major(shape)], bits, cx.target)


def _shared_options(
    buffer: Buffer, plan: Plan, cx: PassContext, kernel: str, found: Survey
) -> Iterator[tuple[Layout, str]]:
    """The layouts that everything that touches the buffer accepts, best first."""
    shape = _shape(buffer)
    plain = row_major(shape)
    operands = [
        (p, o)
        for p in found.products
        for region, o in ((p.stmt.a, "a"), (p.stmt.b, "b"))
        if region.buffer == buffer.name
    ]
    if operands and len(shape) in (2, 3):
        accepted = _accepted(plan, cx, kernel, buffer, operands, found)
        bits = buffer.dtype.storage_bits
        in_ring = any(fill.buffer.name == buffer.name for fill in found.fills)
        made = swizzled(shape[-2:], bits, accepted, gapless=in_ring)
        if made is not None and len(shape) > 2:
            made = with_slots(made, shape[0], bits)
        if made is not None:
            yield made, "rows spread over all banks by the widest swizzle that its users accept"
    yield plain, "rows in order"


def _accepted(
    plan: Plan,
    cx: PassContext,
    kernel: str,
    buffer: Buffer,
    operands: list[tuple[Product, str]],
    found: Survey,
) -> frozenset[str] | None:
    """The swizzles that atoms and the copy engine read and write, None when any will do."""
    accepted: frozenset[str] | None = None
    lists = []
    for product, operand in operands:
        atom = cx.target.matrix.get(str(plan.value(f"{kernel}.{product.name}.atom", GENERIC)))
        if atom is not None and atom.engine == "async":
            lists.append(getattr(atom, operand).swizzles)
    for fill in found.fills:
        engine = cx.target.copy.get(str(plan.value(f"{kernel}.{fill.name}.engine", "")))
        if fill.buffer.name == buffer.name and engine is not None and engine.elect:
            lists.append(engine.swizzles)
    if buffer.name in found.boxes:
        ways = (engine_of(BULK, cx.target, loads=loads) for loads in (True, False))
        lists += [e.swizzles for e in ways if e is not None]
    for names in lists:
        accepted = frozenset(names) if accepted is None else accepted & frozenset(names)
    return accepted


def swizzled(
    shape: tuple[int, ...], bits: int, accepted: frozenset[str] | None, *, gapless: bool = False
) -> TileLayout | None:
    """Panels of the widest swizzled row that divides the last axis; `gapless`: tiles of which one
    ends where the pattern of the next may begin."""
    for row in _ROW_BYTES:
        made = _panelled((shape[0], shape[1]), bits, row)
        if made is None or (accepted is not None and str(made.swizzle) not in accepted):
            continue
        if not gapless or made.pitch(bits) == shape[0] * shape[1]:
            return made
    return None


def with_slots(tile: TileLayout, slots: int, bits: int) -> TileLayout:
    """The layout of so many tiles one after another, with their number as first axis."""
    size = tile.pitch(bits)
    (out,) = tile.output_names
    digits = [(Digit(slots, out, size),), *(axis.digits for axis in tile.inputs)]
    inputs = tuple(Axis(f"d{i}", tuple(d)) for i, d in enumerate(digits))
    return TileLayout(inputs=inputs, swizzle=tile.swizzle)


def _panelled(shape: tuple[int, int], bits: int, row_bytes: int) -> TileLayout | None:
    """Panels of swizzled rows of so many bytes, None where they do not divide the last axis."""
    width = row_bytes * 8 // bits
    if shape[1] % width:
        return None
    swizzle = swizzle_for(row_bytes)
    return panels(shape, ("d0", "d1"), along="d1", width=width, swizzle=swizzle)


# -- parallel loops and disagreements


def _loops(
    plan: Plan,
    cx: PassContext,
    kernel: Kernel,
    names: Names,
    body: Body,
    inference: _Inference,
) -> Plan:
    for path, stmt in _paths(body, ()):
        name, threads = names[path], threads_at(kernel, path)
        if isinstance(stmt, Parallel) and all(isinstance(e, Const) for e in stmt.extents):
            layout, why = _loop_layout(stmt, inference, threads)
            key = f"{kernel.name}.{name}.layout"
            plan = decide(plan, cx, key, str(stmt.layout or layout), reason=why)
        for edge in directed(stmt, inference.buffers):
            plan = _conflict(plan, cx, kernel.name, name, edge, inference)
    return plan


def _steps(kernel: Kernel, body: Body, inference: _Inference) -> Iterator[Step]:
    """The statements of a kernel with who runs them."""
    for path, stmt in _paths(body, ()):
        threads, layout = threads_at(kernel, path), None
        if isinstance(stmt, Parallel) and all(isinstance(e, Const) for e in stmt.extents):
            layout = stmt.layout or _loop_layout(stmt, inference, threads)[0]
        yield Step(
            stmt=stmt,
            threads=threads,
            layout=layout if isinstance(layout, FragmentLayout) else None,
        )


def _paths(body: Body, at: Path) -> Iterator[tuple[Path, Stmt]]:
    for i, stmt in enumerate(body):
        yield (*at, i), stmt
        for k, inner in enumerate(bodies(stmt)):
            if not isinstance(stmt, Parallel):
                yield from _paths(inner, (*at, i, k))


def _loop_layout(stmt: Parallel, inference: _Inference, threads: int) -> tuple[FragmentLayout, str]:
    """The layout of the first fragment written, or read, whose axes are all of the loop's
    variables.
    """
    access = leader(stmt, inference.buffers)
    axes = None if access is None else loop_axes(access, stmt)
    if access is not None and axes is not None:
        names = {f"d{i}": f"d{v}" for i, v in enumerate(axes)}
        return positional(inference.found[access.buffer], names), f"follows {access.buffer}"
    shape = tuple(int(e.value) for e in stmt.extents if isinstance(e, Const))
    return blocked(shape, threads=threads, vector=stmt.width or 1), "free"


def _conflict(
    plan: Plan, cx: PassContext, kernel: str, name: str, edge: Relation, inference: _Inference
) -> Plan:
    """Note the conversion where a statement relates two fragments whose layouts do not go
    together.
    """
    source, target = inference.found.get(edge.source), inference.found.get(edge.target)
    if source is None or target is None:
        return plan
    try:
        wanted = edge.wanted(source)
    except TileError:
        return plan
    if wanted == target or same_function(wanted, target):
        return plan
    kind = convert_kind(wanted, target, warp_width=cx.target.warp_width)
    if kind == "identity":
        return plan
    reason = f"{edge.target} and {edge.source} have different layouts"
    key = f"{kernel}.{name}.convert[{edge.target}]"
    return decide(plan, cx, key, kind, reason=reason, allowed=(kind,))


PASS = Pass(
    name="plan-layout",
    phase="plan",
    plan=plan_layout,
    requires=("planned",),
    ensures=("layouts planned",),
    doc=__doc__,
)
