"""The tile programs that the GPU benchmarks run: plain loops over tiles, no intrinsics."""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path
from typing import Any

import tile_frontend as tile
import tile_frontend.language as T

sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))
import attention_tuned
import gemm_tuned

attention, matmul = attention_tuned.attention.kernel.fn, gemm_tuned.matmul.kernel.fn
"""What is measured is what the cookbook shows, and what the tuned tables are for."""


@cache
def kernel(name: str, plan: tuple[tuple[str, Any], ...] = ()) -> Any:
    """One of the programs of this module for the GPU, with the decisions of `plan` pinned."""
    return tile.jit(target="cuda", plan=dict(plan))(globals()[name])


def add(X, Y, dtype, block=4096, threads=256):
    N = T.const("N")
    X: T.Tensor((N,), dtype)
    Y: T.Tensor((N,), dtype)
    Z = T.empty((N,), dtype)
    with T.Kernel(T.ceildiv(N, block), threads=threads) as b:
        x, y = (T.alloc_fragment((block,), dtype) for _ in range(2))
        T.copy(X[b * block], x)
        T.copy(Y[b * block], y)
        for i in T.Parallel(block):
            x[i] += y[i]
        T.copy(x, Z[b * block])
    return Z


def row_sum(X, dtype, rows=1, block=4096, threads=256):
    M, N = T.const("M, N")
    X: T.Tensor((M, N), dtype)
    Y = T.empty((M,), T.float32)
    with T.Kernel(T.ceildiv(M, rows), threads=threads) as b:
        x = T.alloc_fragment((rows, block), dtype)
        sums = T.alloc_fragment((rows, block), T.float32)
        total = T.alloc_fragment((rows,), T.float32)
        T.clear(sums)
        for k in T.serial(T.ceildiv(N, block)):
            T.copy(X[b * rows, k * block], x)
            for i, j in T.Parallel(rows, block):
                sums[i, j] += x[i, j]
        T.reduce_sum(sums, total, dim=1)
        T.copy(total, Y[b * rows])
    return Y
