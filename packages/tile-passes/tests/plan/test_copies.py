"""Copies of an iteration's tiles: where they are offered, what they cost, and equal results."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tile_ir.diag import TileError
from tile_ir.interp import run
from tile_ir.ops import Alloc, For, Issue, Settle
from tile_ir.rewrite import declared, walk
from tile_ir.testing.specs import toy_spec
from tile_ir.text import parse_function
from tile_passes.base import PassContext, State
from tile_passes.default import device_pipeline
from tile_passes.manager import run_pipeline
from tile_passes.plan.cost import product_cycles
from tile_passes.plan.keys import kernels, tiles_of
from tile_passes.plan.unroll_copies import even_trips, private_tiles
from tile_passes.protocol.check_protocol import verdicts
from tile_passes.registry import builtin

SCALED = """tile.ir 1.0 tile
func @scaled(A: global f16[M, @K], B: global f16[@K, 64], s: global f32[@T, M], C: global f32[M, 64]) dims (M) {
  kernel @scaled threads = (128) {
    tiles (by) in (ceildiv(M, 64)) {
      alloc A_s: shared f16[64, 32]
      alloc B_s: shared f16[32, 64]
      alloc f: fragment f32[64]
      alloc part: fragment f32[64, 64]
      alloc C_l: fragment f32[64, 64]
      fill C_l[:, :], 0.0
      for k in (0, @T, 1) pipelined num_stages = 4 {
        copy A[by * 64 : +64, k * 32 : +32] -> A_s[:, :] clip
        copy B[k * 32 : +32, 0 : +64] -> B_s[:, :] clip
        copy s[k : +1, by * 64 : +64] -> f[:] clip
        fill part[:, :], 0.0
        gemm A_s[:, :], B_s[:, :] -> part[:, :]
        parallel (i, j) in (64, 64) { store C_l[i, j] = C_l[i, j] + part[i, j] * f[i] }
      }
      copy C_l[:, :] -> C[by * 64 : +64, 0 : +64] clip
    }
  }
}
"""  # noqa: E501 -- a signature is one line
KEY = "scaled.k.copies"
TWO = {KEY: 2}


def text(trips: int = 6) -> str:
    return SCALED.replace("@K", str(32 * trips)).replace("@T", str(trips))


def made(source: str, pins: Any = None) -> tuple[Any, Any]:
    fn = parse_function(source)
    cx = PassContext(target=toy_spec("async"), pins=pins or {})
    return fn, run_pipeline(device_pipeline(), State(function=fn), cx).state


def arguments(trips: int) -> dict[str, Any]:
    rng = np.random.default_rng(trips)
    return {
        "A": rng.integers(-2, 3, (100, 32 * trips)).astype(np.float16),
        "B": rng.integers(-2, 3, (32 * trips, 64)).astype(np.float16),
        "s": rng.integers(-2, 3, (trips, 100)).astype(np.float32),
        "C": np.zeros((100, 64), np.float32),
    }


def equal(before: Any, after: Any, trips: int) -> None:
    args = arguments(trips)
    want = run(before, args)
    for schedule in ("late", "issue"):
        got = run(after, args, schedule=schedule)  # type: ignore[arg-type]  # one of the two
        np.testing.assert_array_equal(got["C"], want["C"])


@pytest.mark.parametrize("trips", [2, 4, 8])
def test_lagging_copies_compute_the_same(trips: int) -> None:
    fn, state = made(text(trips), TWO)
    assert state.plan.value("scaled.k.stage", ()) != ()
    equal(fn, state.function, trips)


def test_copies_are_made_where_every_product_is_waited_for() -> None:
    _, state = made(text())
    decision = state.plan.find(KEY)
    assert (decision.value, decision.by) == (2, "model")
    alone, paired = decision.candidates
    assert (alone.value, paired.value) == (1, 2)
    assert paired.cost < alone.cost
    assert paired.reason.endswith("a copy of A_s, B_s, f, part")
    names = {s.buffer.name for s in walk(state.function.body) if isinstance(s, Alloc)}
    assert {"part", "part_1"} <= names


@pytest.mark.parametrize(("slower", "value"), [(2, 2), (32, 1)])
def test_no_copies_where_two_groups_keep_the_matrix_engine_busy(slower: int, value: int) -> None:
    spec = toy_spec("async")
    matrix = {n: replace(atom, rate=atom.rate / slower) for n, atom in spec.matrix.items()}
    cx = PassContext(target=replace(spec, matrix=matrix))
    fn = parse_function(text().replace("threads = (128)", "threads = (256)"))
    decision = run_pipeline(device_pipeline(), State(function=fn), cx).state.plan.find(KEY)
    assert decision.value == value
    alone, paired = (c.cost for c in decision.candidates)
    assert alone >= product_cycles((64, 64, 32), matrix["m64nNk16_f16"], spec)
    assert (paired / alone < 0.99) == (value == 2)


def test_a_rate_counts_multiplications_and_additions() -> None:
    spec = toy_spec("async")
    atom = spec.matrix["m64nNk16_f16"]
    assert product_cycles((64, 128, 32), atom, spec) == 2 * 64 * 128 * 32 / atom.rate
    assert product_cycles((8, 8, 8), None, spec) == 1024 / spec.rates.vector_flops


def test_no_copies_where_a_product_lags_without_them(programs: Any) -> None:
    source = programs.source("attention").replace(
        "(0, ceildiv(min(S, (bm + 1) * 64), 64), 1)", "(0, 4, 1)"
    )
    _, state = made(source)
    (decision,) = (d for d in state.plan if d.key.endswith(".copies"))
    assert decision.value == 1
    assert [c.value for c in decision.candidates] == [1, 2]
    assert decision.reason.startswith("a product lags without copies")


@pytest.mark.parametrize("trips", [2, 6])
def test_scalars_of_an_iteration_are_its_own(trips: int) -> None:
    source = (
        text(trips)
        .replace("fill part[:, :], 0.0", "let w: f32 = s[k, 3]\n        fill part[:, :], 0.0")
        .replace("part[i, j] * f[i]", "part[i, j] * f[i] * w")
    )
    fn, state = made(source)
    assert state.plan.find(KEY).value == 2
    equal(fn, state.function, trips)


@pytest.mark.parametrize("pins", [TWO, {**TWO, "scaled.k.stage": ()}])
def test_copies_that_live_at_the_same_time_share_no_bytes(pins: Any) -> None:
    """The first copy is still read when the second one is filled, which the text hides."""
    doubled = "parallel (x, y) in (32, 64) { store B_s[x, y] = B_s[x, y] + B_s[x, y] }"
    source = text().replace("        fill part", f"        {doubled}\n        fill part")
    fn, state = made(source, pins)
    first, second = (state.plan.find(f"scaled.{n}.offset").value for n in ("B_s", "B_s_1"))
    assert abs(first - second) >= 32 * 64 * 2
    equal(fn, state.function, 6)


@pytest.mark.parametrize("trips", [4, 6])
def test_with_copies_two_products_are_issued_before_the_first_is_awaited(trips: int) -> None:
    fn, state = made(text(trips), {**TWO, "scaled.k.stage": ()})
    assert state.plan.find(KEY).by == "user"
    stmts = list(walk(state.function.body))
    products = (Issue, Settle)
    events = [s for s in stmts if isinstance(s, products) and getattr(s, "engine", "mma") == "mma"]
    assert "".join("w" if isinstance(s, Settle) else "g" for s in events) == "ggww" * (trips // 2)
    (verdict,) = verdicts(state.function)
    assert verdict.kind == "proved", verdict.reason
    equal(fn, state.function, trips)


@pytest.mark.parametrize(
    ("before", "after", "why"),
    [
        ("(0, 6, 1) pipelined", "(0, ceildiv(M, 64), 1) pipelined", "not known to be a multiple"),
        ("(0, 6, 1) pipelined", "(0, 5, 1) pipelined", "not known to be a multiple of 2"),
        (
            "alloc f:",
            "alloc big: fragment f32[64, 320]\n      alloc f:",
            "registers of a thread more",
        ),
    ],
)
def test_a_loop_that_cannot_have_copies_says_why(before: str, after: str, why: str) -> None:
    source = text()
    assert before in source
    source = source.replace(before, after)
    if "big" in after:
        source = source.replace("fill C_l", "fill big[:, :], 0.0\n      fill C_l")
        source = source.replace(
            "copy C_l", "copy big[:, 0 : +64] -> C[by * 64 : +64, :] clip\n      copy C_l"
        )
    _, state = made(source)
    assert why in state.plan.find(KEY).reason
    with pytest.raises(TileError) as caught:
        made(source, TWO)
    assert (caught.value.code, caught.value.help) == ("E0702", "possible: 1")


def test_an_accumulator_that_goes_on_is_not_looked_at() -> None:
    source = (
        text()
        .replace("        fill part[:, :], 0.0\n", "")
        .replace("      fill C_l", "      fill part[:, :], 0.0\n      fill C_l")
    )
    _, state = made(source)
    assert state.plan.find(KEY) is None


def tiles_copied(source: str) -> tuple[str, ...]:
    fn = parse_function(source)
    tiles = tiles_of(kernels(fn)[0])
    assert tiles is not None
    loop = next(s for s in tiles.body if isinstance(s, For))
    return private_tiles(tiles.body, loop, declared(fn))


def test_only_what_an_iteration_fills_anew_is_its_own() -> None:
    assert tiles_copied(text()) == ("A_s", "B_s", "f", "part")
    read_later = text().replace("copy C_l[:, :] -> C", "copy part[:, :] -> C")
    assert tiles_copied(read_later) == ("A_s", "B_s", "f")
    partly = text().replace("-> B_s[:, :] clip", "-> B_s[0 : +32, :] clip")
    assert "B_s" in tiles_copied(partly)
    half = text().replace(
        "B[k * 32 : +32, 0 : +64] -> B_s[:, :]", "B[k * 32 : +16, 0 : +64] -> B_s[0 : +16, :]"
    )
    assert tiles_copied(half) == ("A_s", "f", "part")
    read_first = text().replace(
        "        copy s[k",
        "        parallel (i) in (64) { store C_l[i, 0] = f[i] }\n        copy s[k",
    )
    assert tiles_copied(read_first) == ("A_s", "B_s", "part")


def test_trips_are_counted() -> None:
    (loop,) = (s for s in walk(parse_function(text(4)).body) if isinstance(s, For))
    assert even_trips(loop)
    (odd,) = (s for s in walk(parse_function(text(3)).body) if isinstance(s, For))
    assert not even_trips(odd)


def test_threads_compute_the_same_with_copies() -> None:
    fn, state = made(text(4), {**TWO, "scaled.k.stage": ()})
    cx = PassContext(target=toy_spec("async"))
    lowered = builtin("lower-threads")(state, cx).function
    args = arguments(4)
    want, got = run(fn, args), run(lowered, args, target=cx.target, workers=1)
    np.testing.assert_array_equal(got["C"], want["C"])
