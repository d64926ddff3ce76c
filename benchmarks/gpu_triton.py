"""The same two kernels in Triton, with tensor descriptors, as peers."""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

GEMM_CONFIGS = ((128, 256, 64, 8, 4), (128, 128, 64, 8, 4))
"""(BM, BN, BK, warps, stages)"""
ATTENTION_CONFIGS = ((128, 128, 8, 2), (128, 64, 4, 3))
"""(BM, BN, warps, stages)"""
GROUP = 8


@triton.jit
def _matmul(
    a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr,
    TRANSPOSED: tl.constexpr, OUT: tl.constexpr,
):  # fmt: skip
    across = tl.cdiv(N, BN)
    down = tl.cdiv(M, BM)
    width = GROUP * across
    first = tl.program_id(0) // width * GROUP
    rows = min(down - first, GROUP)
    m = first + tl.program_id(0) % width % rows
    n = tl.program_id(0) % width // rows
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        x = a.load([m * BM, k])
        if TRANSPOSED:
            acc = tl.dot(x, b.load([n * BN, k]).T, acc)
        else:
            acc = tl.dot(x, b.load([k, n * BN]), acc)
    c.store([m * BM, n * BN], acc.to(OUT))


def matmul(x: Any, y: Any, transposed: bool, config: tuple[int, ...]) -> Any:
    """x @ y, or x @ y.T; row-major tensors of one 16-bit type."""
    bm, bn, bk, warps, stages = config
    m, k = x.shape
    n = y.shape[0 if transposed else 1]
    out = torch.empty((m, n), dtype=x.dtype, device=x.device)
    a = TensorDescriptor.from_tensor(x, [bm, bk])
    b = TensorDescriptor.from_tensor(y, [bn, bk] if transposed else [bk, bn])
    c = TensorDescriptor.from_tensor(out, [bm, bn])
    kind = tl.float16 if x.dtype == torch.float16 else tl.bfloat16
    grid = (triton.cdiv(m, bm) * triton.cdiv(n, bn),)
    _matmul[grid](
        a, b, c, m, n, k, bm, bn, bk, GROUP, transposed, kind, num_warps=warps, num_stages=stages
    )
    return out


@triton.jit
def _attention(
    q, k, v, o, S, scale, CAUSAL: tl.constexpr, D: tl.constexpr, BM: tl.constexpr,
    BN: tl.constexpr, OUT: tl.constexpr,
):  # fmt: skip
    head = tl.program_id(1) * S
    block = tl.num_programs(0) - 1 - tl.program_id(0)
    rows = block * BM + tl.arange(0, BM)
    x = q.load([head + block * BM, 0])
    top = tl.full((BM,), float("-inf"), tl.float32)
    total = tl.zeros((BM,), tl.float32)
    acc = tl.zeros((BM, D), tl.float32)
    whole = block * BM if CAUSAL else S
    for j in range(0, whole, BN):
        score = tl.dot(x, k.load([head + j, 0]).T)
        now = tl.maximum(top, tl.max(score, 1) * scale)
        p = tl.exp2(score * scale - now[:, None])
        alpha = tl.exp2(top - now)
        total = total * alpha + tl.sum(p, 1)
        acc = tl.dot(p.to(OUT), v.load([head + j, 0]), acc * alpha[:, None])
        top = now
    if CAUSAL:
        for j in range(block * BM, (block + 1) * BM, BN):
            score = tl.dot(x, k.load([head + j, 0]).T)
            keep = rows[:, None] >= j + tl.arange(0, BN)[None, :]
            score = tl.where(keep, score, float("-inf"))
            now = tl.maximum(top, tl.max(score, 1) * scale)
            p = tl.exp2(score * scale - now[:, None])
            alpha = tl.exp2(top - now)
            total = total * alpha + tl.sum(p, 1)
            acc = tl.dot(p.to(OUT), v.load([head + j, 0]), acc * alpha[:, None])
            top = now
    o.store([head + block * BM, 0], (acc / total[:, None]).to(OUT))


def attention(q: Any, k: Any, v: Any, causal: bool, config: tuple[int, ...]) -> Any:
    """Softmax attention of [B, H, S, D] tensors of one 16-bit type, S a multiple of the blocks."""
    bm, bn, warps, stages = config
    b, h, s, d = q.shape
    out = torch.empty_like(q)

    def box(x: Any, rows: int) -> Any:
        return TensorDescriptor.from_tensor(x.view(b * h * s, d), [rows, d])

    kind = tl.float16 if q.dtype == torch.float16 else tl.bfloat16
    _attention[(s // bm, b * h)](
        box(q, bm), box(k, bn), box(v, bn), box(out, bm), s, d**-0.5 * 1.4426950408889634,
        causal, d, bm, bn, kind, num_warps=warps, num_stages=stages,
    )  # fmt: skip
    return out
