"""Matrix products by the target's instructions on registers.

Warps share the tile in a grid. Along k, each warp brings the operands of one step into registers as
the instruction wants them, and multiplies every pair of its rows and columns. The description's
operand layouts say all of that; nothing here knows an instruction.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tile_ir import build as b
from tile_ir.core import Range, Region
from tile_ir.expr import Const, Expr
from tile_ir.layout import Digit, FragmentLayout, coalesce_digits, parse_layout
from tile_ir.ops import Atom, For, Gemm
from tile_ir.types import i32
from tile_passes.lower.threads.addresses import ZERO
from tile_passes.lower.threads.context import declared
from tile_passes.lower.threads.moves import move
from tile_passes.lower.threads.pieces import Items, Nest, Piece, assemble
from tile_passes.lower.threads.spread import ONE, over_box, relabel

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tile_ir.core import Buffer
    from tile_ir.target import MatrixAtom, TargetSpec
    from tile_passes.lower.threads.context import ThreadContext

__all__ = ["MatrixTiling", "lower_product", "tiling"]


@dataclass(frozen=True, slots=True, kw_only=True)
class MatrixTiling:
    """How warps share a product: each has `rows` x `columns` instructions for each of `steps`.

    The accumulator's registers of one instruction after another go down the rows first, or with
    `across_first` along the columns. The layouts have the axes of the operands as they are stored
    (d0, d1); those of a and b are for one step along k, `operand_a` for all of them.
    """

    atom: MatrixAtom
    rows: int
    columns: int
    steps: int
    across_first: bool
    accumulator: FragmentLayout
    step_a: FragmentLayout
    step_b: FragmentLayout
    operand_a: FragmentLayout


def tiling(
    s: Gemm, buffers: Mapping[str, Buffer], target: TargetSpec, threads: int
) -> MatrixTiling | None:
    """How the target's fastest instruction on registers does this product, None when none does.

    Extents that the instruction does not divide are left to plain loops.
    """
    a, c, x = (buffers[r.buffer] for r in (s.a, s.b, s.c))
    if threads % target.warp_width or any(len(r.ranges) < 2 for r in (s.a, s.b, s.c)):
        return None
    extents = _extents(s)
    if extents is None:
        return None
    for atom in target.atoms(a.dtype.name, c.dtype.name, x.dtype.name):
        if atom.engine != "sync" or atom.threads != target.warp_width or atom.sparse:
            continue
        if not all("register" in o.homes for o in (atom.a, atom.b, atom.accumulator)):
            continue
        warps = threads // target.warp_width
        plans = [
            _tiling(s, atom, extents, grid, warps, across_first=across_first)
            for grid in _grids(atom, extents, warps, s.policy)
            for across_first in (False, True)
        ]
        chosen = over_box(x.layout, threads) if x.scope == "fragment" else None
        as_chosen = (p for p in plans if p.accumulator == chosen)
        if plans:
            return next(as_chosen, plans[0])
    return None


def _extents(s: Gemm) -> tuple[int, int, int] | None:
    m, n = (r.extent for r in s.c.ranges[-2:])
    k = s.a.ranges[-2 if s.transpose_a else -1].extent
    if not (isinstance(m, Const) and isinstance(n, Const) and isinstance(k, Const)):
        return None
    return int(m.value), int(n.value), int(k.value)


def _grids(
    atom: MatrixAtom, extents: tuple[int, int, int], warps: int, policy: str
) -> list[tuple[int, int]]:
    """Warps along m and n, best first: as many as divide the tile, then what the policy wants, then
    the least operand traffic."""
    m, n, k = extents
    if m % atom.m or n % atom.n or k % atom.k:
        return []

    def cost(grid: tuple[int, int]) -> tuple[int, int, int, int]:
        down, across = grid
        wish = {"full_row": across, "full_col": down}.get(policy, 0)
        return -down * across, wish, m // down + n // across, -down

    pairs = [
        (down, across)
        for down in range(1, warps + 1)
        for across in range(1, warps // down + 1)
        if not (warps % (down * across) or m % (atom.m * down) or n % (atom.n * across))
    ]
    return sorted(pairs, key=cost)


def _tiling(
    s: Gemm,
    atom: MatrixAtom,
    extents: tuple[int, int, int],
    grid: tuple[int, int],
    warps: int,
    *,
    across_first: bool,
) -> MatrixTiling:
    (m, n, k), (down, across) = extents, grid
    rows, columns = m // (atom.m * down), n // (atom.n * across)
    spare = warps // (down * across)
    # Warps: down m first, then across n, then copies.
    of_m = Digit(down, "m", atom.m), Digit(rows, "m", atom.m * down)
    of_n = Digit(across, "n", atom.n * columns), Digit(columns, "n", atom.n)
    idle = Digit(spare)
    steps = k // atom.k

    def made(
        operand: str, warp: list[Digit], value: list[Digit], axes: tuple[str, str]
    ) -> FragmentLayout:
        held = parse_layout(atom.layout(operand))  # type: ignore[arg-type]  # one of the three
        assert isinstance(held, FragmentLayout)  # the description's are
        whole = FragmentLayout(
            thread=coalesce_digits([*held.thread, *warp]),
            value=coalesce_digits([*held.value, *value]),
            outputs=axes,
        )
        return relabel(whole, {axes[0]: "d0", axes[1]: "d1"}, ("d0", "d1"))

    a_axes = ("k", "m") if s.transpose_a else ("m", "k")
    b_axes = ("n", "k") if s.transpose_b else ("k", "n")
    repeats = [of_n[1], of_m[1]] if across_first else [of_m[1], of_n[1]]
    a_warps = [of_m[0], Digit(across), idle]
    return MatrixTiling(
        atom=atom,
        rows=rows,
        columns=columns,
        steps=steps,
        across_first=across_first,
        accumulator=made("accumulator", [of_m[0], of_n[0], idle], repeats, ("m", "n")),
        step_a=made("a", a_warps, [of_m[1]], a_axes),
        step_b=made("b", [Digit(down), of_n[0], idle], [of_n[1]], b_axes),
        operand_a=made("a", a_warps, [of_m[1], Digit(steps, "k", atom.k)], a_axes),
    )


def _matrix_region(region: Region, step: Expr, size: int, axis: int) -> Region:
    """The part of an operand's region of one step along k, which is its axis `axis` (-1 or -2)."""
    ranges = list(region.ranges)
    old = ranges[axis]
    ranges[axis] = Range(b.add(old.start, b.mul(step, size)), b.const(size, i32))
    return Region(region.buffer, tuple(ranges), region.slot)


def lower_product(s: Gemm, plan: MatrixTiling, cx: ThreadContext) -> Items:
    """The product of whole tiles whose accumulator lies as the plan says."""
    atom = plan.atom
    step = cx.names.var("kk")
    before, a_name, a_at, load_a = _operand_a(s, plan, step, cx)
    layout = plan.step_b
    brought, alloc_b = cx.fragment("b_r", cx.buffers[s.b.buffer].dtype, _box(layout), layout)
    b_axis = -1 if s.transpose_b else -2
    load_b = move(_matrix_region(s.b, step, atom.k, b_axis), b.whole(brought), cx, span=s.span)
    multiply = _multiply(s, plan, step, a_name, a_at, brought.name, cx)
    loads = (*load_a, *load_b)
    body = Piece((*assemble(loads), multiply))
    loop = For(
        var=step,
        start=ZERO,
        stop=b.const(plan.steps, i32),
        step=ONE,
        kind="unroll",
        body=(),
        span=s.span,
    )
    return (*before, declared(alloc_b), Nest(loop, (("body", (body,)),)))


def _box(layout: FragmentLayout) -> tuple[int, ...]:
    return layout.output_shape


def _operand_a(
    s: Gemm, plan: MatrixTiling, step: Expr, cx: ThreadContext
) -> tuple[Items, str, Expr, Items]:
    """What to do before the loop, the registers that hold a, where those of this step begin, and
    what to do in each step."""
    buffer = cx.buffers[s.a.buffer]
    size = plan.step_a.values
    if buffer.scope != "fragment":
        held, alloc = cx.fragment("a_r", buffer.dtype, _box(plan.step_a), plan.step_a)
        axis = -2 if s.transpose_a else -1
        part = _matrix_region(s.a, step, plan.atom.k, axis)
        return (declared(alloc),), held.name, ZERO, move(part, b.whole(held), cx, span=s.span)
    at = b.mul(step, size)
    if cx.layout(buffer) == plan.operand_a:
        return (), buffer.name, at, ()
    held, alloc = cx.fragment("a_r", buffer.dtype, _box(plan.operand_a), plan.operand_a)
    return (declared(alloc), *move(s.a, b.whole(held), cx, span=s.span)), held.name, at, ()


def _multiply(
    s: Gemm,
    plan: MatrixTiling,
    step: Expr,
    a_name: str,
    a_at: Expr,
    b_name: str,
    cx: ThreadContext,
) -> For:
    """Every pair of this warp's rows and columns."""
    atom = plan.atom
    i, j = cx.names.var("i"), cx.names.var("j")
    a_size, b_size = plan.step_a.values // plan.rows, plan.step_b.values // plan.columns
    c_size = plan.accumulator.values // (plan.rows * plan.columns)

    def part(name: str, start: Expr, size: int) -> Region:
        return Region(name, (Range(start, b.const(size, i32)),))

    number = b.add(i, b.mul(j, plan.rows))
    if plan.across_first:
        number = b.add(j, b.mul(i, plan.columns))
    c_at = b.mul(number, c_size)
    init = None if s.init is None else b.land(s.init, b.eq(step, 0))
    one = Atom(
        name=atom.name,
        a=part(a_name, b.add(a_at, b.mul(i, a_size)), a_size),
        b=part(b_name, b.mul(j, b_size), b_size),
        c=part(s.c.buffer, c_at, c_size),
        init=None if init == b.const(False) else init,
        span=s.span,
    )
    inner = For(
        var=i,
        start=ZERO,
        stop=b.const(plan.rows, i32),
        step=ONE,
        kind="unroll",
        body=(one,),
        span=s.span,
    )
    return For(
        var=j,
        start=ZERO,
        stop=b.const(plan.columns, i32),
        step=ONE,
        kind="unroll",
        body=(inner,),
        span=s.span,
    )
