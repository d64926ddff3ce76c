"""Dependences of a loop body, with the values pinned on small examples."""

from __future__ import annotations

from typing import Any

from tile_ir.ops import For, Let
from tile_ir.rewrite import walk
from tile_ir.text import parse_function
from tile_passes.analysis.dependence import (
    Dependence,
    apart,
    dependence_graph,
    dependences,
    leaves_early,
)

TEXT = """tile.ir 1.0 tile
func @f(A: global f32[64, 8], C: global f32[64]) {{
  kernel @f {{
    tiles (bx) in (1) {{
      alloc x: fragment f32[8]
      alloc y: fragment f32[8]
      for k in (0, 8, 1) serial {{
{body}
      }}
      copy y[:] -> C[0 : +8]
    }}
  }}
}}
"""


def body_of(*lines: str) -> Any:
    fn = parse_function(TEXT.format(body="\n".join(lines)))
    return next(s.body for s in walk(fn.body) if isinstance(s, For))


def found(*lines: str, private: tuple[str, ...] = ()) -> set[tuple[int, int, int, str, str]]:
    made = dependences(body_of(*lines), private)
    return {(d.source, d.target, d.distance, d.kind, d.buffer) for d in made}


FILL, ADD = "copy A[k, :] -> x[:]", "parallel (i) in (8) { store y[i] = y[i] + x[i] }"


def test_a_buffer_written_then_read() -> None:
    got = found(FILL, ADD)
    assert (0, 1, 0, "flow", "x") in got
    assert (1, 0, 1, "anti", "x") in got
    assert (0, 0, 1, "output", "x") in got
    assert (1, 1, 1, "flow", "y") in got
    assert not any(kind == "anti" and distance == 0 for _, _, distance, kind, _ in got)


def test_private_buffers_carry_nothing() -> None:
    got = found(FILL, ADD, private=("x",))
    assert (0, 1, 0, "flow", "x") in got
    assert not any(buffer == "x" and distance for _, _, distance, _, buffer in got)


def test_regions_apart_by_constants_do_not_meet() -> None:
    got = found("fill x[0 : +4], 0.0", "fill x[4 : +4], 1.0", "fill x[3 : +2], 2.0")
    pairs = {(s, t) for s, t, distance, _, _ in got if distance == 0}
    assert pairs == {(0, 2), (1, 2)}


def test_scalars_depend_on_their_binding() -> None:
    got = found("let w: f32 = C[k]", "parallel (i) in (8) { store y[i] = w }")
    assert (0, 1, 0, "flow", "w") in got
    assert not any(buffer == "w" and distance for _, _, distance, _, buffer in got)


def test_what_the_host_sees_keeps_its_order() -> None:
    got = found('print "a", [k]', 'print "b", [k]')
    assert (0, 1, 0, "output", "<host>") in got
    assert (1, 0, 1, "output", "<host>") in got


def test_apart_needs_a_common_base() -> None:
    body = body_of(
        "copy x[:] -> C[k * 8 : +8]", "copy x[:] -> C[k * 8 + 8 : +8]", "copy x[:] -> C[0 : +8]"
    )
    a, b, c = (s.dst for s in body)
    assert apart(a, b)
    assert apart(b, a)
    assert not apart(a, a)
    assert not apart(a, c)


def test_the_graph_holds_the_same_edges() -> None:
    body = body_of(FILL, ADD)
    graph = dependence_graph(body)
    edges = {
        Dependence(s, t, d["distance"], d["kind"], d["buffer"])
        for s, t, d in graph.edges(data=True)
    }
    assert edges == set(dependences(body))
    assert sorted(graph.nodes) == [0, 1]


def test_loops_that_are_left_early() -> None:
    assert leaves_early(body_of("if k > 2 { break }", FILL))
    assert not leaves_early(body_of("let w: f32 = C[k]", FILL))
    assert isinstance(body_of("let w: f32 = C[k]", FILL)[0], Let)
