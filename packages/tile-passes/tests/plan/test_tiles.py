"""How blocks claim tiles and in which order, and that the order is a permutation."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tile_ir import build as b
from tile_ir.diag import TileError
from tile_ir.expr import Binary, Const, Expr, Var
from tile_ir.interp import run
from tile_ir.ops import Assume, Channel, Issue, Kernel, Let, Tiles
from tile_ir.rewrite import walk
from tile_ir.testing.specs import toy_spec
from tile_ir.text import parse_function, print_function
from tile_ir.types import i32
from tile_passes.base import PassContext, State
from tile_passes.default import device_pipeline
from tile_passes.expand.rasters import rastered
from tile_passes.lower.threads.lower_threads import lower_threads
from tile_passes.manager import run_pipeline
from tile_passes.plan.balance import PACE, Work, dealt, first_come, in_order, turned
from tile_passes.plan.plan_registers import splits
from tile_passes.plan.reuse import Traffic, wave_bytes
from tile_passes.protocol.check_protocol import verdicts


def tiles_of(*extents: int) -> Tiles:
    variables = tuple(Var(n, i32) for n in ("bx", "by", "bz")[: len(extents)])
    return Tiles(vars=variables, extents=tuple(b.const(e) for e in extents), body=())


def order(tiles: Tiles) -> list[tuple[int, ...]]:
    """The indices (bx, by, ...) in the order in which blocks take them."""
    sizes = [int(e.value) for e in tiles.extents if isinstance(e, Const)]
    out = []
    for at in product(*(range(n) for n in reversed(sizes))):
        named = {v.name: i for v, i in zip(tiles.vars, reversed(at), strict=True)}
        for stmt in tiles.body:
            if isinstance(stmt, Let):
                named[stmt.var.name] = number(stmt.value, named)
            else:
                assert isinstance(stmt, Assume)
                assert number(stmt.cond, named)
        out.append(tuple(named[n] for n in ("bx", "by", "bz") if n in named))
    return out


OPERATIONS = {
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "mul": lambda x, y: x * y,
    "floordiv": lambda x, y: x // y,
    "floormod": lambda x, y: x % y,
    "min": min,
    "lt": lambda x, y: x < y,
    "ge": lambda x, y: x >= y,
    "land": lambda x, y: x and y,
}


def number(e: Expr, env: dict[str, int]) -> int:
    if isinstance(e, Const):
        return int(e.value)
    if isinstance(e, Var):
        return env[e.name]
    assert isinstance(e, Binary)
    return int(OPERATIONS[e.op](number(e.a, env), number(e.b, env)))


@pytest.mark.parametrize("raster", ["row", "column"])
@pytest.mark.parametrize(("extents", "panel"), [((5, 7), 3), ((4, 4), 8), ((3, 5, 2), 2)])
@pytest.mark.parametrize("down", [(), ("bx",), ("by",)])
def test_every_tile_is_taken_once(
    raster: str, extents: tuple[int, ...], panel: int, down: tuple[str, ...]
) -> None:
    found = order(rastered(tiles_of(*extents), raster, panel, down))
    assert len(found) == len(set(found))
    assert set(found) == set(product(*(range(n) for n in extents)))


def test_rows_of_a_panel_are_neighbours() -> None:
    found = order(rastered(tiles_of(3, 5), "row", 2, ()))
    assert found[:4] == [(0, 0), (0, 1), (1, 0), (1, 1)]
    assert found[-3:] == [(0, 4), (1, 4), (2, 4)]
    assert order(rastered(tiles_of(3, 2), "none", 0, ("bx",)))[:3] == [(2, 0), (1, 0), (0, 0)]


def test_a_square_of_tiles_brings_less_than_a_row() -> None:
    big = Tiles(
        vars=(Var("bx", i32), Var("by", i32)),
        extents=(Var("nx", i32), Var("ny", i32)),
        body=(),
    )
    brought = (Traffic(16384, (False, True)), Traffic(32768, (True, False)))
    assert wave_bytes(brought, big, "none", 0, 128) == 128 * 32768 + 16384
    assert wave_bytes(brought, big, "row", 16, 128) == 8 * 32768 + 16 * 16384
    assert wave_bytes(brought, big, "column", 8, 128) == 8 * 32768 + 16 * 16384


def value(programs: Any, name: str, key: str, arch: str = "async") -> Any:
    return programs.planned(programs.tile(name), arch).plan.value(key, "?")


def test_a_producer_runs_ahead_into_the_next_tile(programs: Any) -> None:
    assert value(programs, "gemm", "matmul.tiles.claim") == "static"
    assert value(programs, "gemm", "matmul.tiles.claim", "sync") == "hardware"


def test_unequal_tiles_are_left_to_the_hardware_longest_first(programs: Any) -> None:
    assert value(programs, "attention", "attn.tiles.claim") == "hardware"
    assert value(programs, "attention", "attn.tiles.descending") == ("bm",)
    made = programs.planned(programs.tile("attention"), "async")
    assert "let bm = ceildiv(S, 64) - 1 - bm_up" in made.text


def test_an_axis_moves_behind_the_others() -> None:
    found = order(rastered(tiles_of(3, 2, 2), "none", 0, ("bx",), ("bx",)))
    assert found[:5] == [(2, 0, 0), (2, 1, 0), (2, 0, 1), (2, 1, 1), (1, 0, 0)]


@given(tiles=st.integers(1, 200), blocks=st.integers(1, 40))
@settings(derandomize=True, max_examples=60, deadline=None)
def test_turning_rounds_deal_every_tile_once(tiles: int, blocks: int) -> None:
    assert sorted(turned(n, tiles, blocks) for n in range(tiles)) == list(range(tiles))


def test_turning_rounds_even_out_what_grows() -> None:
    assert [turned(n, 10, 4) for n in range(10)] == [0, 1, 2, 3, 7, 6, 5, 4, 8, 9]
    work = Work(tuple(range(1, 33)), 64)
    heavy = in_order(work, slowest=True)
    assert heavy[:65] == [32] * 64 + [31]
    assert in_order(work, slowest=False)[:3] == [32, 31, 30]
    mean = sum(heavy) / 132
    assert dealt(heavy, 132, turning=True, start=0) < 1.01 * PACE * mean
    assert dealt(heavy, 132, turning=False, start=0) > 1.05 * mean
    assert mean <= first_come(heavy, 132, start=0) < 1.01 * mean


GROWING = """tile.ir 1.0 tile
func @f(A: global f16[2048, 64], B: global f16[2048, 64], C: global f16[@H, 2048, 64]) {
  kernel @f threads = (128) {
    tiles (bm, h) in (32, @H) {
      alloc A_s: shared f16[64, 64]
      alloc B_s: shared f16[64, 64]
      alloc C_l: fragment f32[64, 64]
      fill C_l[:, :], 0.0
      for k in (0, bm + 1, 1) pipelined num_stages = 2 {
        copy A[bm * 64 : +64, :] -> A_s[:, :]
        copy B[k * 64 : +64, :] -> B_s[:, :]
        gemm A_s[:, :], B_s[:, :] -> C_l[:, :]
      }
      copy C_l[:, :] -> C[h, bm * 64 : +64, :]
    }
  }
}
"""


def growing(heads: int, pins: Any = None) -> Any:
    cx = PassContext(target=toy_spec("async"), pins=pins or {})
    fn = parse_function(GROWING.replace("@H", str(heads)))
    return run_pipeline(device_pipeline(), State(function=fn), cx).state


def test_tiles_that_grow_are_dealt_heaviest_first_in_turning_rounds() -> None:
    """Where too few are drawn to make up for unequal paces."""
    state = growing(32)
    assert state.plan.value("f.tiles.claim", "") == "static"
    assert state.plan.value("f.tiles.slowest", ()) == ("bm",)
    loops = [s for s in walk(state.function.body) if isinstance(s, Tiles)]
    assert [(s.deal, s.vars[-1].name) for s in loops] == [("snake", "bm_up")] * 2
    costs: dict[str, list[float]] = {}
    for c in state.plan.find("f.tiles.claim").candidates:  # cheapest first
        costs.setdefault(c.value, []).append(c.cost)
    slow, fast = costs["static"]
    assert slow < costs["dynamic"][0] < fast < costs["hardware"][0]


def test_many_tiles_that_grow_are_drawn() -> None:
    state = growing(64)
    assert state.plan.value("f.tiles.claim", "") == "dynamic"
    costs = {c.value: c.cost for c in reversed(state.plan.find("f.tiles.claim").candidates)}
    assert costs["dynamic"] < costs["static"] < PACE * costs["dynamic"]


def test_few_tiles_that_grow_are_left_to_the_hardware() -> None:
    assert growing(4).plan.value("f.tiles.claim", "") == "hardware"


def test_registers_move_to_who_needs_them() -> None:
    spec = toy_spec("async")
    assert splits(spec, 256) == ((168, 168), (40, 232), (24, 240))
    assert splits(spec, 384) == ((128, 128), (40, 152), (32, 160))
    assert splits(spec, 128) == ((248, 248),)


PAIRED = """tile.ir 1.0 tile
func @paired(A: global f16[@M, K], B: global f16[K, 512], C: global f16[@M, 512]) dims (K) {
  kernel @paired threads = (128) {
    tiles (bx, by) in (8, @T) {
      alloc A_s: shared f16[64, 32]
      alloc B_s: shared f16[32, 64]
      alloc C_l: fragment f32[64, 64]
      fill C_l[:, :], 0.0
      for k in (0, ceildiv(K, 32), 1) pipelined num_stages = 3 {
        copy A[by * 64 : +64, k * 32 : +32] -> A_s[:, :] clip
        copy B[k * 32 : +32, bx * 64 : +64] -> B_s[:, :] clip
        gemm A_s[:, :], B_s[:, :] -> C_l[:, :]
      }
      copy C_l[:, :] -> C[by * 64 : +64, bx * 64 : +64]
    }
  }
}
"""


def paired(tiles: int, pins: Any) -> Any:
    text = PAIRED.replace("@T", str(tiles)).replace("@M", str(64 * tiles))
    cx = PassContext(target=toy_spec("async"), pins=pins)
    return run_pipeline(device_pipeline(), State(function=parse_function(text)), cx).state


def test_a_pair_of_blocks_brings_one_operand_together() -> None:
    pins = {"paired.tiles.raster": "row", "paired.tiles.panel": 4}
    state = paired(64, pins | {"paired.tiles.cluster": ("by", 2, "B_s")})
    (kernel,) = [s for s in walk(state.function.body) if isinstance(s, Kernel)]
    assert kernel.cluster == (2,)
    assert "// 2 * 2" in print_function(state.function)
    issues = [s for s in walk(kernel.body) if isinstance(s, Issue) and s.onto]
    assert [s.multicast for s in issues] == [1, 2]
    scopes = {s.name: s.scope for s in walk(kernel.body) if isinstance(s, Channel)}
    assert scopes == {"A_s_ring": "cluster", "C_stage_ring": "block"}
    (verdict,) = verdicts(state.function)
    assert verdict.kind == "proved"


@pytest.mark.parametrize("claim", ["static", "dynamic"])
def test_pairs_take_their_tiles_together(claim: str) -> None:
    pins = {"raster": "row", "panel": 2, "cluster": ("by", 2, "B_s"), "claim": claim}
    state = paired(6, {f"paired.tiles.{k}": v for k, v in pins.items()})
    (verdict,) = verdicts(state.function)
    assert verdict.kind == "proved", verdict.reason
    rng = np.random.default_rng(0)
    shapes = {"A": (384, 70), "B": (70, 512)}
    args = {n: rng.integers(-2, 3, s).astype(np.float16) for n, s in shapes.items()}
    want = args["A"].astype(np.float32) @ args["B"].astype(np.float32)
    args["C"] = np.zeros((384, 512), np.float16)
    target = toy_spec("async")
    low = lower_threads(state.function, target)
    for schedule in ("late", "issue"):
        for fn in (state.function, low):
            got = run(fn, args, schedule=schedule, workers=4, seed=1, target=target)["C"]  # type: ignore[arg-type]  # one of the two
            np.testing.assert_array_equal(got, want)


def test_a_pair_needs_an_even_number_of_neighbours() -> None:
    pins = {"paired.tiles.raster": "row", "paired.tiles.panel": 4}
    alone, other, odd = paired(63, pins).plan.find("paired.tiles.cluster").candidates
    assert (alone.value, alone.reason) == ((), "cycles of an iteration, each block for itself")
    assert other.value == ("bx", 2, "A_s")
    why = "63 tiles along by leave one without a partner"
    assert (odd.value, odd.cost, odd.reason) == (("by", 2, "B_s"), None, why)
    with pytest.raises(TileError) as caught:
        paired(63, pins | {"paired.tiles.cluster": ("by", 2, "B_s")})
    assert caught.value.code == "E0702"
    assert caught.value.notes == (why,)


BIG = """tile.ir 1.0 tile
func @big(A: global f16[@M, @K], B: global f16[@K, @N], C: global f16[@M, @N]) {
  kernel @big threads = (256) {
    tiles (bx, by) in (@N // @BN, @M // @BM) {
      alloc A_s: shared f16[@BM, 64]
      alloc B_s: shared f16[64, @BN]
      alloc C_l: fragment f32[@BM, @BN]
      fill C_l[:, :], 0.0
      for k in (0, @K // 64, 1) pipelined num_stages = 3 {
        copy A[by * @BM : +@BM, k * 64 : +64] -> A_s[:, :]
        copy B[k * 64 : +64, bx * @BN : +@BN] -> B_s[:, :]
        gemm A_s[:, :], B_s[:, :] -> C_l[:, :]
      }
      copy C_l[:, :] -> C[by * @BM : +@BM, bx * @BN : +@BN]
    }
  }
}
"""


def big(m: int, n: int, k: int, bm: int, bn: int, pins: Any = None) -> Any:
    numbers = {"@BM": bm, "@BN": bn, "@M": m, "@N": n, "@K": k}
    text = BIG
    for name, value in numbers.items():
        text = text.replace(name, str(value))
    text = text.replace(f"({n} // {bn}, {m} // {bm})", f"({n // bn}, {m // bm})")
    cx = PassContext(target=toy_spec("async"), pins=pins or {})
    fn = parse_function(text.replace(f"{k} // 64", str(k // 64)))
    return run_pipeline(device_pipeline(), State(function=fn), cx).state


@pytest.mark.parametrize(
    ("sizes", "cluster", "raster"),
    [
        ((8192, 8192, 8192, 128, 256), ("by", 2, "B_s"), "row"),
        ((8192, 8192, 8192, 256, 128), ("bx", 2, "A_s"), "column"),
        ((8192, 8192, 8192, 128, 128), (), "row"),  # waiting takes more of a short iteration
        ((2048, 2048, 2048, 128, 256), (), "none"),  # blocks meet too often for what they do
    ],
)
def test_pairs_are_formed_where_the_larger_operand_is_worth_it(
    sizes: Any, cluster: Any, raster: str
) -> None:
    plan = big(*sizes).plan
    assert plan.value("big.tiles.cluster", "?") == cluster
    assert plan.value("big.tiles.raster", "?") == raster
    made = plan.find("big.tiles.cluster").candidates
    assert [c.value for c in made] == [(), ("bx", 2, "A_s"), ("by", 2, "B_s")]
    assert all(c.reason for c in made)


def test_a_pair_that_the_planner_forms_is_proved() -> None:
    state = big(8192, 8192, 8192, 128, 256)
    (kernel,) = [s for s in walk(state.function.body) if isinstance(s, Kernel)]
    assert kernel.cluster == (2,)
    (verdict,) = verdicts(state.function)
    assert verdict.kind == "proved"


def test_the_smaller_operand_is_not_worth_it() -> None:
    made = big(2048, 2048, 2048, 128, 256).plan.find("big.tiles.cluster").candidates
    apart, smaller, larger = (c.cost for c in made)
    assert apart == pytest.approx(1024 + 0.04 * 49152 / 48)
    assert larger - apart == pytest.approx(10 - 0.04 * 16384 / 48 + 380 / 32)
    assert smaller - larger == pytest.approx(0.04 * 8192 / 48)
