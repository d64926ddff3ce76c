"""Rows and elements on the CPU: the memory-bound examples and what torch has for each."""

from __future__ import annotations

from functools import partial
from typing import Any

import torch
from cpu_cookbook import Pair, element, example_call, gradient, normal
from gpu_programs import example
from torch.nn import functional as F

import tile_frontend.language as T

M, N = 2048, 2048
F32, BF16, F16 = torch.float32, torch.bfloat16, torch.float16
FLOAT = T.float32


def _softmax(name: str, **options: Any) -> Pair:
    x = normal(M, N)
    ours = example_call(name, x, dtype=FLOAT, **options)
    return Pair(ours=ours, peers={"softmax": lambda: torch.softmax(x, 1)})


def _rms_norm() -> Pair:
    x, w = normal(M, N), normal(N)
    ours = example_call("rms_norm.forward", x, w, dtype=FLOAT, rows=1)

    def theirs() -> torch.Tensor:
        return F.rms_norm(x, (N,), w, 1e-6)

    return Pair(ours=lambda: ours()[0], peers={"rms_norm": theirs})


def _rms_norm_backward() -> Pair:
    x, w = normal(M, N), normal(N)
    theirs, d = gradient(lambda x, w: F.rms_norm(x, (N,), w, 1e-6), x, w)
    r = torch.rsqrt(x.square().mean(1) + 1e-6)

    def ours() -> Any:
        of_w = torch.zeros(N)
        call = example_call("rms_norm.backward", x, w, r, d, of_w, dtype=FLOAT, rows=256)
        return call(), of_w

    return Pair(ours=ours, peers={"gradient of rms_norm": theirs})


def _layer_norm() -> Pair:
    x, w, b = normal(M, N), normal(N), normal(N)
    ours = example_call("layer_norm.forward", x, w, b, dtype=FLOAT, rows=1)

    def theirs() -> Any:
        y, mean, r = torch.native_layer_norm(x, (N,), w, b, 1e-5)
        return y, mean.view(M), r.view(M)

    return Pair(ours=ours, peers={"native_layer_norm": theirs}, near=1e-4)


def _layer_norm_backward() -> Pair:
    x, w, b = normal(M, N), normal(N), normal(N)
    _, mean, r = torch.native_layer_norm(x, (N,), w, b, 1e-5)
    d = normal(M, N)

    def ours() -> Any:
        of_w, of_b = torch.zeros(N), torch.zeros(N)
        call = example_call(
            "layer_norm.backward",
            x,
            w,
            mean.view(M),
            r.view(M),
            d,
            of_w,
            of_b,
            dtype=FLOAT,
            rows=256,
        )
        return call(), of_w, of_b

    def theirs() -> Any:
        want = [True] * 3
        return torch.ops.aten.native_layer_norm_backward(d, x, (N,), mean, r, w, b, want)

    return Pair(ours=ours, peers={"native_layer_norm_backward": theirs})


def _cross_entropy() -> Pair:
    x, label = normal(512, 8192), torch.randint(0, 8192, (512,))
    ours = example_call("cross_entropy.forward", x, label.int(), dtype=FLOAT, width=2048)

    def theirs() -> torch.Tensor:
        return F.cross_entropy(x, label, reduction="none")

    return Pair(ours=lambda: ours()[0], peers={"cross_entropy": theirs})


def _cross_entropy_backward() -> Pair:
    x, label = normal(512, 8192), torch.randint(0, 8192, (512,))
    theirs, d = gradient(lambda x: F.cross_entropy(x, label, reduction="none"), x)
    lse = torch.logsumexp(x, 1)
    ours = example_call("cross_entropy.backward", x, label.int(), lse, d, dtype=FLOAT, width=8192)
    return Pair(ours=ours, peers={"gradient of cross_entropy": theirs})


def _rope(dtype: torch.dtype) -> Pair:
    tokens, heads, dim, length = 1024, 16, 128, 4096
    x = normal(tokens, heads, dim, dtype=dtype)
    position = torch.randint(0, length, (tokens,), dtype=torch.int32)
    cosine, sine = (torch.from_numpy(t) for t in example("rope").tables(length, dim))
    ours = example_call("rope.rope", x, position, cosine, sine, dtype=element(dtype))

    def theirs() -> torch.Tensor:
        c, s = (t[position][:, None].to(dtype) for t in (cosine, sine))
        a, b = x.chunk(2, -1)
        return torch.cat([a * c - b * s, a * s + b * c], -1)

    return Pair(ours=ours, peers={"mul, sub, add, cat": theirs})


def _swiglu(dtype: torch.dtype) -> Pair:
    x = normal(M, 2 * N, dtype=dtype)
    ours = example_call("swiglu.forward", x, dtype=element(dtype), width=N)

    def theirs() -> torch.Tensor:
        gate, value = x.chunk(2, 1)
        return F.silu(gate) * value

    return Pair(ours=ours, peers={"silu, mul": theirs})


def _swiglu_backward() -> Pair:
    x = normal(M, 2 * N)

    def forward(x: torch.Tensor) -> torch.Tensor:
        gate, value = x.chunk(2, 1)
        return F.silu(gate) * value

    theirs, d = gradient(forward, x)
    ours = example_call("swiglu.backward", x, d, dtype=FLOAT, width=N)
    return Pair(ours=ours, peers={"gradient of silu, mul": theirs})


def _quantize(dtype: torch.dtype) -> Pair:
    x, residual, w = normal(M, N, dtype=dtype), normal(M, N, dtype=dtype), normal(N, dtype=dtype)
    ours = example_call("add_norm_quantize.add_norm_quantize", x, residual, w, dtype=element(dtype))

    def theirs() -> Any:
        total = x + residual
        normed = F.rms_norm(total.float(), (N,), w.float(), 1e-6)
        scale = normed.abs().amax(1).clamp_(1e-12) / 127
        return total, (normed / scale[:, None]).round_().to(torch.int8), scale

    # A number that lies between two steps may go to either.
    return Pair(ours=ours, peers={"add, rms_norm, amax, round": theirs}, near=1.01 / 127)


def _dropout(dtype: torch.dtype) -> Pair:
    x = normal(1 << 21, dtype=dtype)
    ours = example_call("dropout.dropout", x, 7, p=0.1, dtype=element(dtype))
    return Pair(ours=ours, peers={"dropout": lambda: F.dropout(x, 0.1)}, near=None)


def _top_k() -> Pair:
    x = normal(M, N)
    ours = example_call("top_k.top_k", x, k=8)
    return Pair(ours=ours, peers={"topk": lambda: torch.topk(x, 8)})


def _cumsum() -> Pair:
    x = normal(M, N)
    ours = example_call("cumsum.cumsum", x, dtype=FLOAT)
    return Pair(ours=ours, peers={"cumsum": lambda: x.cumsum(1)})


def _transpose(dtype: torch.dtype) -> Pair:
    x = normal(M, N, dtype=dtype)
    ours = example_call("transpose.transpose", x, dtype=element(dtype))
    return Pair(ours=ours, peers={"contiguous": lambda: x.t().contiguous()})


def _column_sum(m: int, n: int) -> Pair:
    x = normal(m, n)
    ours = example_call("column_sum.column_sum", x, dtype=FLOAT, parts=4, block_M=1, block_N=128)
    return Pair(ours=ours, peers={"sum": lambda: x.sum(0)})


def _hadamard() -> Pair:
    m, n = 4096, 512
    x = normal(m, n)
    matrix = torch.from_numpy(example("hadamard").matrix(n)).float()
    ours = example_call("hadamard.hadamard", x, dtype=FLOAT)

    def rounds() -> torch.Tensor:
        y, step = x, 1
        while step < n:
            a, b = y.view(m, -1, 2, step).unbind(2)
            y, step = torch.stack([a + b, a - b], 2), 2 * step
        return y.view(m, n) * n**-0.5

    return Pair(ours=ours, peers={"matmul": lambda: x @ matrix, "rounds of add, sub": rounds})


def _histogram() -> Pair:
    x = torch.randint(0, 256, (1 << 21,), dtype=torch.int32)

    def ours() -> torch.Tensor:
        count = torch.zeros(256, dtype=torch.int32)
        example_call("histogram.histogram", x, count, bins=256, block=1 << 18)()
        return count

    peers = {
        "bincount": lambda: torch.bincount(x, minlength=256),
        "histc": lambda: torch.histc(x.float(), 256, 0, 256).int(),
    }
    return Pair(ours=ours, peers=peers)


def _route() -> Pair:
    tokens, experts, k = 4096, 64, 8
    logits = normal(tokens, experts)

    def ours() -> Any:
        count = torch.zeros(experts, dtype=torch.int32)
        weight, expert = example_call("moe_routing.route", logits, count, k=k)()
        return weight, expert, count

    def theirs() -> Any:
        top, expert = torch.topk(logits, k)
        return torch.softmax(top, 1), expert, torch.bincount(expert.view(-1), minlength=experts)

    return Pair(ours=ours, peers={"topk, softmax, bincount": theirs})


def _place() -> Pair:
    experts, n = 64, 1 << 14
    expert = torch.randint(0, experts, (n,), dtype=torch.int32)
    count = torch.bincount(expert, minlength=experts).int()
    ours = example_call("moe_routing.place", count, expert, width=1024)

    def theirs() -> Any:
        source = torch.argsort(expert, stable=True)
        at = torch.empty_like(source)
        at[source] = torch.arange(n)
        return count.cumsum(0) - count, at, source

    return Pair(ours=ours, peers={"argsort, index_put": theirs})


def _stencil() -> Pair:
    u = normal(M, N)
    ours = example_call("stencil.heat_step", u, block_M=32, block_N=512)
    kernel = torch.tensor([[0, 0.25, 0], [0.25, 0, 0.25], [0, 0.25, 0]]).view(1, 1, 3, 3)

    def slices() -> torch.Tensor:
        p = F.pad(u, (1, 1, 1, 1))
        return p[:-2, 1:-1].add(p[2:, 1:-1]).add_(p[1:-1, :-2]).add_(p[1:-1, 2:]).mul_(0.25)

    peers = {"conv2d": lambda: F.conv2d(u[None, None], kernel, padding=1)[0, 0], "add": slices}
    return Pair(ours=ours, peers=peers)


ROWS = {
    "softmax 2048x2048 f32": partial(_softmax, "softmax.softmax", rows=1),
    "online_softmax 2048x2048 f32": partial(
        _softmax, "online_softmax.online_softmax", rows=1, width=1024
    ),
    "rms_norm 2048x2048 f32": _rms_norm,
    "rms_norm backward 2048x2048 f32": _rms_norm_backward,
    "layer_norm 2048x2048 f32": _layer_norm,
    "layer_norm backward 2048x2048 f32": _layer_norm_backward,
    "cross_entropy 512x8192 f32": _cross_entropy,
    "cross_entropy backward 512x8192 f32": _cross_entropy_backward,
    "rope 1024x16x128 f32": partial(_rope, F32),
    "rope 1024x16x128 bf16": partial(_rope, BF16),
    "swiglu 2048x2048 f32": partial(_swiglu, F32),
    "swiglu 2048x2048 bf16": partial(_swiglu, BF16),
    "swiglu backward 2048x2048 f32": _swiglu_backward,
    "add_norm_quantize 2048x2048 f32": partial(_quantize, F32),
    "dropout 2097152 f32": partial(_dropout, F32),
    "top_k 8 of 2048x2048 f32": _top_k,
    "cumsum 2048x2048 f32": _cumsum,
    "transpose 2048x2048 f32": partial(_transpose, F32),
    "transpose 2048x2048 bf16": partial(_transpose, BF16),
    "column_sum 2048x2048 f32": partial(_column_sum, 2048, 2048),
    "column_sum 32768x128 f32": partial(_column_sum, 32768, 128),
    "hadamard 4096x512 f32": _hadamard,
    "histogram 2097152 into 256": _histogram,
    "moe_routing route 4096x64": _route,
    "moe_routing place 16384 of 64": _place,
    "stencil 2048x2048 f32": _stencil,
}
"""Name -> the comparison."""
