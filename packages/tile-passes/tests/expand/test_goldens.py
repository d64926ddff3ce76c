"""The whole scheduled text, and the Plan, of a product and of attention on both kinds of target."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tile_passes.plan.text import print_plan

if TYPE_CHECKING:
    from tile_ir.testing.golden import Golden


@pytest.mark.parametrize("arch", ["async", "sync"])
@pytest.mark.parametrize("name", ["gemm", "attention"])
def test_scheduled(programs: Any, golden: Golden, name: str, arch: str) -> None:
    made = programs.planned(programs.tile(name, stages=2), arch)
    golden(made.text)
    golden(print_plan(made.plan), "txt", "plan")
