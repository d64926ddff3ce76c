"""Layouts of shared tiles whose elements lanes load by themselves, for matrix instructions that
take operands from registers.

A lane's operand is a run of elements along k. Where a tile has them in a row, one access brings the
run; where k runs down the rows, as it does in a right-hand side, each element is an access of its
own. A tile that comes through registers can be turned on the way: its layout runs along k then, and
threads fetch small blocks instead of pieces of rows, so that they have runs along k to put down.

Layouts are compared by what their accesses cost: cycles of the banks and of issuing.
"""

from __future__ import annotations

from math import gcd, prod
from typing import TYPE_CHECKING

from tile_ir.diag import TileError
from tile_ir.expr import Const
from tile_ir.layout import (
    BankModel,
    Digit,
    FragmentLayout,
    Swizzle,
    TileLayout,
    access_cycles,
    coalesce_digits,
    compose,
    panels,
    row_major,
    vector_elements,
)
from tile_passes.plan.atoms import tiling
from tile_passes.plan.model import Candidate
from tile_passes.plan.plan_roles import GENERIC, STAGED, policy_of
from tile_passes.plan.staging import fetch_layout

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tile_ir.core import Buffer
    from tile_ir.layout import Layout
    from tile_ir.target import TargetSpec
    from tile_passes.base import PassContext
    from tile_passes.plan.model import Plan
    from tile_passes.plan.survey import Fill, Product, Survey

__all__ = ["by_lanes", "fast_axis", "held_layout", "run_first"]

_ACCESS_BYTES = 16
_REGISTER_BITS = 32
_ROW_BYTES = (256, 128, 64, 32)
"""Widths of rows whose pieces are exchanged; wider rows are cut into panels."""
_PIECE_BITS = (4, 3)
"""Pieces of 16 and of 8 bytes."""
_BANKS_BITS = 7
"""The banks begin anew every 128 bytes, or after the next power of two."""


def fast_axis(layout: TileLayout) -> int:
    """The axis along which neighbours lie side by side; the last one where none does."""
    steps = [axis.digits[0].stride if axis.digits else 0 for axis in layout.inputs]
    return steps.index(1) if 1 in steps else len(steps) - 1


def run_first(layout: FragmentLayout, axis: str) -> FragmentLayout:
    """The layout with the values that are neighbours along an axis counted first."""
    run = [d for d in layout.value if d.axis == axis and d.stride == 1]
    rest = [d for d in layout.value if d not in run]
    return FragmentLayout(
        thread=layout.thread, value=(*run, *rest), group=layout.group, outputs=layout.outputs
    )


def held_layout(fill: Fill, source: Buffer, tile: Layout, threads: int) -> FragmentLayout:
    """Who holds what of a tile on its way to a layout: pieces of rows, or blocks with runs down the
    rows where the layout runs that way.
    """
    if not isinstance(tile, TileLayout) or fast_axis(tile) == len(tile.inputs) - 1:
        return fetch_layout(fill, source, threads)
    (rows, columns), bits = tile.input_shape, fill.buffer.dtype.storage_bits
    each = max(prod(tile.input_shape) // threads, 1)
    run = gcd(rows, min(each, _run(tile, bits)))
    width = gcd(columns, min(each // run, _ACCESS_BYTES * 8 // source.dtype.storage_bits))
    across = gcd(threads, columns // width)
    down = gcd(threads // across, rows // run)
    thread = [Digit(across, "d1", width), Digit(down, "d0", run), Digit(threads // across // down)]
    value = [
        Digit(width, "d1", 1),
        Digit(run, "d0", 1),
        Digit(columns // width // across, "d1", width * across),
        Digit(rows // run // down, "d0", run * down),
    ]
    return FragmentLayout(
        thread=coalesce_digits(thread),
        value=tuple(d for d in value if d.extent > 1),
        outputs=("d0", "d1"),
    )


def _run(tile: TileLayout, bits: int) -> int:
    """Elements that one access finds side by side."""
    chunk = _ACCESS_BYTES if tile.swizzle is None else min(_ACCESS_BYTES, 1 << tile.swizzle.base)
    return max(chunk * 8 // bits, 1)


def by_lanes(
    buffer: Buffer,
    found: Survey,
    plan: Plan,
    cx: PassContext,
    kernel: str,
    buffers: Mapping[str, Buffer],
    threads: int,
) -> tuple[Candidate, ...]:
    """The layouts of a shared operand that lanes load, cheapest first; none where matrices are
    loaded by whole warps, by an engine, or where the memory has no banks.
    """
    scope = cx.target.scopes.get("shared")
    shape = tuple(int(n.value) if isinstance(n, Const) else 0 for n in buffer.shape)
    if cx.target.has("matrix_load") or scope is None or not scope.banks or len(shape) != 2:
        return ()
    reads = [
        r
        for p in found.products
        for r in _reads(p, buffer, found, plan, cx, kernel, buffers, threads)
    ]
    if not reads or not all(shape):
        return ()
    fills = [f for f in found.fills if f.buffer.name == buffer.name]
    engine = plan.value(f"{kernel}.{fills[0].name}.engine", "") if fills else ""
    model = BankModel(banks=scope.banks, bank_bytes=scope.bank_bytes)
    bits, out = buffer.dtype.storage_bits, list[Candidate]()
    for layout in _layouts((shape[0], shape[1]), bits, turned=engine == STAGED):
        cost = sum(_cost(layout, f, bits, cx.target, model) for f in reads)
        if engine == STAGED:
            source = buffers[fills[0].stmt.src.buffer]
            held = held_layout(fills[0], source, layout, threads)
            cost += _cost(layout, held, bits, cx.target, model) + _fetching(held, source, cx.target)
        out.append(Candidate(str(layout), cost, "cycles to fetch, put down and read it"))
    return tuple(sorted(out, key=lambda c: c.cost or 0.0))


def _layouts(shape: tuple[int, int], bits: int, *, turned: bool) -> Iterator[TileLayout]:
    """Rows in order, then panels of every width with exchanges in pieces of 16 and of 8 bytes;
    columns likewise where a tile may be turned."""
    yield row_major(shape)
    for axis in (1, 0) if turned else (1,):
        for row in _ROW_BYTES:
            width = row * 8 // bits
            if shape[axis] % width:
                continue
            bits_in_row = row.bit_length() - 1
            for base in _PIECE_BITS:
                exchange = Swizzle(bits_in_row - base, base, max(bits_in_row, _BANKS_BITS) - base)
                yield panels(shape, ("d0", "d1"), along=f"d{axis}", width=width, swizzle=exchange)


def _reads(
    product: Product,
    buffer: Buffer,
    found: Survey,
    plan: Plan,
    cx: PassContext,
    kernel: str,
    buffers: Mapping[str, Buffer],
    threads: int,
) -> Iterator[FragmentLayout]:
    """How a product's instructions take the buffer, as its axes are stored."""
    stmt = product.stmt
    atom = cx.target.matrix.get(str(plan.value(f"{kernel}.{product.name}.atom", GENERIC)))
    if atom is None or atom.engine != "sync":
        return
    split = tiling(atom, product.shape, threads, policy_of(product, found, buffers))
    if split is None:
        return
    if stmt.a.buffer == buffer.name:
        yield _stored(split.a(), ("k", "m") if stmt.transpose_a else ("m", "k"))
    if stmt.b.buffer == buffer.name:
        yield _stored(split.b(), ("n", "k") if stmt.transpose_b else ("k", "n"))


def _stored(layout: FragmentLayout, axes: tuple[str, str]) -> FragmentLayout:
    names = {axes[0]: "d0", axes[1]: "d1"}

    def moved(digits: tuple[Digit, ...]) -> tuple[Digit, ...]:
        return tuple(
            d if d.axis is None else Digit(d.extent, names[d.axis], d.stride) for d in digits
        )

    return FragmentLayout(
        thread=moved(layout.thread), value=moved(layout.value), outputs=("d0", "d1")
    )


def _fetching(held: FragmentLayout, source: Buffer, spec: TargetSpec) -> float:
    """Cycles of issuing the loads that bring a fragment from rows in global memory."""
    first = held.value[0] if held.value else Digit(1)
    run = first.extent if first.axis == held.outputs[-1] and first.stride == 1 else 1
    most = max(_ACCESS_BYTES * 8 // source.dtype.storage_bits, 1)
    return _issuing(held, gcd(run, most), spec)


def _issuing(held: FragmentLayout, vector: int, spec: TargetSpec) -> float:
    """Cycles of issuing accesses of so many elements for all of a fragment."""
    warps = max(1, prod(d.extent for d in held.thread) // spec.warp_width)
    return max(spec.rates.issue, 1) * warps * (held.values // vector)


def _cost(
    tile: TileLayout, held: FragmentLayout, bits: int, spec: TargetSpec, model: BankModel
) -> float:
    """Cycles of moving a fragment to or from a tile: of the banks, of issuing each access, and of
    packing elements that share a register where they do not lie in it as they are moved.
    """
    own, held = held, run_first(held, f"d{fast_axis(tile)}")
    try:
        access = compose(tile, held)
        vector = vector_elements(access, bits, _ACCESS_BYTES * 8 // bits)
        cycles = access_cycles(
            tile,
            held,
            element_bits=bits,
            vector=vector,
            warp_width=spec.warp_width,
            model=model,
        ).cycles
    except TileError:  # no digits say it: an access for each element
        cycles, vector = held.values, 1
    cost = cycles + _issuing(held, vector, spec)
    if bits < _REGISTER_BITS and (own.value != held.value or vector * bits < _REGISTER_BITS):
        cost += _issuing(held, max(min(vector, _REGISTER_BITS // bits), 1), spec)
    return cost
