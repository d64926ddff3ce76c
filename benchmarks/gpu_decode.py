"""Decoding: one new token per sequence against many keys, with few key heads (GQA) or with one
latent key for all heads (MLA).

Our GQA reads keys in pages, which are in random order; the peers get the same numbers in one piece.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial
from typing import Any

from gpu_bench import EPSILON, Load, Ours, Recorded, Task, clones, copies_of, off, whole

HEADS, KV_HEADS, DIM, PAGE, KEYS = 32, 8, 128, 64, 8192
GQA_US = {1: 24.2, 32: 294.9, 128: 1061.9}
"""Batch -> TileLang's microseconds."""
TRITON_SPLITS = {1: 16, 32: 2, 128: 2}
"""Batch -> into how many parts Triton's best configuration cuts the keys."""
GQA = 1.0
MLA_HEADS, LATENT, ROPE = 128, 512, 64
MLA_US = {
    (64, 1024): 52.6,
    (64, 2048): 91.1,
    (64, 4096): 167.8,
    (64, 8192): 309.5,
    (128, 1024): 99.9,
    (128, 2048): 176.9,
    (128, 4096): 325.0,
    (128, 8192): 616.7,
}
"""Batch and keys -> the better of TileLang's two kernels, in microseconds."""
FLASH_MLA = {1024: 355, 2048: 440, 4096: 483, 8192: 495}
"""Keys -> TFLOP/s of FlashMLA at batch 128, read off a chart of an H100."""
MLA, MLA_LEAST = 1.2, {(128, 8192): 580.0}
PLANNED, BY_HAND = "mla_decode.mla_decode", "mla_decode_roles.mla_decode_roles"
"""The kernel whose schedule is planned, and the one with roles by hand, which the bars are for."""
VALUES = 4.0
"""Values are normal: within four, which bounds what rounding of the weights does."""


def gqa() -> Iterator[Task]:
    """Eight key heads, four query heads each, 8192 keys; early, the pages of a short one are asked
    for while the kernel in front still runs, which wrote none of them."""
    for how, batch in (*(("", batch) for batch in GQA_US), ("early ", 1)):
        most = KEYS // PAGE
        sizes = {
            "B": batch,
            "heads": HEADS,
            "dim": DIM,
            "pages": batch * most,
            "page": PAGE,
            "kv_heads": KV_HEADS,
            "most": most,
        }
        keys = (f"B{batch}", f"{how}B{batch}")
        ours = Ours(name="flash_decoding.flash_decoding", sizes=sizes, keys=keys)
        load = partial(_gqa, ours, batch)
        yield Task(name=f"gqa decode {how}batch {batch}", ours=ours, load=load)


def _gqa(ours: Ours, batch: int) -> Load:
    import gpu_triton_more
    import torch

    most = KEYS // PAGE
    kind = {"device": "cuda", "dtype": torch.float16}
    q = torch.randn(batch, HEADS, DIM, **kind)
    pages = [torch.randn(batch * most, PAGE, KV_HEADS, DIM, **kind) for _ in range(2)]
    count = copies_of(2 * pages[0].nbytes)
    order = torch.randperm(batch * most, device="cuda")
    table = order.view(batch, most).int()
    lengths = torch.full((batch,), KEYS, device="cuda", dtype=torch.int32)
    ks, vs = (clones(_in_one_piece(p, order, batch), count) for p in pages)
    all_pages = [clones(p, count) for p in pages]
    some = sorted({0, batch - 1})
    want = torch.stack([_attended(q[b], ks[0][b], vs[0][b]) for b in some])
    tried = gpu_triton_more.gqa(q, ks, vs, TRITON_SPLITS[batch])
    return Load(
        work=2 * ks[0].nbytes + 2 * q.nbytes,
        unit="GB/s",
        ours=lambda i: ours.call(q, *(p[i] for p in all_pages), table, lengths),
        peers={
            "cuDNN": partial(_folded, "CUDNN_ATTENTION", q, ks, vs),
            "flash": partial(_folded, "FLASH_ATTENTION", q, ks, vs),
            **({"Triton": tried} if tried else {}),
        },
        error=lambda out: _of_some(out, some, want),
        best=GQA,
        copies=count,
        recorded=(Recorded(peer="TileLang", value=GQA_US[batch], unit="us"),),
    )


def _in_one_piece(pages: Any, order: Any, batch: int) -> Any:
    """[B, kv_heads, S, dim] of pages in order."""
    return pages[order].view(batch, KEYS, KV_HEADS, DIM).transpose(1, 2).contiguous()


def _attended(q: Any, k: Any, v: Any) -> Any:
    """[heads, dim] of one sequence, in float64."""
    group = HEADS // KV_HEADS
    grouped = q.double().view(KV_HEADS, group, DIM)
    score = grouped @ k.double().transpose(1, 2) / math.sqrt(DIM)
    return (score.softmax(-1) @ v.double()).view(HEADS, DIM)


def _folded(backend: str, q: Any, ks: Any, vs: Any, i: int) -> Any:
    """The query heads of a key head as rows of one query, which needs no mask."""
    from torch.nn.attention import SDPBackend, sdpa_kernel
    from torch.nn.functional import scaled_dot_product_attention

    with sdpa_kernel(getattr(SDPBackend, backend)):
        folded = q.view(len(q), KV_HEADS, HEADS // KV_HEADS, DIM)
        return scaled_dot_product_attention(folded, ks[i], vs[i]).reshape(q.shape)


def mla() -> Iterator[Task]:
    """128 heads share a latent key of 512 numbers and 64 more for the position."""
    for kernel, how in ((PLANNED, ""), (BY_HAND, "by roles ")):
        for batch, keys in MLA_US:
            sizes = {"B": batch, "heads": MLA_HEADS, "latent": LATENT, "rope": ROPE, "S": keys}
            ours = Ours(
                name=kernel,
                sizes=sizes,
                options={"scale": (LATENT + ROPE) ** -0.5},
                keys=(f"B{batch}", f"B{batch} S{keys}"),
            )
            name = f"mla decode {how}batch {batch} keys {keys}"
            yield Task(name=name, ours=ours, load=partial(_mla, ours, batch, keys))


def _mla(ours: Ours, batch: int, keys: int) -> Load:
    import torch

    kind = {"device": "cuda", "dtype": torch.float16}
    q, q_pos = (torch.randn(batch, MLA_HEADS, width, **kind) for width in (LATENT, ROPE))
    kv, k_pos = (torch.randn(batch, keys, width, **kind) for width in (LATENT, ROPE))
    kvs, k_poss = clones(kv, count := copies_of(kv.nbytes)), clones(k_pos, count)
    scale = (LATENT + ROPE) ** -0.5
    queries, keys_of = torch.cat((q, q_pos), -1), torch.cat((kv, k_pos), -1)
    some = sorted({0, batch - 1})
    want = torch.stack(
        [
            (queries[b].double() @ keys_of[b].double().T * scale).softmax(-1) @ kv[b].double()
            for b in some
        ]
    )

    all_keys = clones(keys_of, count)

    def by_parts(i: int) -> Any:
        score = torch.bmm(queries, all_keys[i].transpose(1, 2)).mul_(scale)
        return torch.bmm(torch.softmax(score, -1), all_keys[i][..., :LATENT])

    barred = ours.name == BY_HAND
    bar = MLA if barred else 0.0
    known = [Recorded(peer="TileLang", value=MLA_US[batch, keys], unit="us", bar=bar)]
    if batch == MLA_HEADS:
        known.append(Recorded(peer="FlashMLA on H100", value=FLASH_MLA[keys], unit="TFLOP/s"))
    return Load(
        work=2 * batch * MLA_HEADS * keys * (2 * LATENT + ROPE),
        unit="TFLOP/s",
        ours=lambda i: ours.call(q, q_pos, kvs[i], k_poss[i]),
        copies=count,
        peers={"torch bmm": by_parts},
        error=lambda out: _of_some(out, some, want),
        recorded=tuple(known),
        least=MLA_LEAST.get((batch, keys), 0.0) if barred else 0.0,
    )


def _of_some(out: Any, some: list[int], want: Any) -> float:
    # Weights and output are rounded to float16; weights are at most one together.
    unit = EPSILON["float16"]
    return off(out[some], want, unit, VALUES * unit / 2) if whole(out) else math.inf
