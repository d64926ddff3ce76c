"""How the layouts of two fragments must agree for a statement to need no exchange between threads.

A relation goes from the fragment with more axes to the one with fewer: the axes they share are
equal, the others are reduced away (the threads along them hold copies).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tile_ir.expr import Load, Var, loads
from tile_ir.layout import FragmentLayout, coalesce_digits, default_axes, project, rename
from tile_ir.ops import Copy, Parallel, Reduce, Scan, Store, Transpose
from tile_ir.rewrite import stmt_exprs, walk
from tile_passes.analysis.index_maps import index_map, seen_through

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tile_ir.core import Buffer
    from tile_ir.opdef import Stmt
    from tile_ir.ops import Atomic
    from tile_passes.analysis.index_maps import IndexMap


@dataclass(frozen=True, slots=True)
class Relation:
    """`axes[i]` is the axis of `source` that axis i of `target` equals; other axes of `source` are
    reduced away.
    """

    source: str
    target: str
    axes: tuple[int, ...]
    of: int
    """How many axes `source` has."""

    def wanted(self, layout: FragmentLayout) -> FragmentLayout:
        """The layout of `target` that goes with `layout` of `source`."""
        kept = {f"d{axis}": f"d{i}" for i, axis in enumerate(self.axes)}
        for name in layout.outputs:
            if name not in kept:
                layout = project(layout, name)
        made = rename(layout, {old: f"t{new}" for old, new in kept.items()})
        made = rename(made, {f"t{new}": new for new in kept.values()})
        outputs = default_axes(len(self.axes))
        return FragmentLayout(
            thread=made.thread, value=made.value, group=made.group, outputs=outputs
        )

    def reversed(self) -> Relation | None:
        """The other direction, where no axis is reduced away."""
        if sorted(self.axes) != list(range(self.of)):
            return None
        back = tuple(self.axes.index(i) for i in range(self.of))
        return Relation(self.target, self.source, back, self.of)


@dataclass(frozen=True, slots=True)
class Through:
    """Elements of `target` are read at indices put together from digits of a loop's variables;
    axis i of `source` is variable `axes[i]`."""

    source: str
    target: str
    axes: tuple[int, ...]
    indices: IndexMap

    def wanted(self, layout: FragmentLayout) -> FragmentLayout | None:
        """The layout of `target` that goes with `layout` of `source`; None where no digits say it.

        Registers count along the last axis first: what fills them does so with wide accesses.
        """
        names = {f"d{i}": f"d{v}" for i, v in enumerate(self.axes)}
        made = seen_through(positional(layout, names), self.indices)
        if made is None:
            return None
        last = made.outputs[-1]
        order = sorted(
            made.value, key=lambda d: (d.axis != last, d.stride if d.axis == last else 0)
        )
        return replace(made, value=coalesce_digits(order))


def positional(layout: FragmentLayout, names: Mapping[str, str]) -> FragmentLayout:
    """The layout with its axes named by position, in order of position."""
    apart = rename(layout, {old: f"{new}_" for old, new in names.items()})
    made = rename(apart, {f"{new}_": new for new in names.values()})
    return FragmentLayout(
        thread=made.thread,
        value=made.value,
        group=made.group,
        outputs=tuple(sorted(names.values())),
    )


def relations(stmt: Stmt, buffers: Mapping[str, Buffer]) -> tuple[Relation, ...]:
    """The relations between fragments in one statement, each in both directions where both
    exist.
    """
    found = [r for r in _relations(stmt, buffers) if r.source != r.target]
    turned = (r.reversed() for r in found)
    return tuple(dict.fromkeys([*found, *(r for r in turned if r is not None)]))


def throughs(stmt: Stmt, buffers: Mapping[str, Buffer]) -> Iterator[Through]:
    """What a parallel loop reads at indices put together from digits."""
    if not isinstance(stmt, Parallel):
        return
    first = leader(stmt, buffers)
    axes = None if first is None else loop_axes(first, stmt)
    if first is None or axes is None:
        return
    read = [a for a in accesses(stmt) if isinstance(a, Load) and a.buffer != first.buffer]
    for access in read:
        if buffers[access.buffer].scope == "fragment" and loop_axes(access, stmt) is None:
            indices = index_map(access.indices, stmt)
            if indices is not None:
                yield Through(first.buffer, access.buffer, axes, indices)


def directed(stmt: Stmt, buffers: Mapping[str, Buffer]) -> tuple[Relation, ...]:
    """The relations in one direction: from what a statement reads to what it writes, in a parallel
    loop from the fragment that the loop follows to the others."""
    found = tuple(r for r in _relations(stmt, buffers) if r.source != r.target)
    first = leader(stmt, buffers) if isinstance(stmt, Parallel) else None
    return found if first is None else tuple(r for r in found if r.source == first.buffer)


def _relations(stmt: Stmt, buffers: Mapping[str, Buffer]) -> Iterator[Relation]:
    if isinstance(stmt, Parallel):
        yield from _parallel(stmt, buffers)
        return
    if not isinstance(stmt, (Copy, Reduce, Scan, Transpose)):
        return
    if isinstance(stmt, Reduce) and stmt.parts:
        return  # made for the layouts that are there
    src, dst = buffers[stmt.src.buffer], buffers[stmt.dst.buffer]
    if src.scope != "fragment" or dst.scope != "fragment":
        return
    axes = tuple(range(src.rank))
    if isinstance(stmt, Transpose):
        axes = (*axes[:-2], axes[-1], axes[-2])
    if isinstance(stmt, Reduce) and dst.rank < src.rank:
        dim = stmt.dim % src.rank
        axes = axes[:dim] + axes[dim + 1 :]
    if isinstance(stmt, Reduce) and dst.rank == src.rank and src.shape != dst.shape:
        return  # the axis that is left with extent 1 lies like no axis of the source
    if len(axes) == dst.rank and (isinstance(stmt, Reduce) or src.shape == dst.shape):
        yield Relation(src.name, dst.name, axes, src.rank)


def accesses(stmt: Parallel) -> tuple[Load | Store | Atomic, ...]:
    """The element accesses in the iterations of a parallel loop."""
    out: list[Load | Store | Atomic] = []
    for s in walk(stmt.body):
        if isinstance(s, Store):
            out.append(s)
        out.extend(x for e in stmt_exprs(s) for x in loads(e))
    return tuple(out)


def loop_axes(access: Load | Store | Atomic, loop: Parallel) -> tuple[int, ...] | None:
    """Which loop variable each index of an access is, None when an index is anything else."""
    found = []
    for e in access.indices:
        if not (isinstance(e, Var) and e in loop.vars):
            return None
        found.append(loop.vars.index(e))
    return tuple(found) if len(set(found)) == len(found) else None


def leader(stmt: Parallel, buffers: Mapping[str, Buffer]) -> Load | Store | Atomic | None:
    """The access whose fragment a parallel loop follows: the first written, or read, over all of
    its variables."""
    for access in accesses(stmt):
        axes = loop_axes(access, stmt)
        whole = axes is not None and len(axes) == len(stmt.vars)
        if whole and buffers[access.buffer].scope == "fragment":
            return access
    return None


def _parallel(stmt: Parallel, buffers: Mapping[str, Buffer]) -> Iterator[Relation]:
    parts: dict[str, tuple[int, ...]] = {}
    for access in accesses(stmt):
        axes = loop_axes(access, stmt)
        if axes is not None and buffers[access.buffer].scope == "fragment":
            parts.setdefault(access.buffer, axes)
    for source, wide in parts.items():
        for target, narrow in parts.items():
            if source != target and set(narrow) <= set(wide):
                yield Relation(source, target, tuple(wide.index(v) for v in narrow), len(wide))
