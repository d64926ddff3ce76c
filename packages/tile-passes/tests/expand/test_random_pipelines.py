"""Random pipelined loops: whatever the statements, depths and stages, the expanded program gives
the same values and its protocol is proved."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from tile_ir.diag import TileError
from tile_ir.interp import run
from tile_ir.text import parse_function
from tile_passes.protocol.check_protocol import verdicts

HEAD = """tile.ir 1.0 tile
func @r(A: global f16[K, 64], B: global f16[K, 64], C: global f32[64, 64]) dims (K) {
  kernel @r threads = (128) {
    tiles (bx) in (1) {
      alloc a: shared f16[64, 64]
      alloc b: shared f16[64, 64]
      alloc w: shared f16[64, 64]
      alloc h: fragment f16[64, 64]
      alloc x: fragment f32[64, 64]
      alloc y: fragment f32[64, 64]
      alloc z: fragment f32[64]
      fill h[:, :], f16(1.0)
      fill x[:, :], 0.0
      fill y[:, :], 1.0
      fill z[:], 0.0
"""
TAIL = """      parallel (i, j) in (64, 64) { store x[i, j] = x[i, j] + y[i, j] + z[i] }
      copy x[:, :] -> C[:, :]
    }
  }
}
"""
FILLS = {
    "a": "copy A[k * 64 : +64, 0 : +64] -> a[:, :] clip",
    "b": "copy B[k * 64 : +64, 0 : +64] -> b[:, :] clip",
    "w": "copy B[max(k * 64 - 64, 0) : +64, 0 : +64] -> w[:, :] clip",
}
WORK = {
    "gemm a, b -> x": "gemm a[:, :], b[:, :] -> x[:, :]",
    "gemm h, a -> y": "gemm h[:, :], a[:, :] -> y[:, :] init = true",
    "gemm h, w -> x": "gemm h[:, :], w[:, :] -> x[:, :]",
    "gemm b, w -> y": "gemm b[:, :], w[:, :] -> y[:, :] transpose_a",
    "relu": "parallel (i, j) in (64, 64) { store y[i, j] = max(y[i, j], 0.0) - 1.0 }",
    "scale": "parallel (i, j) in (64, 64) { store x[i, j] = min(x[i, j], 8.0) * 0.5 }",
    "rows": "reduce max y[:, :] -> z[:] dim = 1, clear = false",
    "cap": "parallel (i, j) in (64, 64) { store h[i, j] = f16(min(max(y[i, j], -2.0), 2.0)) }",
    "peek": "reduce max a[:, :] -> z[:] dim = 1, clear = false",
}


def text_of(rng: random.Random) -> str:
    work = rng.sample(sorted(WORK), rng.randint(1, 5))
    body = [WORK[w] for w in work]
    for name, fill in FILLS.items():
        users = [i for i, line in enumerate(body) if f" {name}[" in line]
        if users:
            body.insert(rng.randint(0, users[0]), fill)
    stages = rng.randint(1, 3)
    loop = [f"for k in (0, ceildiv(K, 64), 1) pipelined num_stages = {stages} {{", *body, "}"]
    return HEAD + "\n".join(loop) + "\n" + TAIL


def arguments(k: int) -> dict[str, Any]:
    rng = np.random.default_rng(k)
    return {
        "A": rng.integers(-2, 3, (k, 64)).astype(np.float16),
        "B": rng.integers(-2, 3, (k, 64)).astype(np.float16),
        "C": np.zeros((64, 64), np.float32),
    }


@pytest.mark.parametrize("arch", ["async", "sync", "plain"])
@pytest.mark.parametrize("seed", range(30))
def test_random_pipelines(programs: Any, seed: int, arch: str) -> None:
    rng = random.Random(seed)
    fn = parse_function(text_of(rng))
    pins: dict[str, object] = {}
    if rng.random() < 0.3:
        pins["r.roles"] = ("compute",)
    products = [d.key for d in programs.planned(fn, arch).plan if ".gemm:" in d.key]
    if products and rng.random() < 0.6:
        name = rng.choice(products).split(".")[1]
        pins[f"r.k.stage[{name}]"] = rng.randint(1, 2)
    try:
        made = programs.planned(fn, arch, pins)
    except TileError as error:
        if error.code not in ("E0702", "E0703", "E0704"):  # a pin may be impossible: without it
            raise
        made = programs.planned(fn, arch)
    (verdict,) = verdicts(made.after)
    assert verdict.kind == "proved", verdict.reason
    for k in (1, 100, 64 * 5):
        args = arguments(k)
        want = run(fn, args)["C"]
        for schedule in ("late", "issue"):
            for turn in (None, seed):
                got = run(made.after, args, schedule=schedule, seed=turn)  # type: ignore[arg-type]  # one of the two
                np.testing.assert_array_equal(got["C"], want)
