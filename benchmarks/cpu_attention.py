"""Attention on the CPU: the examples' variants and what torch has for each."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import torch
from cpu_cookbook import Pair, element, example_call, gradient, normal
from torch.nn.functional import scaled_dot_product_attention as sdpa

import tile_frontend.language as T

TILES = {"block_M": 128, "block_N": 128}
F32, BF16, F16 = torch.float32, torch.bfloat16, torch.float16


def _dense(dtype: torch.dtype, causal: bool, heads: int = 8, kv_heads: int = 8) -> Pair:
    q = normal(1, 1024, heads, 64, dtype=dtype)
    k, v = (normal(1, 1024, kv_heads, 64, dtype=dtype) for _ in range(2))
    options = {"causal": causal, "dtype": element(dtype)}
    ours = example_call("attention.attention", q, k, v, **options, **TILES)

    def theirs() -> torch.Tensor:
        shape = (x.transpose(1, 2) for x in (q, k, v))
        return sdpa(*shape, is_causal=causal, enable_gqa=heads != kv_heads).transpose(1, 2)

    return Pair(ours=ours, peers={"sdpa": theirs})


def _backward(causal: bool) -> Pair:
    q, k, v = (normal(1, 4, 512, 64) for _ in range(3))
    call, d = gradient(lambda q, k, v: sdpa(q, k, v, is_causal=causal), q, k, v)
    score = q @ k.transpose(2, 3) / 8
    if causal:
        score = score.masked_fill(~torch.ones(512, 512, dtype=torch.bool).tril(), -math.inf)
    lse = torch.logsumexp(score, -1) * math.log2(math.e)
    o = torch.softmax(score, -1) @ v
    ours = example_call(
        "attention_backward.attention_backward",
        *(q, k, v, o, d, lse),
        causal=causal,
        dtype=T.float32,
        block=128,
        step=128,
    )
    return Pair(ours=ours, peers={"gradient of sdpa": call}, near=1e-4)


def _block_sparse() -> Pair:
    heads, S, dim, block, most = 4, 1024, 64, 64, 6
    blocks = S // block
    q, k, v = (normal(1, heads, S, dim) for _ in range(3))
    chosen = torch.rand(heads, blocks, blocks).argsort(-1)[..., :most].int().contiguous()
    count = torch.randint(1, most + 1, (heads, blocks), dtype=torch.int32)
    seen = torch.zeros(heads, blocks, blocks, dtype=torch.bool)
    for h in range(heads):
        for m in range(blocks):
            seen[h, m, chosen[h, m, : count[h, m]].long()] = True
    mask = seen.repeat_interleave(block, 1).repeat_interleave(block, 2)[None]
    ours = example_call(
        "attention_block_sparse.sparse_attention", q, k, v, chosen, count, dtype=T.float32
    )
    return Pair(ours=ours, peers={"sdpa, mask": lambda: sdpa(q, k, v, attn_mask=mask)})


def _varlen() -> Pair:
    lengths, heads, dim = (700, 100, 400, 33), 8, 64
    q, k, v = (normal(sum(lengths), heads, dim) for _ in range(3))
    starts = torch.tensor([0, *lengths]).cumsum(0).int()
    ours = example_call(
        "attention_varlen.varlen_attention",
        *(q, k, v, starts),
        **{"longest": max(lengths), "dtype": T.float32, **TILES},
    )

    def theirs() -> torch.Tensor:
        parts = zip(*(x.transpose(0, 1).split(lengths, 1) for x in (q, k, v)), strict=True)
        out = [sdpa(*(x[None] for x in part), is_causal=True)[0] for part in parts]
        return torch.cat(out, 1).transpose(0, 1)

    return Pair(ours=ours, peers={"sdpa by sequence": theirs})


def _window() -> Pair:
    heads, S, dim, window = 4, 1024, 64, 256
    q, k, v = (normal(1, heads, S, dim) for _ in range(3))
    sink = normal(heads)
    behind = torch.arange(S)[:, None] - torch.arange(S)
    # A sink is one more key, whose score is given and whose value is zero.
    mask = torch.full((heads, S, S + 1), -math.inf)
    mask[:, :, :S].masked_fill_((behind >= 0) & (behind < window), 0)
    mask[:, :, S] = sink[:, None]
    none = torch.zeros(1, heads, 1, dim)

    def theirs() -> torch.Tensor:
        keys, values = (torch.cat([x, none], 2) for x in (k, v))
        return sdpa(q, keys, values, attn_mask=mask[None])

    ours = example_call(
        "attention_window.window_attention",
        *(q, k, v, sink),
        **{"window": window, "dtype": T.float32, **TILES},
    )
    return Pair(ours=ours, peers={"sdpa, mask": theirs})


def _decoding(dtype: torch.dtype) -> Pair:
    B, S, heads, kv_heads, dim, page = 4, 2048, 32, 8, 128, 64
    pages = B * S // page
    k, v = (normal(pages, page, kv_heads, dim, dtype=dtype) for _ in range(2))
    q = normal(B, heads, dim, dtype=dtype)
    table = torch.randperm(pages).view(B, -1).int()
    lengths = torch.full((B,), S, dtype=torch.int32)
    ours = example_call(
        "flash_decoding.flash_decoding",
        *(q, k, v, table, lengths),
        splits=1,
        dtype=element(dtype),
        rows=4,
    )

    def theirs() -> torch.Tensor:
        places = table.long()
        keys, values = (x[places].view(B, S, kv_heads, dim).transpose(1, 2) for x in (k, v))
        rows = q.view(B, kv_heads, -1, dim)  # heads of a group as queries of one head
        return sdpa(rows, keys, values).reshape(B, heads, dim)

    return Pair(ours=ours, peers={"index, sdpa": theirs})


def _mla(dtype: torch.dtype) -> Pair:
    B, S, heads, latent, rope = 2, 1024, 32, 512, 64
    q, q_pos = normal(B, heads, latent, dtype=dtype), normal(B, heads, rope, dtype=dtype)
    kv, k_pos = normal(B, S, latent, dtype=dtype), normal(B, S, rope, dtype=dtype)
    scale = (latent + rope) ** -0.5
    ours = example_call(
        "mla_decode.mla_decode",
        *(q, q_pos, kv, k_pos),
        scale=scale,
        dtype=element(dtype),
        rows=32,  # all heads: keys are packed once
        block=128,
    )

    def products() -> torch.Tensor:
        score = (q @ kv.transpose(1, 2) + q_pos @ k_pos.transpose(1, 2)) * scale
        return torch.softmax(score, -1) @ kv

    def whole() -> torch.Tensor:
        queries, keys = torch.cat([q, q_pos], 2)[:, None], torch.cat([kv, k_pos], 2)[:, None]
        return sdpa(queries, keys, kv[:, None], scale=scale)[:, 0]

    return Pair(ours=ours, peers={"matmul, softmax": products, "cat, sdpa": whole})


def _linear() -> Pair:
    B, heads, S, dim, chunk = 1, 8, 1024, 64, 64
    q, k, v = (normal(B, heads, S, dim) / dim**0.25 for _ in range(3))
    decay = torch.log2(1 - 2.0 ** -(4 + torch.arange(heads, dtype=F32)))
    ours = example_call("linear_attention.linear_attention", q, k, v, decay, dtype=T.float32)
    i = torch.arange(chunk, dtype=F32)
    inner = torch.where(
        i[:, None] >= i, torch.exp2(decay[:, None, None] * (i[:, None] - i).clamp_(0)), 0.0
    )
    before = torch.exp2(decay[:, None, None] * (i[:, None] + 1))
    after = torch.exp2(decay[:, None, None] * (chunk - 1 - i[:, None]))
    whole = torch.exp2(decay[:, None, None] * chunk)

    def theirs() -> torch.Tensor:
        state, out = torch.zeros(B, heads, dim, dim), []
        parts = (x.split(chunk, 2) for x in (q, k, v))
        for cq, ck, cv in zip(*parts, strict=True):
            score = (cq @ ck.transpose(2, 3)).mul_(inner)
            out.append((cq @ state).mul_(before).add_(score @ cv))
            state = (state * whole).add_(ck.transpose(2, 3) @ (cv * after))
        return torch.cat(out, 2)

    return Pair(ours=ours, peers={"matmul by chunk": theirs})


def _delta() -> Pair:
    B, heads, S, dim, chunk = 1, 8, 1024, 64, 32
    q, k, v = (normal(B, heads, S, dim) for _ in range(3))
    q, k = q / dim**0.5, k / k.norm(dim=-1, keepdim=True)
    gate, beta = torch.log(torch.rand(B, heads, S) * 0.2 + 0.8), torch.rand(B, heads, S)
    ours = example_call("gated_delta.gated_delta", q, k, v, gate, beta, chunk=chunk, block_V=dim)
    lower = torch.ones(chunk, chunk).tril()

    def theirs() -> torch.Tensor:
        state, out = torch.zeros(B, heads, dim, dim), []
        parts = (x.split(chunk, 2) for x in (q, k, v, gate, beta))
        for cq, ck, cv, cg, cb in zip(*parts, strict=True):
            sums = cg.cumsum(2)
            ratio = torch.exp(sums[..., None] - sums[..., None, :]) * lower
            factor, cb = torch.exp(sums)[..., None], cb[..., None]
            system = (ck @ ck.transpose(2, 3)).mul_(ratio).mul_(cb)
            right = cb * (cv - factor * (ck @ state))
            u = torch.linalg.solve_triangular(system, right, upper=False, unitriangular=True)
            score = (cq @ ck.transpose(2, 3)).mul_(ratio)
            out.append((cq @ state).mul_(factor).add_(score @ u))
            u = u * torch.exp(sums[..., -1:] - sums)[..., None]
            state = state * factor[:, :, -1:] + ck.transpose(2, 3) @ u
        return torch.cat(out, 2)

    return Pair(ours=ours, peers={"solve_triangular by chunk": theirs}, near=1e-4)


ATTENTION: dict[str, Any] = {
    "attention 1x1024x8x64 causal f32": partial(_dense, F32, True),
    "attention 1x1024x8x64 full f32": partial(_dense, F32, False),
    "attention 1x1024x8x64 causal bf16": partial(_dense, BF16, True),
    "attention 1x1024x8x64 2 key heads causal f32": partial(_dense, F32, True, 8, 2),
    "attention_backward 1x4x512x64 causal f32": partial(_backward, True),
    "attention_backward 1x4x512x64 full f32": partial(_backward, False),
    "attention_block_sparse 1x4x1024x64 f32": _block_sparse,
    "attention_varlen 1233x8x64 f32": _varlen,
    "attention_window 1x4x1024x64 256 keys f32": _window,
    "flash_decoding 4x2048 32 heads of 8x128 f32": partial(_decoding, F32),
    "flash_decoding 4x2048 32 heads of 8x128 bf16": partial(_decoding, BF16),
    "mla_decode 2x1024 32 heads f32": partial(_mla, F32),
    "mla_decode 2x1024 32 heads bf16": partial(_mla, BF16),
    "linear_attention 1x8x1024x64 f32": _linear,
    "gated_delta 1x8x1024x64 f32": _delta,
}
"""Name -> the comparison."""
