"""Layouts of shared operands that lanes load by themselves: conflict-free, and turned where k runs
down the rows; the blocks that threads fetch for them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tile_ir.core import Buffer
from tile_ir.layout import FragmentLayout, TileLayout, parse_layout, row_major
from tile_ir.ops import Copy
from tile_ir.rewrite import declared
from tile_ir.testing.specs import toy_spec
from tile_ir.text import parse_function
from tile_ir.types import dtype
from tile_passes.plan.lanes import fast_axis, held_layout, run_first
from tile_passes.plan.staging import StagedLoad, staged_depths
from tile_passes.plan.survey import survey


def fill_of(kind: str, source: str, rows: int, columns: int) -> tuple[Any, Buffer]:
    """A staged copy into a tile, and its source."""
    fn = parse_function(
        f"""tile.ir 1.0 tile
        func @f(A: global {source}[{rows}, {columns}], C: global f32[1]) {{
          kernel @f threads = (128) {{
            tiles (bx) in (1) {{
              alloc s: shared {kind}[{rows}, {columns}]
              alloc x: fragment f32[1]
              for k in (0, 4, 1) pipelined num_stages = 2 {{
                copy A[:, :] -> s[:, :]
                parallel (i) in (1) {{ store x[i] = f32(s[i, i]) }}
              }}
            }}
          }}
        }}"""
    )
    buffers = declared(fn)
    (fill,) = survey(fn.body[0].body[0].body, buffers, toy_spec("plain")).fills  # type: ignore[attr-defined]
    assert isinstance(fill.stmt, Copy)
    return fill, buffers["A"]


def elements(layout: FragmentLayout) -> list[tuple[int, ...]]:
    """What all threads hold, thread after thread."""
    return [layout.evaluate((t, v)) for t in range(layout.threads) for v in range(layout.values)]


@pytest.mark.parametrize(
    ("text", "axis"),
    [
        ("d0 (128:32) d1 (32:1) swizzle<2,4,3>", 1),
        ("d0 (32:1) d1 (128:32)", 0),
        ("d0 (16:1, 2:2048) d1 (128:16)", 0),
        ("d0 (8:2) d1 (4:16)", 1),
    ],
)
def test_the_axis_whose_neighbours_lie_side_by_side(text: str, axis: int) -> None:
    layout = parse_layout(text)
    assert isinstance(layout, TileLayout)
    assert fast_axis(layout) == axis


def test_runs_are_counted_first() -> None:
    layout = parse_layout("thread (64:d1*2, 4:d0*8) value (2:d1*1, 8:d0*1)")
    assert isinstance(layout, FragmentLayout)
    assert str(run_first(layout, "d0")) == "thread (64:d1*2, 4:d0*8) value (8:d0*1, 2:d1*1)"
    assert run_first(layout, "d1") == layout


def test_blocks_of_a_turned_tile() -> None:
    fill, source = fill_of("f16", "f16", 32, 128)
    turned = parse_layout("d0 (32:1) d1 (128:32) swizzle<3,3,4>")
    found = held_layout(fill, source, turned, 256)
    assert str(found) == "thread (32:d1*4, 8:d0*4) value (4:d1*1, 4:d0*1)"
    wide = parse_layout("d0 (32:1) d1 (128:32) swizzle<2,4,3>")
    found = held_layout(fill, source, wide, 256)
    assert str(found) == "thread (64:d1*2, 4:d0*8) value (2:d1*1, 8:d0*1)"
    rows = held_layout(fill, source, row_major((32, 128)), 256)
    assert str(rows) == "thread (16:d1*8, 16:d0*1) value (8:d1*1, 2:d0*16)"


@given(
    kind=st.sampled_from(["f16", "i8", "f32"]),
    source=st.sampled_from(["f16", "i8", "f32"]),
    rows=st.sampled_from([8, 16, 24, 32, 64]),
    columns=st.sampled_from([8, 16, 40, 64, 128]),
    threads=st.sampled_from([64, 128, 256]),
)
@settings(max_examples=40, deadline=None, derandomize=True)
def test_every_element_is_fetched(
    kind: str, source: str, rows: int, columns: int, threads: int
) -> None:
    fill, buffer = fill_of(kind, source, rows, columns)
    turned = parse_layout(f"d0 ({rows}:1) d1 ({columns}:{rows})")
    found = held_layout(fill, buffer, turned, threads)
    assert found.threads == threads
    assert set(elements(found)) == {(r, c) for r in range(rows) for c in range(columns)}


@pytest.mark.parametrize(
    ("transpose", "layout"),
    [
        ("", "d0 (32:1) d1 (64:32) swizzle<3,3,4>"),
        (" transpose_b", "d0 (64:32) d1 (32:1) swizzle<3,3,4>"),
    ],
)
def test_runs_of_operands_are_read_without_conflicts(
    programs: Any, transpose: str, layout: str
) -> None:
    text = programs.source("gemm", stages=2)
    if transpose:
        text = text.replace("B_s: shared f16[32, 64]", "B_s: shared f16[64, 32]")
        text = text.replace(
            "copy B[k * 32 : +32, bx * 64 : +64]", "copy B[bx * 64 : +64, k * 32 : +32]"
        )
        text = text.replace("B: global f16[K, N]", "B: global f16[N, K]")
        text = text.replace("-> C_l[:, :]\n      }", f"-> C_l[:, :]{transpose}\n      }}")
    plan = programs.planned(parse_function(text), "plain").plan
    decision = next(d for d in plan if d.key == "matmul.B_s.layout")
    assert decision.value == layout
    costs = {c.value: c.cost for c in decision.candidates}
    assert costs[layout] == min(costs.values())
    plain = "d0 (32:64) d1 (64:1)" if not transpose else "d0 (64:32) d1 (32:1)"
    assert costs[plain] > 1.2 * costs[layout]


def test_warps_that_load_matrices_keep_rows_of_128_bytes(programs: Any) -> None:
    plan = programs.planned(programs.tile("gemm", stages=2), "sync").plan
    assert plan.value("matmul.B_s.layout", "") == "d0 (32:64) d1 (64:1) swizzle<3,4,3>"


def loads(cycles: float, registers: int = 64) -> StagedLoad:
    return StagedLoad(carried=("s",), cycles=cycles, threads=256, registers=registers)


@pytest.mark.parametrize(
    ("kilobytes", "cycles", "depths"),
    [
        (8, 500.0, [2, 1]),  # several blocks either way
        (24, 500.0, [1, 2]),  # two blocks hide more than a second slot
        (40, 500.0, [1]),  # a second slot does not fit
        (80, 500.0, []),
    ],
)
def test_slots_are_weighed_against_blocks(kilobytes: int, cycles: float, depths: list[int]) -> None:
    from tile_ir import build as b

    s = Buffer(
        name="s",
        dtype=dtype("i8"),
        shape=(b.const(1024), b.const(kilobytes)),
        scope="shared",
    )
    found = staged_depths(loads(cycles), {"s": s}, {}, toy_spec("plain"))
    assert [x.depth for x in found] == depths
