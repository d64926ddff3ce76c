"""What one thread's program looks like: addresses, vectors, barriers, arena, layouts, size."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tile_ir import build as b
from tile_ir.core import Buffer
from tile_ir.expr import Const
from tile_ir.expr import walk as expressions
from tile_ir.layout import panels, parse_layout, row_major
from tile_ir.layout.swizzle import Swizzle
from tile_ir.ops import Alloc, Sync
from tile_ir.rewrite import stmt_exprs, walk
from tile_ir.testing.corpus.attention import attention_text
from tile_ir.testing.corpus.matmul import gemm_text
from tile_ir.text import print_function
from tile_ir.types import f16, f32
from tile_passes.lower.threads.addresses import digit, flat_offset, flattened

if TYPE_CHECKING:
    from tile_ir.core import Function


def shared(shape: tuple[int, ...], layout: Any, dtype: Any = f16) -> Buffer:
    extents = tuple(b.const(n) for n in shape)
    return Buffer(name="s", dtype=dtype, shape=extents, scope="shared", layout=layout)


LAYOUTS = {
    "row major": row_major((16, 64)),
    "padded": row_major((16, 64), pad=8),
    "swizzled": parse_layout("m (16:64) k (64:1) swizzle<3,4,3>"),
    "panels": panels((16, 64), ("k", "n"), along="n", width=32, swizzle=Swizzle(2, 4, 3)),
    "odd": parse_layout("m (3:1, 6:192) k (64:3)"),
}


@pytest.mark.parametrize("name", list(LAYOUTS))
@given(m=st.integers(0, 15), k=st.integers(0, 63))
@settings(max_examples=60, deadline=None, derandomize=True)
def test_flat_offset_is_the_layouts(name: str, m: int, k: int) -> None:
    buffer = shared((16, 64), LAYOUTS[name])
    found = flat_offset(buffer, (b.const(m), b.const(k)))
    assert isinstance(found, Const)
    assert found.value == LAYOUTS[name].offset((m, k), 16)


def test_a_shared_tile_becomes_as_long_as_its_layout_reaches() -> None:
    assert flattened(shared((16, 64), LAYOUTS["padded"])).shape == (b.const(15 * 72 + 64),)


@given(x=st.integers(0, 10_000), place=st.integers(1, 40), extent=st.integers(1, 40))
@settings(max_examples=200, deadline=None, derandomize=True)
def test_a_digit_by_shifts_is_the_digit_by_division(x: int, place: int, extent: int) -> None:
    found = digit(b.const(x), place, extent)
    assert isinstance(found, Const)
    assert found.value == x // place % extent


COPY = """func @copy(A: global {t}[M, {row}], B: global {t}[M, {row}]) dims (M) {{
  kernel @copy threads = (32) {{
    tiles (y) in (ceildiv(M, 8)) {{
      alloc s: shared {t}[8, {row}]
      copy A[y * 8 : +8, :] -> s[:, :] clip
      copy s[:, :] -> B[y * 8 : +8, :] clip
    }}
  }}
}}"""


@pytest.mark.parametrize(
    ("t", "row", "lanes"),
    [("f16", 64, 8), ("f32", 64, 4), ("f16", 36, 4), ("f32", 33, 1), ("i8", 64, 16)],
)
def test_an_access_is_as_wide_as_rows_allow(threads: Any, t: str, row: int, lanes: int) -> None:
    text = print_function(threads.lowered(COPY.format(t=t, row=row)))
    wide = f", 1, {lanes})" in text
    assert wide if lanes > 1 else "ramp" not in text


SYMBOLIC = """func @copy(A: global f16[M, K], B: global f16[M, K]) dims (M, K) {{
  {fact}
  kernel @copy threads = (32) {{
    tiles (x, y) in (ceildiv(K, 64), ceildiv(M, 8)) {{
      alloc s: shared f16[8, 64]
      copy A[y * 8 : +8, x * 64 : +64] -> s[:, :] clip
      copy s[:, :] -> B[y * 8 : +8, x * 64 : +64] clip
    }}
  }}
}}"""


@pytest.mark.parametrize(("fact", "lanes"), [("assume K % 8 == 0", 8), ("assume K % 2 == 0", 2)])
def test_a_promise_about_rows_makes_accesses_wide(threads: Any, fact: str, lanes: int) -> None:
    text = print_function(threads.lowered(SYMBOLIC.format(fact=fact)))
    assert text.count(f", 1, {lanes})") == 4


def test_without_a_promise_accesses_are_single(threads: Any) -> None:
    assert "ramp" not in print_function(threads.lowered(SYMBOLIC.format(fact="")))


def syncs(fn: Function) -> int:
    return sum(isinstance(s, Sync) for s in walk(fn.body))


def test_a_product_has_two_barriers_in_its_loop_and_none_else(threads: Any) -> None:
    assert syncs(threads.lowered(gemm_text())) == 2


def test_a_barrier_that_only_the_first_trip_needs_stands_before_the_loop(threads: Any) -> None:
    text = print_function(
        threads.lowered("""func @f(A: global f32[64], B: global f32[64]) {
  kernel @f threads = (64) {
    tiles (x) in (1) {
      alloc s: shared f32[64]
      alloc t: fragment f32[64]
      copy A[:] -> s[:]
      for r in (0, 8, 1) serial { parallel (i) in (64) { store t[i] = t[i] + s[63 - i] } }
      copy t[:] -> B[:]
    }
  }
}""")
    )
    before, _, inside = text.partition("for r in")
    assert "sync block" in before
    assert "sync block" not in inside


OWN = """func @f(A: global f32[64], B: global f32[64]) {{
  kernel @f threads = (64) {{
    tiles (x) in (1) {{
      alloc s: shared f32[64]
      parallel (i) in (64) {{ store s[i] = A[i] }}
      for r in (0, 8, 1) serial {{ parallel (i) in (64) {{ store s[i] = s[{read}] * 2.0 }} }}
      parallel (i) in (64) {{ store B[i] = s[i] }}
    }}
  }}
}}"""


@pytest.mark.parametrize(("read", "barriers"), [("i", 0), ("i ^ 0 + r", 2)])
def test_a_thread_that_meets_only_itself_needs_no_barrier(
    threads: Any, read: str, barriers: int
) -> None:
    assert syncs(threads.lowered(OWN.format(read=read))) == barriers


def test_registers_need_no_barrier(threads: Any) -> None:
    fn = threads.lowered("""func @f(A: global f32[64], B: global f32[64]) {
  kernel @f threads = (64) {
    tiles (x) in (1) {
      alloc r: fragment f32[64]
      copy A[:] -> r[:]
      parallel (i) in (64) { store r[i] = r[i] * 2.0 }
      copy r[:] -> B[:]
    }
  }
}""")
    assert syncs(fn) == 0
    assert "alloc r: local f32[1]" in print_function(fn)


def test_dead_tiles_give_their_bytes_back(threads: Any) -> None:
    fn = threads.lowered("""func @f(A: global f32[64], B: global f32[64]) {
  kernel @f threads = (64) {
    tiles (x) in (1) {
      alloc a: shared f32[64]
      alloc c: shared f32[64]
      alloc d: shared f32[64]
      copy A[:] -> a[:]
      parallel (i) in (64) { store c[i] = a[63 - i] }
      parallel (i) in (64) { store d[i] = c[63 - i] }
      copy d[:] -> B[:]
    }
  }
}""")
    offsets = {s.buffer.name: s.buffer.offset for s in walk(fn.body) if isinstance(s, Alloc)}
    assert offsets == {"a": 0, "c": 256, "d": 0}


def test_a_view_keeps_its_fragment_in_shared_memory(threads: Any) -> None:
    text = print_function(
        threads.lowered("""func @f(A: global f32[8, 8], B: global f32[64]) {
  kernel @f threads = (32) {
    tiles (x) in (1) {
      alloc r: fragment f32[8, 8]
      copy A[:, :] -> r[:, :]
      view flat: fragment f32[64] of r
      copy flat[:] -> B[:]
    }
  }
}""")
    )
    assert "alloc r: shared f32[64]" in text


ROWS = """func @rows(A: global f32[8, 256], B: global f32[8]) {
  kernel @rows threads = (128) {
    tiles (x) in (1) {
      alloc a: fragment f32[8, 256]
      alloc t: fragment f32[8]
      copy A[:, :] -> a[:, :]
      reduce sum a[:, :] -> t[:] dim = 1
      copy t[:] -> B[:]
    }
  }
}"""


def test_lanes_meet_by_exchange_and_warps_through_shared_memory(threads: Any) -> None:
    fn = threads.lowered(ROWS)
    text = print_function(fn)
    masks = [16, 8, 4, 2, 1]
    assert sorted(int(m) for m in text_masks(text)) == sorted(masks)
    assert "alloc partial: shared f32[" in text
    assert syncs(fn) == 1


def text_masks(text: str) -> list[str]:
    return [part.split(", ")[1].split(")")[0] for part in text.split("shuffle_xor(")[1:]]


def nodes(fn: Function) -> int:
    """Statements and expression nodes, every occurrence in a statement counted once."""
    stmts = list(walk(fn.body))
    return len(stmts) + sum(len(expressions(e)) for s in stmts for e in stmt_exprs(s))


@pytest.mark.parametrize("arch", ["sync", "async"])
def test_the_size_of_a_program_does_not_grow_with_its_tiles(threads: Any, arch: str) -> None:
    sizes = {
        nodes(threads.lowered(gemm_text(tile=tile), arch))
        for tile in ((64, 64, 32), (128, 128, 32), (256, 128, 64))
    }
    assert max(sizes) <= 1200
    assert max(sizes) <= 1.1 * min(sizes)


def test_attention_keeps_weights_in_registers(threads: Any) -> None:
    fn = threads.lowered(attention_text(causal=True).replace("threads = (64)", "threads = (32)"))
    shared_tiles = {
        s.buffer.name for s in walk(fn.body) if isinstance(s, Alloc) and s.buffer.scope == "shared"
    }
    assert {"Q_s", "K_s", "V_s"} <= shared_tiles
    assert nodes(fn) <= 1200


@pytest.mark.parametrize(
    ("transpose_a", "transpose_b", "a_turned", "b_turned"),
    [(False, False, False, True), (True, True, True, False), (False, True, False, False)],
)
def test_warps_load_operands_together(
    threads: Any, transpose_a: bool, transpose_b: bool, a_turned: bool, b_turned: bool
) -> None:
    text = gemm_text(tile=(64, 64, 32), transpose_a=transpose_a, transpose_b=transpose_b)
    found = print_function(threads.lowered(text)).splitlines()
    loads = [line.strip() for line in found if "matrix_load" in line]
    assert [" -> a_r" in line for line in loads] == [True, False]
    assert [line.endswith("transpose") for line in loads] == [a_turned, b_turned]
    assert all(": +8] -> " in line for line in loads)


def test_other_types_are_loaded_lane_by_lane(threads: Any) -> None:
    text = gemm_text(dtype="i8", out="i32", accumulator="i32", tile=(64, 64, 32))
    found = print_function(threads.lowered(text))
    assert "atom m16n8k32_i8" in found
    assert "matrix_load" not in found


MISFIT = """func @f(A: global f32[16, 16], B: global f32[16, 16]) {
  kernel @f threads = (32) {
    tiles (x) in (1) {
      alloc a: fragment f32[16, 16] layout [thread (16:d0*1, 2:d1*1) value (8:d1*2) -> (d0, d1)]
      alloc c: fragment f32[16, 16] layout [thread (16:d1*1, 2:d0*1) value (8:d0*2)]
      copy A[:, :] -> a[:, :]
      parallel (i, j) in (16, 16) { store c[i, j] = a[i, j] + 1.0 }
      copy c[:, :] -> B[:, :]
    }
  }
}"""


def test_layouts_that_disagree_meet_in_shared_memory(threads: Any) -> None:
    text = print_function(threads.lowered(MISFIT))
    assert "alloc a_st: shared f32[256]" in text


def test_a_channel_has_to_be_gone(threads: Any) -> None:
    from tile_ir.diag import InternalError
    from tile_ir.testing.specs import toy_spec
    from tile_ir.text import parse_function
    from tile_passes.lower.threads.lower_threads import lower_threads

    fn = parse_function("""func @f(A: global f16[64]) stage scheduled {
  kernel @f threads = (32) {
    tiles (x) in (1) {
      alloc s: shared f16[64]
      issue copy { copy A[:] -> s[:] }
      group copy -> t
      settle t
    }
  }
}""")
    with pytest.raises(InternalError, match="issue"):
        lower_threads(fn, toy_spec("sync"))


def test_shared_buffers_of_other_types_have_their_own_runs() -> None:
    assert flat_offset(shared((4, 4), None, f32), (b.const(1), b.const(2))) == b.const(6)
