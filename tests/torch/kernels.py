"""A transformer block whose products, norms and attention are ours, forward and backward, beside
the same block of torch's own functions."""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

import tile_frontend as tile
import tile_frontend.language as T
from tile_frontend.torch import op
from tile_ir.testing.by_path import module_at

ROOT = Path(__file__).parents[2]
DTYPES = {"cpu": "float32", "cuda": "float16"}
"""Kind of device -> the element type of its matrix units that the models run in."""
HEADS = 2


@tile.jit
def attention(Q, K, V, dtype, block=64):
    """Causal attention [B, heads, S, dim], and the logarithm to base 2 of each row's sum."""
    B, heads, S, dim = T.const("B, heads, S, dim")
    Q: T.Tensor((B, heads, S, dim), dtype)
    K: T.Tensor((B, heads, S, dim), dtype)
    V: T.Tensor((B, heads, S, dim), dtype)
    O = T.empty((B, heads, S, dim), dtype)
    L = T.empty((B, heads, S), T.float32)
    scale = math.log2(math.e) / math.sqrt(dim)
    with T.Kernel(T.ceildiv(S, block), heads, B, threads=128) as (m, h, b):
        Q_s, K_s, V_s = (T.alloc_shared((block, dim), dtype) for _ in range(3))
        score = T.alloc_fragment((block, block), T.float32)
        weight = T.alloc_fragment((block, block), dtype)
        out = T.alloc_fragment((block, dim), T.float32)
        top, before, shrink, part, total = (T.alloc_fragment((block,), T.float32) for _ in range(5))
        T.copy(Q[b, h, m * block, 0], Q_s)
        T.clear(out)
        T.clear(total)
        T.fill(top, -T.infinity(T.float32))
        for n in T.Pipelined(m + 1, num_stages=2):
            T.copy(K[b, h, n * block, 0], K_s)
            T.gemm(Q_s, K_s, score, transpose_B=True, clear_accum=True)
            for i, j in T.Parallel(block, block):
                seen = n * block + j < T.min(S, m * block + i + 1)
                score[i, j] = T.if_then_else(seen, score[i, j] * scale, -T.infinity(T.float32))
            T.copy(top, before)
            T.reduce_max(score, top, dim=1, clear=False)
            for i in T.Parallel(block):
                shrink[i] = T.exp2(before[i] - top[i])
            for i, j in T.Parallel(block, block):
                score[i, j] = T.exp2(score[i, j] - top[i])
            T.reduce_sum(score, part, dim=1)
            for i in T.Parallel(block):
                total[i] = total[i] * shrink[i] + part[i]
            for i, d in T.Parallel(block, dim):
                out[i, d] *= shrink[i]
            T.copy(score, weight)
            T.copy(V[b, h, n * block, 0], V_s)
            T.gemm(weight, V_s, out)
        for i, d in T.Parallel(block, dim):
            out[i, d] /= total[i]
        for i in T.Parallel(block):
            top[i] = top[i] + T.log2(total[i])
        T.copy(out, O[b, h, m * block, 0])
        T.copy(top, L[b, h, m * block])
    return O, L


@dataclass(frozen=True)
class Functions:
    """What a block is made of: `product(a, b)`, `norm(x, w)`, `attend(q, k, v)`."""

    product: Any
    norm: Any
    attend: Any


def ours(device: str) -> Functions:
    """Operators of our kernels, differentiable by second kernels, for a kind of device."""
    dtype = T.dtype(DTYPES[device])
    sizes = {"dtype": dtype, "out": dtype, "accumulate": T.float32, "block": (64, 64, 32)}
    product = _product(device, sizes)
    norm = _norm(device, dtype)
    attend = _attend(device, dtype)
    return Functions(product, lambda x, w: norm(x, w)[0], lambda q, k, v: attend(q, k, v)[0])


def _product(device: str, sizes: dict[str, Any]) -> Any:
    """A @ B; its gradients are products with the one or the other operand transposed."""
    matmul = module_at(ROOT / "tests/gpu/kernels.py").matmul

    def made(name: str, a: bool, b: bool) -> Any:
        return op(matmul, f"block::{name}_{device}", transpose_a=a, transpose_b=b, **sizes)

    forward, by_b, by_a = (
        made("product", False, False), made("of_a", False, True), made("of_b", True, False),
    )  # fmt: skip
    return forward.register_backward(lambda d, a, b: (by_b(d, b), by_a(a, d)))


def _norm(device: str, dtype: Any) -> Any:
    """RMSNorm over rows, and the reciprocals of the roots."""
    example = example_at("rms_norm")
    forward = op(example.forward, f"block::norm_{device}", dtype=dtype, rows=4, eps=1e-6)
    second = op(
        example.backward, f"block::norm_backward_{device}", mutates=("dW",), dtype=dtype, rows=4
    )

    def backward(d, _, x, w, r):
        of_w = torch.zeros(w.shape, dtype=torch.float32, device=w.device)
        of_x = second(x, w, r, d, of_w)
        return of_x, of_w.to(w.dtype)

    return forward.register_backward(backward, saves=("X", "W", "out1"))


def _attend(device: str, dtype: Any) -> Any:
    """Causal attention over heads of one batch."""
    second = op(
        example_at("attention_backward").attention_backward,
        f"block::attention_backward_{device}",
        causal=True,
        dtype=dtype,
        block=64,
        step=64,
        threads=128,
    )
    forward = op(attention, f"block::attention_{device}", dtype=dtype, block=64)
    return forward.register_backward(
        lambda d, _, q, k, v, o, sums: second(q, k, v, o, d, sums),
        saves=("Q", "K", "V", "out0", "out1"),
    )


def example_at(name: str) -> Any:
    """A file of the cookbook, which imports its helper from beside itself."""
    import sys

    folder = str(ROOT / "examples")
    sys.path.insert(0, folder)
    try:
        return module_at(ROOT / "examples" / f"{name}.py")
    finally:
        sys.path.remove(folder)


def torchs_norm(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    """RMSNorm in float32, as the kernel computes it."""
    wide = x.float()
    scaled = wide * torch.rsqrt(wide.square().mean(-1, keepdim=True) + 1e-6)
    return (scaled * w.float()).to(x.dtype)


def torchs_attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """Causal attention by torch."""
    return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)


TORCHS = Functions(torch.matmul, torchs_norm, torchs_attention)


class Block(torch.nn.Module):
    """Attention and a feed-forward layer, each after a norm and with a residual: [B, S, width].

    Weights are float32 and used in the kernels' type.
    """

    def __init__(self, functions: Functions, width: int = 128) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.f = functions
        shapes = dict.fromkeys(("q", "k", "v", "o", "up", "down"), (width, width))
        self.weights = torch.nn.ParameterDict(
            {n: torch.nn.Parameter(torch.randn(s) / s[0] ** 0.5) for n, s in shapes.items()}
        )
        self.gains = torch.nn.ParameterList(torch.ones(width) for _ in range(2))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """One layer."""
        batch, length, width = x.shape
        flat = x.reshape(batch * length, width)
        w = {n: p.to(x.dtype) for n, p in self.weights.items()}
        h = self.f.norm(flat, self.gains[0].to(x.dtype))

        def heads(name: str) -> torch.Tensor:
            made = self.f.product(h, w[name]).view(batch, length, HEADS, width // HEADS)
            return made.transpose(1, 2).contiguous()

        seen = self.f.attend(heads("q"), heads("k"), heads("v"))
        flat = flat + self.f.product(seen.transpose(1, 2).reshape(flat.shape), w["o"])
        h = self.f.norm(flat, self.gains[1].to(x.dtype))
        h = torch.nn.functional.silu(self.f.product(h, w["up"]))
        return (flat + self.f.product(h, w["down"])).view(x.shape)
