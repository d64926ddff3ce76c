"""The first product of the next tile beside the last one of this tile."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tile_ir.interp import run
from tile_ir.ops import Group, Issue, Role, Settle, Tiles
from tile_ir.rewrite import walk
from tile_ir.testing.specs import toy_spec
from tile_ir.text import parse_function
from tile_passes.base import PassContext, State
from tile_passes.default import device_pipeline
from tile_passes.manager import run_pipeline
from tile_passes.plan import plan_crossing
from tile_passes.protocol.check_protocol import verdicts

CHAINED = """tile.ir 1.0 tile
func @f(Q: global f16[@R, 64], K: global f16[@K, 64], V: global f16[@K, 64], O: global f16[@R, 64]) {
  kernel @f threads = (@T) {
    tiles (bx) in (@N) {
      alloc q: shared f16[@M, 64]
      alloc t: shared f16[64, 64]
      alloc v: shared f16[64, 64]
      alloc x: fragment f32[@M, 64]
      alloc p: fragment f16[@M, 64]
      alloc o: fragment f32[@M, 64]
      copy Q[bx * @M : +@M, :] -> q[:, :]
      for k in (0, @S, 1) pipelined num_stages = 2 {
        copy K[k * 64 : +64, :] -> t[:, :]
        gemm q[:, :], t[:, :] -> x[:, :] transpose_b, init = true
        parallel (i, j) in (@M, 64) { store x[i, j] = exp2(x[i, j] * 0.0625 - 4.0) }
        copy x[:, :] -> p[:, :]
        copy V[k * 64 : +64, :] -> v[:, :]
        gemm p[:, :], v[:, :] -> o[:, :] init = k == 0
      }
      copy o[:, :] -> O[bx * @M : +@M, :]
    }
  }
}
"""  # noqa: E501 -- a signature is one line

STATIC = {"f.tiles.claim": "static"}
CLAIMS = ("static", "dynamic")


def chained(tiles: int, steps: int, threads: int = 128) -> Any:
    rows = threads // 2
    text = CHAINED.replace("@R", str(rows * tiles)).replace("@K", str(64 * steps))
    text = text.replace("@N", str(tiles)).replace("@S", str(steps))
    return parse_function(text.replace("@T", str(threads)).replace("@M", str(rows)))


def made(fn: Any, **pins: Any) -> Any:
    named = STATIC | {f"f.{k.replace('__', '.')}": v for k, v in pins.items()}
    cx = PassContext(target=toy_spec("async"), pins=named)
    return run_pipeline(device_pipeline(), State(function=fn), cx).state


def compute(state: Any) -> Role:
    return next(s for s in walk(state.function.body) if isinstance(s, Role) and not s.elect)


@pytest.mark.parametrize("claim", CLAIMS)
@pytest.mark.parametrize("home", ["register", "shared"])
def test_the_first_product_is_under_way_while_a_result_leaves(home: str, claim: str) -> None:
    pins = {"gemm:x__a_home": home, "tiles__claim": claim}
    state = made(chained(200, 4), tiles__cross=True, **pins)
    role = compute(state)
    (tiles,) = (s for s in role.body if isinstance(s, Tiles))
    assert sum(isinstance(s, Issue) for s in role.body) == 1
    order = [(type(s).__name__, s.token) for s in tiles.body if isinstance(s, (Group, Settle))]
    assert order[-4:] == [("Group", "t_o"), ("Group", "t_x"), ("Settle", "t_o"), ("Settle", "t_x")]
    (verdict,) = verdicts(state.function)
    assert verdict.kind == "proved", verdict.reason


@pytest.mark.parametrize("claim", CLAIMS)
@pytest.mark.parametrize("home", ["register", "shared"])
@pytest.mark.parametrize(("tiles", "steps"), [(1, 2), (2, 1), (3, 3), (5, 2)])
def test_results_stay(home: str, tiles: int, steps: int, claim: str) -> None:
    fn = chained(tiles, steps)
    rng = np.random.default_rng(tiles)
    shapes = {"Q": tiles * 64, "K": steps * 64, "V": steps * 64}
    args = {n: rng.integers(-2, 3, (rows, 64)).astype(np.float16) for n, rows in shapes.items()}
    args["O"] = np.zeros((tiles * 64, 64), np.float16)
    want = run(fn, args)["O"]
    pins = {"gemm:x__a_home": home, "tiles__claim": claim}
    state = made(fn, tiles__cross=True, **pins)
    for workers in (1, 2):
        for schedule in ("late", "issue"):
            got = run(state.function, args, schedule=schedule, workers=workers)["O"]  # type: ignore[arg-type]  # one of the two
            np.testing.assert_allclose(got, want, rtol=2e-3, atol=2e-3)


@pytest.mark.parametrize(("gain", "crossed"), [(0.005, True), (0.9, False)])
def test_crossing_is_for_loops_that_overlap_helps(
    gain: float, crossed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plan_crossing, "LEAST_GAIN", gain)
    assert made(chained(200, 4)).plan.value("f.tiles.cross", not crossed) is crossed


def test_long_tiles_are_left_alone() -> None:
    assert made(chained(200, 64)).plan.value("f.tiles.cross", True) is False
