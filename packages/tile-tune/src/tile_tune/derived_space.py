"""A space from the program and the target: what each argument of the kernel function does is seen
by changing it.

A parameter whose change alters the tiles of products is a tile size, one that alters the stages of
a pipelined loop is a depth, one that alters the threads of a kernel is a thread count; what alters
nothing that can be tuned is left alone. Values come from the description: multiples of the matrix
instructions' extents, of the group of threads that issues them, and no tile larger than the arrays.
Pins come from the Plan of the default: every decision that weighed alternatives.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any

from tile_frontend.target_select import select
from tile_ir.diag import TileError
from tile_ir.expr import Const
from tile_ir.ops import Alloc, For, Gemm, Kernel, Parallel
from tile_ir.rewrite import declared, walk
from tile_tune.configuration import Configuration
from tile_tune.problem import compile_with, with_options
from tile_tune.space import Choice, Space

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tile_frontend.jit_function import JITImpl
    from tile_ir.core import Function
    from tile_ir.target import TargetSpec
    from tile_passes.plan.model import Plan

__all__ = ["derive", "pins_of"]

STAGES = (1, 2, 3, 4, 5, 6)
TILES_MOST = 6
"""Values of one tile size, around the default."""
REACH = 4
"""Tile sizes go from a REACH-th of the default to so many times of it."""


@dataclass(frozen=True, slots=True)
class _Shape:
    """What of a program a parameter may change."""

    products: tuple[tuple[int, int, int], ...]
    tiles: tuple[tuple[int, ...], ...]
    stages: tuple[int, ...]
    threads: tuple[int, ...]

    @classmethod
    def of(cls, fn: Function) -> _Shape:
        body = list(walk(fn.body))
        products = [_extents(s) for s in body if isinstance(s, Gemm)]
        boxes = [s.buffer.shape for s in body if isinstance(s, Alloc)]
        boxes += [s.extents for s in body if isinstance(s, Parallel)]
        return cls(
            products=tuple(products),
            tiles=tuple(tuple(_constant(e) for e in box) for box in boxes),
            stages=tuple(s.num_stages for s in body if isinstance(s, For)),
            threads=tuple(prod(s.threads) for s in body if isinstance(s, Kernel)),
        )


def derive(
    kernel: JITImpl,
    arguments: Mapping[str, Any],
    target: Any = None,
    pins: bool = False,
) -> Space:
    """The space of a kernel function for these arguments, its defaults first.

    Args:
        kernel: under `@tile.jit`; parameters with whole numbers as defaults are looked at.
        arguments: those that are not tuned, by name.
        target: as in `tile.jit`; None is the kernel's own.
        pins: whether the Plan's decisions with alternatives are axes too.

    Raises `TileError` E2202 when nothing of it can be tuned.
    """
    kernel = with_options(kernel, {}, target)
    spec = select(kernel.options.target).spec

    def shape(**changed: int) -> _Shape | None:
        try:
            return _Shape.of(kernel.get_tir(**{**arguments, **changed}).function)
        except (TileError, ArithmeticError, AssertionError):
            return None  # this value is none that the program takes

    default = kernel.get_tir(**arguments).function
    found = []
    for name, value in _knobs(kernel, arguments).items():
        values = _values(name, value, shape, default, spec)
        if len(values) > 1:
            found.append(Choice(name, (value, *(v for v in values if v != value))))
    if pins:
        made = compile_with(kernel, Configuration(), arguments)
        found += pins_of(made.plan)
    if not found:
        raise TileError(
            "E2202",
            f"nothing of {kernel.fn.__name__} can be tuned",
            notes=("no argument with a whole number as default changes tiles, stages or threads",),
            help="give block sizes as arguments with defaults, or pass configs=",
        )
    return Space(tuple(found))


def pins_of(plan: Plan) -> list[Choice]:
    """An axis for every decision of a Plan that weighed alternatives; None leaves it to the
    planner."""
    return [
        Choice(d.key, (None, *(c.value for c in d.candidates)), pin=True)
        for d in plan
        if d.by == "model" and len({c.value for c in d.candidates}) > 1
    ]


def _knobs(kernel: JITImpl, arguments: Mapping[str, Any]) -> dict[str, int]:
    """Parameters that have whole numbers as defaults and are not given."""
    parameters = inspect.signature(kernel.fn).parameters
    return {
        name: p.default
        for name, p in parameters.items()
        if name not in arguments and type(p.default) is int and p.default > 0
    }


def _values(
    name: str,
    value: int,
    shape: Callable[..., _Shape | None],
    default: Function,
    spec: TargetSpec,
) -> list[int]:
    """The values to try for one parameter; empty where it is nothing that is tuned."""
    before = _Shape.of(default)
    after = next((s for v in (2 * value, value // 2 or 1) if (s := shape(**{name: v}))), None)
    if after is None or after == before:
        return []
    if after.threads != before.threads:
        step = spec.warp_width * spec.group_warps
        return [n for n in _doubled(step, spec.max_threads) if n >= step]
    if after.stages != before.stages and after.tiles == before.tiles:
        return list(STAGES)
    if after.tiles == before.tiles and after.products == before.products:
        return []
    step = _step(before, after, default, spec)
    most = min(_largest_extent(default), REACH * value)
    sizes = [n for n in _doubled(step, most) if n * REACH >= min(value, most)]
    return sizes[-TILES_MOST:]


def _step(before: _Shape, after: _Shape, fn: Function, spec: TargetSpec) -> int:
    """The extent of a matrix instruction along the axis that a tile size sets; 1 without one."""
    axes = {
        axis
        for a, b in zip(before.products, after.products, strict=False)
        for axis in range(3)
        if a[axis] != b[axis]
    }
    steps = [1]
    buffers = declared(fn)
    for s in walk(fn.body):
        if isinstance(s, Gemm):
            kinds = (buffers[r.buffer].dtype.name for r in (s.a, s.b, s.c))
            atoms = spec.atoms(*kinds)
            if atoms:
                extents = (atoms[0].m, atoms[0].n_step or atoms[0].n, atoms[0].k)
                steps += [extents[axis] for axis in axes]
    return max(steps)


def _doubled(step: int, most: int) -> list[int]:
    found = [step]
    while found[-1] * 2 <= most:
        found.append(found[-1] * 2)
    return found


def _largest_extent(fn: Function) -> int:
    shapes = (p.buffer.shape for p in fn.params if p.buffer is not None)
    extents = [_constant(e) for shape in shapes for e in shape]
    return max((e for e in extents if e), default=1 << 30)


def _extents(s: Gemm) -> tuple[int, int, int]:
    m, n = (_constant(r.extent) for r in s.c.ranges[-2:])
    return m, n, _constant(s.a.ranges[-2 if s.transpose_a else -1].extent)


def _constant(e: object) -> int:
    """A constant extent; 0 for one that is known at run time only."""
    return int(e.value) if isinstance(e, Const) else 0
