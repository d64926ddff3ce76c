"""Planned and expanded kernels compute what the tile program computes, with effects as late and as
early as allowed.
"""

from __future__ import annotations

from typing import Any

import pytest

ARCHS = ("async", "sync")
TRIPS = {1: "one", 32: "one full", 40: "two", 200: "many"}


@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("stages", range(5))
@pytest.mark.parametrize("name", ["gemm", "no product", "gated", "scaled", "nested"])
def test_every_depth_gives_the_same_values(
    programs: Any, name: str, stages: int, arch: str
) -> None:
    made = programs.planned(programs.tile(name, stages=stages), arch)
    for k in TRIPS:
        programs.compare(made, name, k)


@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("stages", [1, 2, 3])
def test_attention_gives_the_same_values(programs: Any, stages: int, arch: str) -> None:
    made = programs.planned(programs.tile("attention", stages=stages), arch)
    for k in (1, 64, 65, 200):
        programs.compare(made, "attention", k)


@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("n", [80, 144, 192])
def test_widths_that_are_no_power_of_two(programs: Any, n: int, arch: str) -> None:
    made = programs.planned(programs.tile("gemm", n=n), arch)
    programs.compare(made, "gemm", 70, n)


@pytest.mark.parametrize("arch", ARCHS)
def test_a_loop_without_trips(programs: Any, arch: str) -> None:
    text_of = programs.tile("nested")
    made = programs.planned(text_of, arch)
    programs.compare(made, "nested", 1)
    import numpy as np

    from tile_ir.interp import run

    args = {
        "A": np.ones((64, 32), np.float16),
        "B": np.ones((0, 32, 64), np.float16),
        "s": np.ones((0, 64), np.float32),
        "C": np.ones((64, 64), np.float32),
    }
    for schedule in ("late", "issue"):
        assert run(made.after, args, schedule=schedule)["C"].max() == 0


@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("name", ["gemm", "attention", "no product", "gated", "scaled", "nested"])
def test_blocks_that_run_several_tiles(programs: Any, name: str, arch: str) -> None:
    kernel = {"gemm": "matmul", "attention": "attn", "no product": "rows"}.get(name, name)
    made = programs.planned(programs.tile(name), arch, {f"{kernel}.tiles.claim": "static"})
    assert "claim = static" in made.text
    assert "device_workers()" in made.text
    for k in TRIPS:
        programs.compare(made, name, k, 130 if name == "gemm" else 64)
