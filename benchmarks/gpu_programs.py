"""The tile programs of the GPU benchmarks by name: those of gpu_kernels.py, and, as FILE.KERNEL,
those of the examples."""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path
from typing import Any

import gpu_kernels

import tile_frontend as tile
from tile_ir.testing.by_path import module_at

EXAMPLES = Path(__file__).parents[1] / "examples"


@cache
def example(file: str) -> Any:
    """The module of an example, which finds what it imports beside itself."""
    sys.path.insert(0, str(EXAMPLES))
    try:
        return module_at(EXAMPLES / f"{file}.py")
    finally:
        sys.path.remove(str(EXAMPLES))


@cache
def program(name: str, plan: tuple[tuple[str, Any], ...] = (), target: str = "cuda") -> Any:
    """A kernel for a target, with the decisions of `plan` pinned."""
    file, _, kernel = name.rpartition(".")
    if not file and target == "cuda":
        return gpu_kernels.kernel(name, plan)
    function = getattr(example(file), kernel).fn if file else getattr(gpu_kernels, kernel)
    return tile.jit(target=target, plan=dict(plan))(function)
