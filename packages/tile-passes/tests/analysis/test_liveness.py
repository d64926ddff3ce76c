"""Live ranges and interference, and offsets that respect them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tile_ir.ops import For, Gemm, Tiles
from tile_ir.rewrite import declared, walk
from tile_ir.text import parse_function
from tile_passes.analysis.liveness import (
    Interval,
    carried,
    interference_graph,
    interferences,
    live_ranges,
)
from tile_passes.plan.plan_memory import place

TEXT = """tile.ir 1.0 tile
func @f(A: global f32[64], C: global f32[64]) {
  kernel @f {
    tiles (bx) in (1) {
      alloc a: shared f32[64]
      alloc b: shared f32[64]
      alloc c: shared f32[64]
      alloc s: fragment f32[64]
      copy A[:] -> a[:]
      copy a[:] -> s[:]
      fill c[:], 0.0
      for k in (0, 4, 1) serial {
        copy s[:] -> b[:]
        parallel (i) in (64) { store c[i] = c[i] + b[i] }
      }
      copy c[:] -> C[:]
    }
  }
}
"""
FN = parse_function(TEXT)
BODY = next(s.body for s in walk(FN.body) if isinstance(s, Tiles))


def test_ranges() -> None:
    found = live_ranges(BODY, declared(FN))
    assert found["a"] == Interval(4, 5)
    assert found["b"] == Interval(8, 10)
    assert found["c"] == Interval(6, 11)


def test_a_loop_carries_what_it_reads_before_it_writes() -> None:
    loop = next(s for s in BODY if isinstance(s, For))
    assert carried(loop, declared(FN)) == {"c", "s"}


AT_ONCE = """tile.ir 1.0 tile
func @f(A: global f32[64], C: global f32[64]) {
  kernel @f {
    tiles (bx) in (1) {
      alloc a: shared f32[64]
      alloc b: shared f32[64]
      copy A[:] -> a[:]
      parallel (i) in (64) {
        let v: f32 = a[63 - i]
        store b[i] = v
      }
      copy b[:] -> C[:]
    }
  }
}
"""


def test_iterations_of_a_parallel_loop_run_at_once() -> None:
    """One may store while another has not read yet, so what they touch lives together."""
    fn = parse_function(AT_ONCE)
    body = next(s.body for s in walk(fn.body) if isinstance(s, Tiles))
    found = live_ranges(body, declared(fn))
    assert (found["a"], found["b"]) == (Interval(2, 5), Interval(3, 6))
    assert interferences({n: found[n] for n in "ab"}) == (("a", "b"),)


IN_FLIGHT = """tile.ir 1.0 tile
func @f(A: global f16[64, 64], C: global f32[64, 64], D: global f32[64, 64]) {
  kernel @f {
    tiles (bx) in (1) {
      alloc a: shared f16[64, 64]
      alloc t: shared f32[64, 64]
      alloc c: fragment f32[64, 64]
      fill c[:, :], 0.0
      for k in (0, 4, 1) pipelined {
        fill t[:, :], 0.0
        copy t[:, :] -> D[:, :]
        copy A[:, :] -> a[:, :]
        gemm a[:, :], a[:, :] -> c[:, :]
      }
      fill t[:, :], 1.0
      copy t[:, :] -> D[:, :]
      copy c[:, :] -> C[:, :]
    }
  }
}
"""


def test_a_product_in_flight_reads_its_operands() -> None:
    """Over the edge of its loop, and up to what waits for it."""
    fn = parse_function(IN_FLIGHT)
    body = next(s.body for s in walk(fn.body) if isinstance(s, Tiles))
    product = next(s for s in walk(body) if isinstance(s, Gemm))
    alone = live_ranges(body, declared(fn))
    flying = live_ranges(body, declared(fn), issued={id(product)})
    assert (alone["a"], flying["a"]) == (Interval(7, 8), Interval(4, 10))
    assert flying["t"] == alone["t"] == Interval(5, 10)


def test_in_a_loop_whose_iterations_overlap_all_lives_meet() -> None:
    fn = parse_function(IN_FLIGHT)
    body = next(s.body for s in walk(fn.body) if isinstance(s, Tiles))
    loop = next(s for s in body if isinstance(s, For))
    assert live_ranges(body, declared(fn), mixed={id(loop)})["a"] == Interval(4, 8)


def test_interference() -> None:
    shared = {n: r for n, r in live_ranges(BODY, declared(FN)).items() if n in "abc"}
    assert interferences(shared) == (("b", "c"),)
    graph = interference_graph(shared)
    assert sorted(graph.nodes) == ["a", "b", "c"]
    assert [set(e) for e in graph.edges] == [{"b", "c"}]


def test_offsets_share_bytes_only_between_lives_that_do_not_meet() -> None:
    lives = {"a": Interval(0, 2), "b": Interval(3, 5), "c": Interval(2, 3)}
    assert place({"a": 64, "b": 64, "c": 64}, lives, 16) == {"a": 0, "b": 0, "c": 64}
    assert place({"a": 64, "b": 65, "c": 64}, {}, 16) == {"b": 0, "a": 80, "c": 144}


intervals = st.tuples(st.integers(0, 9), st.integers(0, 5)).map(lambda p: Interval(p[0], sum(p)))


@given(st.lists(st.tuples(intervals, st.integers(1, 200)), max_size=7))
def test_no_two_live_buffers_overlap(found: list[tuple[Interval, int]]) -> None:
    lives = {f"b{i}": life for i, (life, _) in enumerate(found)}
    sizes = {f"b{i}": size for i, (_, size) in enumerate(found)}
    offsets = place(sizes, lives, 16)
    assert all(at % 16 == 0 for at in offsets.values())
    for a, b in interferences(lives):
        assert offsets[a] + sizes[a] <= offsets[b] or offsets[b] + sizes[b] <= offsets[a]
