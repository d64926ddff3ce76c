"""4-bit weights with 16-bit activations, N = K = 8192: groups of 128 share a scale and a zero.

One row is a kernel of its own, more rows are a product. Peers are the dense product and torch's own
4-bit product in the same run; others are recorded numbers, with their own formats.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from gpu_bench import (
    EPSILON,
    MATRIX_UNIT,
    Load,
    Ours,
    Recorded,
    Task,
    clones,
    copies_of,
    off,
    sum_error,
    whole,
)
from gpu_timing import EVENTS, GRAPH

N = K = 8192
GROUP = 128
DENSE_BARS = {16: 1.8, 64: 1.8, 128: 1.2, 4096: 0.97}
"""M -> the bar against the dense product."""
RECORDED_US = {
    1: {"TileLang gemv, no scales": (17.2, 1.4), "Triton": (29.7, 0.0)},
    16: {"Triton": (38.7, 0.0), "TileLang fp4, no scales": (45.2, 0.0)},
    64: {},
    128: {"Triton": (70.3, 0.0), "TileLang fp4, no scales": (57.9, 0.0)},
    4096: {"Triton": (1225.7, 0.0), "TileLang fp4, no scales": (1389.8, 0.0)},
}
"""M -> peer -> microseconds and bar."""
LARGE = 1024
"""From so many rows on the figure is work, below it is bytes."""


def w4a16() -> Iterator[Task]:
    """C = A @ ((W - zeros) * scales).T; `early` is a chain of dependent launches."""
    shape = f"x{N}x{K}"
    for early in (False, True):
        ours = Ours(
            name="gemv.gemv_w4a16_matrix",
            sizes={"N": N, "G": K // GROUP},
            options={"early": early},
        )
        name = f"w4a16 {'early ' * early}1{shape}"
        yield Task(name=name, ours=ours, load=partial(_load, ours, 1))
    for m in filter(lambda m: m > 1, RECORDED_US):
        sizes = {"M": m, "N": N, "K": K}
        ours = Ours(name="gemm_w4a16.matmul_w4a16", sizes=sizes, keys=(f"M{m}",))
        yield Task(name=f"w4a16 {m}{shape}", ours=ours, load=partial(_load, ours, m))


def _load(ours: Ours, m: int) -> Load:
    import torch
    from gpu_programs import example

    numbers = torch.randint(0, 16, (N, K), dtype=torch.uint8, device="cuda")
    scales = (torch.rand(N, K // GROUP, device="cuda") * 0.15 + 0.05).half()
    zeros = torch.randint(6, 10, (N, K // GROUP), device="cuda").half()
    a = torch.randn(m, K, device="cuda", dtype=torch.float16)
    on_host = (x.cpu().numpy() for x in (numbers, scales, zeros))
    words, facts = (torch.from_numpy(x).cuda() for x in example("gemm_w4a16").pack(*on_host))
    zero, scale = (x.repeat_interleave(GROUP, 1).float() for x in (zeros, scales))
    dense = ((numbers.float() - zero) * scale).half()
    count = copies_of(words.nbytes)
    ps, fs = clones(words, count), clones(facts, count)
    ds = clones(dense, copies_of(dense.nbytes))
    rows = torch.arange(0, m, max(1, m // 64), device="cuda")
    # The product rounds weights to float16 as the dense one does; for one row they stay exact.
    exact = (numbers.double() - zero.double()) * scale.double() if m == 1 else dense.double()
    want = a[rows].double() @ exact.T
    atol = MATRIX_UNIT * sum_error(K, scale=2.0)  # a weight is at most 9 * 0.2

    def own(i: int) -> Any:
        if m == 1:
            return ours.call(ps[i], fs[i], a.view(K // GROUP, GROUP))
        return ours.call(a, ps[i], fs[i])

    def error(out: Any) -> float:
        out = out.reshape(m, N)
        return off(out[rows], want, EPSILON["float16"], atol) if whole(out) else float("inf")

    return Load(
        work=2 * m * N * K if m >= LARGE else words.nbytes + facts.nbytes + 2 * m * (N + K),
        unit="TFLOP/s" if m >= LARGE else "GB/s",
        ours=own,
        peers={
            "dense fp16": lambda i: torch.matmul(a, ds[i % len(ds)].T),
            **_torch_packed(numbers, scales, zeros, a, m),
        },
        error=error,
        copies=count,
        bars={"dense fp16": DENSE_BARS.get(m, 0.0)},
        # They round what ours does not where there is one row, and to bfloat16.
        unchecked=("dense fp16", "torch int4"),
        recorded=tuple(
            Recorded(peer=peer, value=us, unit="us", bar=bar, how=EVENTS if m >= LARGE else GRAPH)
            for peer, (us, bar) in RECORDED_US[m].items()
        ),
    )


def _torch_packed(numbers: Any, scales: Any, zeros: Any, a: Any, m: int) -> dict[str, Any]:
    """torch's product with packed weights, where rows are few: bfloat16, and an offset where ours
    has a zero."""
    import torch

    if m > GROUP:
        return {}
    packed = torch.ops.aten._convert_weight_to_int4pack(
        (numbers[:, ::2] << 4 | numbers[:, 1::2]).contiguous(), 8
    )
    ws = clones(packed, copies_of(packed.nbytes))
    offsets = (8 - zeros.float()) * scales.float()
    facts = torch.stack([scales.T.float(), offsets.T], -1).bfloat16().contiguous()
    wide = a.bfloat16()
    call = torch.ops.aten._weight_int4pack_mm
    return {"torch int4": lambda i: call(wide, ws[i % len(ws)], GROUP, facts)}
