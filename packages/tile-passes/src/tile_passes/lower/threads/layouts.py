"""Layouts for fragments that nobody chose one for: simple, total, and consistent where it is free.

Matrix instructions say first how their operands lie. From there layouts spread along statements
that touch two fragments with one iteration, and along reductions; what remains is dealt evenly.
Where two uses still disagree the lowering moves the values, so this only decides speed.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

from tile_ir.expr import Const
from tile_ir.ops import Copy, Gemm, Parallel, Reduce
from tile_ir.rewrite import walk
from tile_passes.lower.context import long_axes
from tile_passes.lower.threads.addresses import static_shape
from tile_passes.lower.threads.atoms import tiling
from tile_passes.lower.threads.demote import accesses, axes_of
from tile_passes.lower.threads.spread import box_axes, dealt, over_box, relabel

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tile_ir.core import Buffer
    from tile_ir.layout import FragmentLayout
    from tile_ir.opdef import Body
    from tile_ir.target import TargetSpec
    from tile_passes.lower.threads.demote import Axes

__all__ = ["choose_layouts"]

_RUN_BYTES = 16


@dataclass(frozen=True, slots=True)
class _Relation:
    """Fragments touched by one box of iterations: for each, its axes as axes of the box."""

    rank: int
    members: tuple[tuple[str, Axes], ...]
    seed: FragmentLayout | None = None
    """The box's layout where no member has one yet."""


def choose_layouts(
    body: Body, buffers: Mapping[str, Buffer], target: TargetSpec, threads: int
) -> dict[str, FragmentLayout]:
    """A layout over `threads` threads for each fragment of a kernel's body, by name."""
    shapes = {n: static_shape(b) for n, b in buffers.items() if b.scope == "fragment"}
    found: dict[str, FragmentLayout] = {}
    for name in shapes:
        pinned = over_box(buffers[name].layout, threads)
        if pinned is not None:
            found[name] = pinned
    for s in walk(body):
        if isinstance(s, Gemm):
            _of_product(s, buffers, target, threads, found)
    relations = _relations(body, buffers, threads)
    _propagate(relations, found, seeds=False)
    _propagate(relations, found, seeds=True)
    for name in sorted(shapes, key=lambda n: -prod(shapes[n])):
        if name not in found:
            vector = _run(shapes[name], buffers[name], threads)
            found[name] = dealt(shapes[name], threads, vector)
            _propagate(relations, found, seeds=False)
    return {name: found[name] for name in shapes}


def _of_product(
    s: Gemm,
    buffers: Mapping[str, Buffer],
    target: TargetSpec,
    threads: int,
    found: dict[str, FragmentLayout],
) -> None:
    if all(buffers[r.buffer].scope != "fragment" or r.buffer in found for r in (s.c, s.a)):
        return
    plan = tiling(s, buffers, target, threads)
    if plan is None:
        return
    wanted = {s.c.buffer: plan.accumulator, s.a.buffer: plan.operand_a}
    for name, layout in wanted.items():
        if buffers[name].scope == "fragment" and buffers[name].rank == len(layout.outputs):
            found.setdefault(name, layout)


def _relations(body: Body, buffers: Mapping[str, Buffer], threads: int) -> list[_Relation]:
    out: list[_Relation] = []
    for s in walk(body):
        if isinstance(s, Parallel):
            out.append(_of_loop(s, buffers))
        elif isinstance(s, Copy):
            out.append(_of_copy(s, buffers))
        elif isinstance(s, Reduce) and not s.parts:  # parts are made for layouts that are there
            out.append(_of_reduction(s, buffers, threads))
    return [r for r in out if r.members]


def _of_loop(s: Parallel, buffers: Mapping[str, Buffer]) -> _Relation:
    members: dict[tuple[str, Axes], None] = {}
    for t in walk(s.body):
        for name, indices in accesses(t):
            if name in buffers and buffers[name].scope == "fragment":
                axes = axes_of(indices, buffers[name], s)
                if axes is not None:
                    members[name, axes] = None
    return _Relation(len(s.vars), tuple(members), None)


def _of_copy(s: Copy, buffers: Mapping[str, Buffer]) -> _Relation:
    members = []
    for region in (s.src, s.dst):
        buffer = buffers[region.buffer]
        order = {axis: i for i, axis in enumerate(long_axes(region))}
        if buffer.scope == "fragment":
            members.append((buffer.name, tuple(order.get(a) for a in range(buffer.rank))))
    return _Relation(len(long_axes(s.dst)), tuple(members) if len(members) > 1 else ())


def _of_reduction(s: Reduce, buffers: Mapping[str, Buffer], threads: int) -> _Relation:
    src, dst = buffers[s.src.buffer], buffers[s.dst.buffer]
    rank = len(s.src.ranges)
    dim = s.dim % rank
    kept = [a for a in range(rank) if a != dim]
    members: list[tuple[str, Axes]] = []
    seed = None
    if src.scope == "fragment":
        members.append((src.name, tuple(range(rank))))
    elif all(isinstance(r.extent, Const) for r in s.src.ranges):
        seed = dealt([int(r.extent.value) for r in s.src.ranges], threads)  # type: ignore[attr-defined]  # just checked
    if dst.scope == "fragment" and len(s.dst.ranges) in (rank, len(kept)):
        keeps = len(s.dst.ranges) == rank
        axes: Axes = tuple(None if a == dim else a for a in range(rank)) if keeps else tuple(kept)
        members.append((dst.name, axes))
    return _Relation(rank, tuple(members), seed)


def _propagate(
    relations: list[_Relation], found: dict[str, FragmentLayout], *, seeds: bool
) -> None:
    changed = True
    while changed:
        changed = False
        for relation in relations:
            missing = [(n, axes) for n, axes in relation.members if n not in found]
            box = _box(relation, found, seeds=seeds) if missing else None
            if box is None:
                continue
            for name, axes in missing:
                if name not in found:
                    found[name] = _restricted(box, axes)
                    changed = True


def _box(
    relation: _Relation, found: Mapping[str, FragmentLayout], *, seeds: bool
) -> FragmentLayout | None:
    """The layout of the box of a relation: that of a member that has all its axes."""
    for name, axes in relation.members:
        if name in found and len([a for a in axes if a is not None]) == relation.rank:
            names = {f"d{i}": None if a is None else f"d{a}" for i, a in enumerate(axes)}
            return relabel(found[name], names, box_axes(relation.rank))
    return relation.seed if seeds else None


def _restricted(box: FragmentLayout, axes: Axes) -> FragmentLayout:
    names: dict[str, str | None] = {f"d{a}": f"d{i}" for i, a in enumerate(axes) if a is not None}
    return relabel(box, names, box_axes(len(axes)))


def _run(shape: tuple[int, ...], buffer: Buffer, threads: int) -> int:
    """Elements in a row for each thread: what an access of 16 bytes takes, while all threads have
    some."""
    if not shape:
        return 1
    run = max(_RUN_BYTES * 8 // max(buffer.dtype.storage_bits, 1), 1)
    while run > 1 and (shape[-1] % run or prod(shape) < run * threads):
        run //= 2
    return run
