"""Attention backward: gradients of queries, keys and values from a forward result.

The peer is cuDNN in the same run; what FlashAttention-4 and Triton reached are recorded numbers.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial
from typing import Any

from gpu_bench import EPSILON, Load, Ours, Recorded, Task, off, whole

HEADS = 32
MEAN = 1.05
SHAPES = ((4, 2048), (4, 4096), (4, 8192), (1, 16384))
"""Batch and length."""
RECORDED = {
    (64, False): {"Triton": (378, 402, 376, 380), "FlashAttention-4": (0, 544, 509, 0)},
    (64, True): {"Triton": (314, 371, 355, 366), "FlashAttention-4": (0, 487, 499, 0)},
    (128, False): {"Triton": (400, 441, 402, 401), "FlashAttention-4": (0, 632, 593, 576)},
    (128, True): {"Triton": (350, 401, 376, 388), "FlashAttention-4": (456, 560, 559, 589)},
}
"""Head size and mask -> peer -> TFLOP/s for each of SHAPES; 0 where none was taken."""
PLANNED = "attention_backward.attention_backward"
BY_HAND = "attention_backward_roles.attention_backward_roles"


def backward() -> Iterator[Task]:
    """Five products of one tile each; causal counts half."""
    yield from _tasks(BY_HAND, "attention backward by roles")


def backward_planned() -> Iterator[Task]:
    """The same by the kernel whose schedule is planned."""
    yield from _tasks(PLANNED, "attention backward")


def _tasks(kernel: str, title: str) -> Iterator[Task]:
    for (dim, causal), known in RECORDED.items():
        for at, (batch, length) in enumerate(SHAPES):
            mask = "causal" if causal else "full"
            sizes = {"B": batch, "heads": HEADS, "S": length, "dim": dim}
            ours = Ours(
                name=kernel,
                sizes=sizes,
                options={"causal": causal},
                keys=(f"d{dim}", f"d{dim} {mask}", f"d{dim} {mask} {length}"),
            )
            name = f"{title} d{dim} {mask} {batch}x{length}"
            recorded = tuple(
                Recorded(peer=peer, value=values[at], unit="TFLOP/s")
                for peer, values in known.items()
                if values[at]
            )
            yield Task(name=name, ours=ours, load=partial(_load, ours, recorded))


def _load(ours: Ours, recorded: tuple[Recorded, ...]) -> Load:
    import torch
    from torch.nn.attention import SDPBackend, sdpa_kernel
    from torch.nn.functional import scaled_dot_product_attention

    batch, length, dim = (ours.sizes[x] for x in ("B", "S", "dim"))
    causal = ours.options["causal"]
    shape = (batch, HEADS, length, dim)
    q, k, v, do = (torch.randn(shape, device="cuda", dtype=torch.float16) for _ in range(4))
    leaves = tuple(x.clone().requires_grad_() for x in (q, k, v))
    with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
        out = scaled_dot_product_attention(*leaves, is_causal=causal)
    o = out.detach()
    lse = _logarithms(q, k, causal)
    some = ((0, 0), (batch - 1, HEADS - 1))
    want = [_gradients(q[at], k[at], v[at], do[at], causal) for at in some]

    def error(found: Any) -> float:
        if not all(whole(x) for x in found):
            return math.inf
        return max(
            _off(x[at], e, causal)
            for at, exact in zip(some, want, strict=True)
            for x, e in zip(found, exact, strict=True)
        )

    return Load(
        work=10 * batch * HEADS * length * length * dim / (2 if causal else 1),
        unit="TFLOP/s",
        ours=lambda i: ours.call(q, k, v, o, do, lse),
        peers={
            "cuDNN": lambda i: torch.autograd.grad(out, leaves, do, retain_graph=True),
        },
        error=error,
        recorded=recorded,
    )


def _off(got: Any, want: Any, causal: bool) -> float:
    """Weights and their gradients are rounded to float16 one by one, so the error of a sum is to
    the sum as that of one; eight times that for the largest of many. Early rows of a causal mask
    have few weights near one, and show what rounding outputs did."""
    unit = EPSILON["float16"]
    size = float(want.square().mean().sqrt())
    return off(got, want, unit, 4 * unit * size + (2 * unit if causal else 0.0))


def _masked(score: Any, causal: bool) -> Any:
    import torch

    if causal:
        hidden = torch.ones(score.shape, dtype=torch.bool, device=score.device).triu_(1)
        score.masked_fill_(hidden, -math.inf)
    return score


def _logarithms(q: Any, k: Any, causal: bool) -> Any:
    """The logarithms to base 2 of the sums of exponentials of scaled scores, [B, heads, S]."""
    import torch

    found = torch.empty(q.shape[:3], device="cuda")
    scale = q.shape[-1] ** -0.5
    for b in range(q.shape[0]):
        for h in range(q.shape[1]):
            score = _masked(q[b, h].float() @ k[b, h].float().T, causal) * scale
            found[b, h] = score.logsumexp(-1) * math.log2(math.e)
    return found


def _gradients(q: Any, k: Any, v: Any, do: Any, causal: bool) -> tuple[Any, ...]:
    """dQ, dK, dV of one head, in float64."""
    q, k, v, do = (x.double() for x in (q, k, v, do))
    scale = q.shape[-1] ** -0.5
    p = _masked(q @ k.T * scale, causal).softmax(-1)
    dp = do @ v.T
    ds = p * (dp - (do * (p @ v)).sum(-1, keepdim=True)) * scale
    return ds @ k, ds.T @ q, p.T @ do
