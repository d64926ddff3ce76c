"""Matrix products by the target's instructions on registers.

Warps share the tile in a grid. Along k, each warp brings the operands of one step into registers as
the instruction wants them, and multiplies every pair of its rows and columns. The description's
operand layouts say all of that; nothing here knows an instruction.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tile_ir import build as b
from tile_ir.core import Range, Region
from tile_ir.expr import Const, Expr
from tile_ir.layout import Digit, FragmentLayout, coalesce_digits, convert_kind, parse_layout
from tile_ir.ops import Atom, For, Gemm
from tile_ir.types import i32
from tile_passes.lower.threads.addresses import ZERO, bits_of
from tile_passes.lower.threads.bits import bits_below
from tile_passes.lower.threads.context import declared
from tile_passes.lower.threads.moves import move
from tile_passes.lower.threads.pieces import Item, Items, Piece, assemble
from tile_passes.lower.threads.spread import ONE, over_box, relabel
from tile_passes.lower.threads.steps import StepOperands, Steps

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tile_ir.core import Buffer
    from tile_ir.opdef import Stmt
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
    """How an instruction of the target on registers does this product, None when none does: the
    fastest for which results in registers lie as they do, else the fastest; of equally fast ones,
    the one for which a first operand in registers lies as it does.

    Extents that the instruction does not divide are left to plain loops.
    """
    a, c, x = (buffers[r.buffer] for r in (s.a, s.b, s.c))
    if threads % target.warp_width or any(len(r.ranges) < 2 for r in (s.a, s.b, s.c)):
        return None
    extents = _extents(s)
    if extents is None:
        return None
    warps = threads // target.warp_width
    plans: list[MatrixTiling] = []
    for atom in target.atoms(a.dtype.name, c.dtype.name, x.dtype.name):
        if atom.engine != "sync" or atom.threads != target.warp_width or atom.sparse:
            continue
        if not all("register" in o.homes for o in (atom.a, atom.b, atom.accumulator)):
            continue
        plans += [
            _tiling(s, atom, extents, grid, warps, across_first=across_first)
            for grid in _grids(atom, extents, warps, s.policy)
            for across_first in (False, True)
        ]
    result, operand = (_chosen(buffer, threads) for buffer in (x, a))
    # Moving results to where a faster instruction has them, and back, costs more than it gains.
    found = [p for p in plans if p.accumulator == result] or plans
    fastest = [p for p in found if p.atom.rate == found[0].atom.rate]
    return max(fastest, key=lambda p: _has(operand, p.operand_a), default=None)


def _has(held: FragmentLayout | None, wanted: FragmentLayout) -> bool:
    """Whether every thread has what is wanted in registers of its own."""
    return held is not None and convert_kind(held, wanted) in ("identity", "rename")


def _chosen(buffer: Buffer, threads: int) -> FragmentLayout | None:
    return over_box(buffer.layout, threads) if buffer.scope == "fragment" else None


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
    """The product of whole tiles added to an accumulator that lies as the plan says."""
    before, a_name, whole_a = _registers_of_a(s, plan, cx)
    staged, in_memory = _memory_of_b(s, cx)

    def operands() -> StepOperands:
        return _step_operands(in_memory, plan, a_name, whole_a, cx)

    own, step = operands(), cx.names.var("kk")
    cx.bits[step] = bits_below(plan.steps)
    body = Piece((*assemble(own.load(step)), own.multiply(step)))
    loop = For(
        var=step,
        start=ZERO,
        stop=b.const(plan.steps, i32),
        step=ONE,
        kind="unroll",
        body=(),
        span=s.span,
    )
    steps = Steps(loop, (("body", (body,)),), count=plan.steps, own=own, operands=operands)
    return (*before, *staged, own.declared, steps)


def _step_operands(
    s: Gemm, plan: MatrixTiling, a_name: str, whole_a: bool, cx: ThreadContext
) -> StepOperands:
    """Registers for the operands of one step along k, less those of an a that is there already."""
    allocs: list[Stmt] = []
    brought: list[tuple[Region, Region, int]] = []
    b_axis = -1 if s.transpose_b else -2
    sides = [("b_r", s.b, plan.step_b, b_axis)]
    if not whole_a:
        sides.insert(0, ("a_r", s.a, plan.step_a, -2 if s.transpose_a else -1))
    for stem, region, layout, axis in sides:
        dtype = cx.buffers[region.buffer].dtype
        held, alloc = cx.fragment(stem, dtype, layout.output_shape, layout)
        allocs.append(alloc)
        brought.append((region, b.whole(held), axis))
    a_held = a_name if whole_a else brought[0][1].buffer

    def load(step: Expr) -> Items:
        out: list[Item] = []
        for region, held, axis in brought:
            part = _matrix_region(region, step, plan.atom.k, axis)
            out += move(part, held, cx, span=s.span)
        return tuple(out)

    def multiply(step: Expr) -> Stmt:
        at = b.mul(step, plan.step_a.values) if whole_a else ZERO
        return _multiply(s, plan, a_held, at, brought[-1][1].buffer, cx)

    return StepOperands(Piece(tuple(allocs)), load, multiply)


def _registers_of_a(s: Gemm, plan: MatrixTiling, cx: ThreadContext) -> tuple[Items, str, bool]:
    """What to do before all steps, the registers that hold a, and whether they hold all of it;
    a in memory is brought step by step."""
    buffer = cx.buffers[s.a.buffer]
    if buffer.scope != "fragment":
        return (), "", False
    if cx.layout(buffer) == plan.operand_a:
        return (), buffer.name, True
    held, alloc = cx.fragment("a_r", buffer.dtype, plan.operand_a.output_shape, plan.operand_a)
    before = (declared(alloc), *move(s.a, b.whole(held), cx, span=s.span))
    return before, held.name, True


def _memory_of_b(s: Gemm, cx: ThreadContext) -> tuple[Items, Gemm]:
    """What to do before all steps, and the product with b in memory: a step takes rows of b, and
    those of registers are in some threads only."""
    buffer = cx.buffers[s.b.buffer]
    if buffer.scope != "fragment":
        return (), s
    extents = [int(r.extent.value) for r in s.b.ranges]  # type: ignore[attr-defined]  # tiles are static
    stage, alloc = cx.shared(f"{buffer.name}_st", buffer.dtype, extents)
    full = b.whole(stage)
    return (declared(alloc), *move(s.b, full, cx, span=s.span)), replace(s, b=full)


def _multiply(
    s: Gemm,
    plan: MatrixTiling,
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

    row = _back_and_forth(i, j, plan.rows)
    number = b.add(row, b.mul(j, plan.rows))
    if plan.across_first:
        number = b.add(j, b.mul(row, plan.columns))
    c_at = b.mul(number, c_size)
    one = Atom(
        name=atom.name,
        a=part(a_name, b.add(a_at, b.mul(row, a_size)), a_size),
        b=part(b_name, b.mul(j, b_size), b_size),
        c=part(s.c.buffer, c_at, c_size),
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


def _back_and_forth(i: Expr, j: Expr, rows: int) -> Expr:
    """The i-th row of column j: down one column and up the next, so that two instructions in a row
    always have an operand in common. Reading its registers again costs time."""
    if rows < 2 or bits_of(rows) is None:
        return i
    return b.bit_xor(i, b.mul(b.bit_and(j, 1), rows - 1))
