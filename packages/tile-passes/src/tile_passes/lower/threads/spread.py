"""A box of iterations dealt to the threads of a block by a fragment layout.

Each value digit of the layout becomes a loop that the target's compiler unrolls, each thread digit
a piece of the thread's index. So the size of a program does not grow with the size of its tiles,
and every register has an index that is constant after unrolling.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

from tile_ir import build as b
from tile_ir.expr import Expr, Var
from tile_ir.layout import (
    VALUE,
    Digit,
    FragmentLayout,
    blocked,
    coalesce_digits,
    conversion,
    extent_of,
    places,
)
from tile_ir.ops import For, If
from tile_ir.types import i32
from tile_passes.analysis.index_maps import seen_through, sub_digits
from tile_passes.lower.threads.addresses import ZERO, digit

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tile_ir.diag import Span
    from tile_ir.layout import Layout
    from tile_ir.opdef import Body
    from tile_passes.analysis.index_maps import IndexMap
    from tile_passes.naming import Names

__all__ = [
    "Spread",
    "box_axes",
    "dealt",
    "fits_threads",
    "loops",
    "meets",
    "over_box",
    "register",
    "register_through",
    "relabel",
    "replicated",
]

ONE = b.const(1, i32)
_WITHOUT_EXCHANGE = ("identity", "rename")
"""The conversions for which no value leaves its thread."""


def box_axes(rank: int) -> tuple[str, ...]:
    """The names of a box's axes in its layout."""
    return tuple(f"d{i}" for i in range(rank))


def fits_threads(layout: Layout | None, threads: int) -> FragmentLayout | None:
    """The layout over exactly the threads of the block, groups included; None when it has more.

    Threads beyond those that the layout knows hold copies.
    """
    if not isinstance(layout, FragmentLayout):
        return None
    thread = (*layout.thread, *layout.group)
    own = extent_of(thread)
    if own > threads:
        return None
    if own < threads:
        thread = (*thread, Digit(-(-threads // own)))
    return FragmentLayout(
        thread=coalesce_digits(thread),
        value=coalesce_digits(layout.value),
        outputs=layout.outputs,
    )


def over_box(layout: Layout | None, threads: int) -> FragmentLayout | None:
    """A chosen layout over the threads of the block with the axes of a box; None when none fits."""
    held = fits_threads(layout, threads)
    if held is None:
        return None
    names = box_axes(len(held.outputs))
    return relabel(held, dict(zip(held.outputs, names, strict=True)), names)


def dealt(extents: Sequence[int], threads: int, vector: int = 1) -> FragmentLayout:
    """The layout of a box that nothing constrains: neighbours along the last axis to neighbouring
    threads, in runs of `vector`."""
    return blocked(extents, box_axes(len(extents)), threads=threads, vector=vector)


def replicated(extents: Sequence[int], threads: int) -> FragmentLayout:
    """The layout of a box that every thread has all of."""
    names = box_axes(len(extents))
    value = [Digit(n, name, 1) for n, name in zip(extents, names, strict=True) if n > 1]
    return FragmentLayout(thread=(Digit(threads),), value=tuple(reversed(value)), outputs=names)


def relabel(
    layout: FragmentLayout, names: Mapping[str, str | None], outputs: Sequence[str]
) -> FragmentLayout:
    """The layout with its axes renamed; along an axis that becomes None threads hold copies, and a
    thread's values become one."""

    def moved(digits: Sequence[Digit]) -> list[Digit]:
        out = []
        for d in digits:
            name = None if d.axis is None else names.get(d.axis)
            out.append(Digit(d.extent) if name is None else Digit(d.extent, name, d.stride))
        return out

    return FragmentLayout(
        thread=coalesce_digits(moved(layout.thread)),
        value=coalesce_digits([d for d in moved(layout.value) if d.axis is not None]),
        outputs=tuple(outputs),
    )


@dataclass(frozen=True, slots=True)
class Loop:
    """The loop of one value digit, whose steps are `place` registers apart; the lanes of a vector
    access are no loop, their variable is 0."""

    var: Expr
    place: int
    digit: Digit


@dataclass(frozen=True, slots=True)
class Spread:
    """The iterations of one thread.

    `at` has the coordinate of each axis of the box over the loops' variables; `inside` is the
    condition that the iteration exists (the layout may cover a larger box), `first` that this
    thread holds the copy that writes memory; None where they always hold.
    """

    layout: FragmentLayout
    loops: tuple[Loop, ...]
    at: tuple[Expr, ...]
    inside: Expr | None
    first: Expr | None

    def nest(self, body: Body, span: Span | None = None) -> Body:
        """The loops around `body`, the fastest innermost; the condition `inside` within."""
        if self.inside is not None:
            body = (If(cond=self.inside, then=body, span=span),)
        return loops(self.loops, body, span)


def loops(over: Sequence[Loop], body: Body, span: Span | None) -> Body:
    """Loops over value digits, the fastest innermost."""
    for loop in over:
        if not isinstance(loop.var, Var):
            continue
        extent = b.const(loop.digit.extent, i32)
        body = (
            For(
                var=loop.var, start=ZERO, stop=extent, step=ONE, kind="unroll", body=body, span=span
            ),
        )
    return body


def spread(
    layout: FragmentLayout,
    extents: Sequence[int],
    thread: Expr,
    names: Names,
    bind: Callable[[str, Expr], Expr],
    vector: int = 1,
) -> Spread:
    """Deal a box of `extents` to threads by `layout`, whose axes are `box_axes`; `bind` names what
    depends on the thread alone.

    With `vector` > 1 the fastest value digit gives the lanes of a vector access, and coordinates
    are those of the first lane.
    """
    digits = list(layout.value)
    if vector > 1 and digits and digits[0].extent > vector:
        digits[:1] = [digits[0].head(vector), digits[0].tail(vector)]
    made = tuple(
        Loop(ZERO if vector > 1 and place == 1 else names.var("v"), place, d)
        for place, d in zip(places(digits), digits, strict=True)
    )
    at: list[Expr] = []
    for axis in layout.outputs:
        base = bind(f"t{axis[1:]}" if axis[0] == "d" else axis, _thread_part(layout, axis, thread))
        for loop in made:
            if loop.digit.axis == axis:
                base = b.add(base, b.mul(loop.var, loop.digit.stride))
        at.append(base)
    return Spread(
        layout=layout,
        loops=made,
        at=tuple(at),
        inside=_inside(layout, extents, at),
        first=_first(layout, thread),
    )


def _thread_part(layout: FragmentLayout, axis: str, thread: Expr) -> Expr:
    total: Expr = ZERO
    last = len(layout.thread) - 1
    for i, (place, d) in enumerate(zip(places(layout.thread), layout.thread, strict=True)):
        if d.axis == axis:
            here = digit(thread, place, None if i == last else d.extent)
            total = b.add(total, b.mul(here, d.stride))
    return total


def _inside(layout: FragmentLayout, extents: Sequence[int], at: Sequence[Expr]) -> Expr | None:
    out: Expr | None = None
    for size, extent, e in zip(layout.output_shape, extents, at, strict=True):
        if size > extent:
            cond = b.lt(e, extent)
            out = cond if out is None else b.land(out, cond)
    return out


def _first(layout: FragmentLayout, thread: Expr) -> Expr | None:
    out: Expr | None = None
    last = len(layout.thread) - 1
    for i, (place, d) in enumerate(zip(places(layout.thread), layout.thread, strict=True)):
        if d.is_replica and d.extent > 1:
            cond = b.eq(digit(thread, place, None if i == last else d.extent), 0)
            out = cond if out is None else b.land(out, cond)
    return out


def register(held: FragmentLayout, over: Spread, axes: Sequence[int | None]) -> Expr | None:
    """The register of a fragment that an iteration of `over` means, None when another thread has it
    or its number is not the same in all threads.

    `held` is the fragment's layout; its axis i is the box's axis `axes[i]`, or has extent 1 (None).
    """
    names = {f"d{a}": n for n, a in zip(held.outputs, axes, strict=True) if a is not None}
    wanted = relabel(over.layout, names, held.outputs)
    mine, place = [], 1
    for loop in over.loops:
        if loop.digit.axis is not None and names.get(loop.digit.axis) is not None:
            mine.append((loop.var, place, loop.digit.extent))
            place *= loop.digit.extent
    return _register(held, wanted, mine)


def register_through(held: FragmentLayout, over: Spread, through: IndexMap) -> Expr | None:
    """The same for an element whose indices are put together from digits of the box's axes."""
    names = box_axes(len(held.outputs))
    held = relabel(held, dict(zip(held.outputs, names, strict=True)), names)
    wanted = seen_through(over.layout, through)
    if wanted is None:
        return None
    mine, place = [], 1
    for loop in over.loops:
        if loop.digit.axis is None:
            continue
        inside = 1
        for part in sub_digits(loop.digit, int(loop.digit.axis[1:]), through) or ():
            above = inside * part.extent
            if part.axis is not None:
                extent = None if above == loop.digit.extent else part.extent
                mine.append((digit(loop.var, inside, extent), place, part.extent))
                place *= part.extent
            inside = above
    return _register(held, wanted, mine)


def meets(layout: Layout | None, held: Layout | None, through: IndexMap) -> bool:
    """Whether threads that run iterations as `layout` have the elements that they read, in
    registers whose numbers are known."""
    known = [part for part in (layout, held) if isinstance(part, FragmentLayout)]
    if len(known) < 2:
        return False
    threads = max(extent_of((*part.thread, *part.group)) for part in known)
    runs, has = (over_box(part, threads) for part in known)
    wanted = None if runs is None else seen_through(runs, through)
    if wanted is None or has is None:
        return False
    return conversion(has, wanted).kind in _WITHOUT_EXCHANGE


def _register(
    held: FragmentLayout, wanted: FragmentLayout, mine: Sequence[tuple[Expr, int, int]]
) -> Expr | None:
    if wanted.thread == held.thread and wanted.value == held.value:
        return _sum(mine)
    found = conversion(held, wanted)
    if found.kind not in _WITHOUT_EXCHANGE or found.source is None:
        return None
    total: Expr = ZERO
    for at, d in zip(places(found.source.value), found.source.value, strict=True):
        if d.axis == VALUE:
            total = b.add(total, b.mul(_digit_of(mine, at, d.extent), d.stride))
    return total


def _sum(parts: Sequence[tuple[Expr, int, int]]) -> Expr:
    total: Expr = ZERO
    for var, place, _ in parts:
        total = b.add(total, b.mul(var, place))
    return total


def _digit_of(parts: Sequence[tuple[Expr, int, int]], at: int, extent: int) -> Expr:
    """A digit of the number that loops count together: loops where it falls on their boundaries."""
    within = [p for p in parts if p[1] >= at and p[1] * p[2] <= at * extent]
    if prod(p[2] for p in within) == extent:
        return _sum([(var, place // at, size) for var, place, size in within])
    return digit(_sum(parts), at, extent)
