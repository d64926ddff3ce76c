"""More peers in Triton: a skinny product with a split reduction, a product of int8, decoding.

Each function tries some configurations and returns the quickest as a function of the number of a
copy of the inputs, or None where none runs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
import triton
import triton.language as tl
from gpu_timing import medians_ms
from triton.tools.tensor_descriptor import TensorDescriptor

SKINNY = ((16, 128, 128, 4, 4, 4), (16, 64, 128, 5, 4, 1), (64, 64, 128, 4, 4, 1),
          (64, 128, 64, 4, 4, 4), (64, 128, 128, 3, 4, 2), (128, 128, 64, 4, 8, 1))  # fmt: skip
"""(BM, BN, BK, stages, warps, parts of K)"""
INT8 = ((128, 256, 128, 3, 8), (128, 128, 128, 4, 8))
"""(BM, BN, BK, stages, warps)"""
GQA_BLOCK, GQA_STAGES, GQA_WARPS = 128, 3, 4

Call = Callable[[int], Any]


def _quickest(calls: Sequence[Call]) -> Call | None:
    good = []
    for call in calls:
        try:
            call(0)
        except Exception as error:  # a configuration may not fit
            print(f"  peer configuration left out: {str(error)[:80]}", flush=True)
            continue
        good.append(call)
    if len(good) < 2:
        return good[0] if good else None
    times = medians_ms([lambda f=f: f(0) for f in good], rounds=5)  # type: ignore[misc]
    return good[times.index(min(times))]


@triton.jit
def _skinny(
    a, b, out, M, N, K, along, across, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
    PARTS: tl.constexpr,
):  # fmt: skip
    rows = tl.program_id(1) * BM + tl.arange(0, BM)
    columns = tl.program_id(0) * BN + tl.arange(0, BN)
    each = K // PARTS
    k = tl.program_id(2) * each + tl.arange(0, BK)
    left = a + rows[:, None] * K + k[None, :]
    right = b + k[:, None] * along + columns[None, :] * across
    acc = tl.zeros((BM, BN), tl.float32)
    for _ in range(0, each, BK):
        acc = tl.dot(tl.load(left), tl.load(right), acc)
        left += BK
        right += BK * along
    to = out + tl.program_id(2) * M * N + rows[:, None] * N + columns[None, :]
    tl.store(to, acc.to(out.dtype.element_ty))


@triton.jit
def _add_parts(parts, out, n, PARTS: tl.constexpr, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    acc = tl.zeros((B,), tl.float32)
    for p in tl.static_range(PARTS):
        acc += tl.load(parts + p * n + at, mask=at < n, other=0.0)
    tl.store(out + at, acc.to(out.dtype.element_ty), mask=at < n)


def skinny(a: Any, ws: Sequence[Any], turned: bool) -> Call | None:
    """a @ w, or a @ w.T, of float16; w is one of `ws`."""
    m, k = a.shape
    n = ws[0].shape[0 if turned else 1]
    along, across = (1, k) if turned else (n, 1)

    def with_config(config: tuple[int, ...]) -> Call:
        bm, bn, bk, stages, warps, parts = config

        def call(i: int) -> Any:
            out = torch.empty(m, n, device="cuda", dtype=a.dtype)
            kept = torch.empty(parts, m, n, device="cuda") if parts > 1 else out
            _skinny[(n // bn, m // bm, parts)](
                a, ws[i], kept, m, n, k, along, across, bm, bn, bk, parts,
                num_stages=stages, num_warps=warps,
            )  # fmt: skip
            if parts > 1:
                _add_parts[(triton.cdiv(m * n, 1024),)](kept, out, m * n, parts, 1024)
            return out

        return call

    return _quickest([with_config(c) for c in SKINNY if m % c[0] == 0])


@triton.jit
def _int8(
    a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr,
):  # fmt: skip
    across, down = tl.cdiv(N, BN), tl.cdiv(M, BM)
    tiles = across * down
    for tile in tl.range(tl.program_id(0), tiles, tl.num_programs(0), flatten=True):
        first = tile // (GROUP * across) * GROUP
        height = min(down - first, GROUP)
        m = first + tile % (GROUP * across) % height
        n = tile % (GROUP * across) // height
        acc = tl.zeros((BM, BN), tl.int32)
        for k in range(0, K, BK):
            acc = tl.dot(a.load([m * BM, k]), b.load([n * BN, k]).T, acc, out_dtype=tl.int32)
        c.store([m * BM, n * BN], acc)


def int8(x: Any, y: Any) -> Call | None:
    """x @ y.T of int8, in int32."""
    m, k = x.shape
    n = y.shape[0]
    cores = torch.cuda.get_device_properties(0).multi_processor_count

    def with_config(config: tuple[int, ...]) -> Call:
        bm, bn, bk, stages, warps = config

        def call(i: int) -> Any:
            out = torch.empty(m, n, device="cuda", dtype=torch.int32)
            a = TensorDescriptor.from_tensor(x, [bm, bk])
            b = TensorDescriptor.from_tensor(y, [bn, bk])
            c = TensorDescriptor.from_tensor(out, [bm, bn])
            tiles = triton.cdiv(m, bm) * triton.cdiv(n, bn)
            _int8[(min(cores, tiles),)](
                a, b, c, m, n, k, bm, bn, bk, 8, num_warps=warps, num_stages=stages
            )
            return out

        return call

    return _quickest([with_config(c) for c in INT8])


@triton.jit
def _parts_of_keys(
    q, k, v, partial, lse, S, each, scale, PARTS: tl.constexpr, GROUP: tl.constexpr,
    D: tl.constexpr, BN: tl.constexpr,
):  # fmt: skip
    head, part = tl.program_id(0), tl.program_id(1)
    rows, d = tl.arange(0, 16), tl.arange(0, D)
    mine = rows[:, None] < GROUP
    x = tl.load(q + (head * GROUP + rows)[:, None] * D + d[None, :], mask=mine, other=0.0)
    top = tl.full((16,), -1.0e30, tl.float32)
    total = tl.zeros((16,), tl.float32)
    acc = tl.zeros((16, D), tl.float32)
    for n in tl.range(part * each, part * each + each, BN):
        score = tl.dot(x, k.load([head * S + n, 0]).T)
        now = tl.maximum(top, tl.max(score, 1) * scale)
        p = tl.exp2(score * scale - now[:, None])
        alpha = tl.exp2(top - now)
        total = total * alpha + tl.sum(p, 1)
        y = v.load([head * S + n, 0])
        acc = tl.dot(p.to(y.dtype), y, acc * alpha[:, None])
        top = now
    to = (head * GROUP + rows) * PARTS + part
    tl.store(partial + to[:, None] * D + d[None, :], acc / total[:, None], mask=mine)
    tl.store(lse + to, top + tl.log2(total), mask=rows < GROUP)


@triton.jit
def _combined(partial, lse, out, PARTS: tl.constexpr, D: tl.constexpr):
    head = tl.program_id(0)
    parts, d = tl.arange(0, PARTS), tl.arange(0, D)
    logs = tl.load(lse + head * PARTS + parts)
    share = tl.exp2(logs - tl.max(logs, 0))
    o = tl.load(partial + (head * PARTS + parts)[:, None] * D + d[None, :])
    result = tl.sum(o * share[:, None], 0) / tl.sum(share, 0)
    tl.store(out + head * D + d, result.to(out.dtype.element_ty))


def gqa(q: Any, ks: Sequence[Any], vs: Sequence[Any], parts: int) -> Call | None:
    """One query of [B, heads, D] for each sequence of keys and values [B, kv_heads, S, D]."""
    batch, heads, dim = q.shape
    kv_heads, length = ks[0].shape[1:3]
    scale = dim**-0.5 * 1.4426950408889634

    def call(i: int) -> Any:
        out = torch.empty_like(q)
        partial = torch.empty(batch * heads, parts, dim, device="cuda")
        lse = torch.empty(batch * heads, parts, device="cuda")
        box = [GQA_BLOCK, dim]
        k, v = (TensorDescriptor.from_tensor(x[i].view(-1, dim), box) for x in (ks, vs))
        _parts_of_keys[(batch * kv_heads, parts)](
            q, k, v, partial, lse, length, length // parts, scale, parts, heads // kv_heads,
            dim, GQA_BLOCK, num_stages=GQA_STAGES, num_warps=GQA_WARPS,
        )  # fmt: skip
        _combined[(batch * heads,)](partial, lse, out, parts, dim, num_warps=4)
        return out

    return _quickest([call])
