"""Products of matrices on the CPU: the examples' GEMM family and what torch has for each."""

from __future__ import annotations

from functools import cache, partial
from typing import Any

import torch
from cpu_cookbook import Call, Pair, element, example_call, normal
from gpu_programs import example
from torch.nn import functional as F

import tile_frontend.language as T

TILES = {"block_M": 112, "block_N": 512, "block_K": 512}
"""Tiles that suit caches instead of a block of threads."""
DEEP = {**TILES, "block_K": 1024}
"""For narrow operands: a block as deep costs no more cache, and the result is written once."""
HALVES = {**TILES, "block_N": 256}
"""For results of 512 columns: each of two workers packs a half of B, once."""
F32, BF16, F16 = torch.float32, torch.bfloat16, torch.float16
FP8 = torch.float8_e4m3fn
GROUP = 128


def _square(name: str, dtype: torch.dtype, **options: Any) -> Pair:
    a, b = normal(1024, 1024, dtype=dtype), normal(1024, 1024, dtype=dtype)
    options = {**(TILES if dtype is F32 else DEEP), "dtype": element(dtype), **options}
    return Pair(ours=example_call(name, a, b, **options), peers={"matmul": lambda: a @ b})


def _long(name: str, **options: Any) -> Pair:
    a, b = normal(64, 8192), normal(8192, 256)
    ours = example_call(name, a, b, dtype=T.float32, block_M=64, **options)
    return Pair(ours=ours, peers={"matmul": lambda: a @ b})


def _batched() -> Pair:
    a, b = normal(8, 512, 512), normal(8, 512, 512)
    ours = example_call("gemm_batched.matmul_batched", a, b, dtype=T.float32, **TILES)
    return Pair(ours=ours, peers={"bmm": lambda: torch.bmm(a, b.transpose(1, 2))})


def _skinny(m: int, dtype: torch.dtype) -> Pair:
    a, w = normal(m, 4096, dtype=dtype), normal(4096, 4096, dtype=dtype)
    ours = example_call(
        "gemm_skinny.matmul_skinny",
        *(a, w),
        dtype=element(dtype),
        block_M=m,
        block_N=64 if m > 1 else 8,
        block_K=2048 // dtype.itemsize if m > 1 else 256,
    )
    return Pair(ours=ours, peers={"linear": lambda: F.linear(a, w)})


def _gelu() -> Pair:
    a, b, bias = normal(1024, 1024), normal(1024, 1024), normal(1024)
    ours = example_call("gemm_epilogue.matmul_bias_gelu", a, b, bias, dtype=T.float32)
    return Pair(ours=ours, peers={"addmm, gelu": lambda: F.gelu(torch.addmm(bias, a, b))})


def _residual() -> Pair:
    a, b, r = normal(1024, 1024), normal(1024, 1024), normal(1024, 1024)
    ours = example_call("gemm_epilogue.matmul_residual", a, b, r, dtype=T.float32, alpha=0.5)
    return Pair(ours=ours, peers={"addmm": lambda: torch.addmm(r, a, b, alpha=0.5)})


def _quantize() -> Pair:
    a, b = normal(1024, 1024), normal(1024, 1024)

    def theirs() -> Any:
        tiles = (a @ b).view(1024, -1, 64)
        scales = tiles.abs().amax(2) / 127
        return (tiles / scales[..., None]).round_().to(torch.int8).view(1024, 1024), scales

    options = {"dtype": T.float32, "out": T.int8, "largest": 127}
    ours = example_call("gemm_epilogue.matmul_quantize", a, b, **options)
    # A number that lies between two steps may go to either.
    return Pair(ours=ours, peers={"matmul, amax, div, round": theirs}, near=1.01 / 127)


def _grouped() -> Pair:
    sizes = [512, 0, 128, 384]
    a, w = normal(sum(sizes), 512), normal(len(sizes), 512, 1024)
    counts = torch.tensor(sizes, dtype=torch.int32)
    ours = example_call(
        "gemm_grouped.matmul_grouped",
        *(a, w, counts),
        dtype=T.float32,
        block_M=128,  # no tile crosses from one group to the next
        block_N=512,
        block_K=512,
    )

    def theirs() -> torch.Tensor:
        parts = a.split(counts.tolist())
        return torch.cat([part @ w[g] for g, part in enumerate(parts)])

    return Pair(ours=ours, peers={"matmul by group": theirs})


def _int8(scaled: bool) -> Pair:
    a, b = (torch.randint(-128, 128, (1024, 1024), dtype=torch.int8) for _ in range(2))
    tiles = {**DEEP, "block_N": 256}
    if not scaled:
        ours = example_call("gemm_int8.matmul_int8", a, b, **tiles)
        return Pair(ours=ours, peers={"_int_mm": lambda: torch._int_mm(a, b.t())})
    rows, columns = torch.rand(1024) / 1e3, torch.rand(1024) / 1e3
    ours = example_call("gemm_int8.matmul_int8_scaled", a, b, rows, columns, **tiles)

    def theirs() -> torch.Tensor:
        return (torch._int_mm(a, b.t()).float().mul_(rows[:, None]).mul_(columns)).half()

    return Pair(ours=ours, peers={"_int_mm, mul": theirs})


def _fp8(blocks: bool) -> Pair:
    m, n, k = 512, 512, 1024
    a, b = normal(m, k, dtype=FP8), normal(n, k, dtype=FP8)
    if not blocks:
        one, two = torch.tensor([0.5]), torch.tensor([2.0])
        ours = example_call("gemm_fp8.matmul_fp8", a, b, one, two, dtype=T.float8_e4m3fn, **HALVES)
        peers = {
            "_scaled_mm": lambda: torch._scaled_mm(
                a, b.t(), one.squeeze(), two.squeeze(), out_dtype=BF16
            ),
            "matmul of bfloat16": lambda: (a.to(BF16) @ b.to(BF16).t()) * (one * two).to(BF16),
        }
        return Pair(ours=ours, peers=peers)
    rows, columns = torch.rand(k // GROUP, m) + 0.5, torch.rand(n // GROUP, k // GROUP) + 0.5
    tiles = {"block_M": 112, "block_N": 128, "dtype": T.float8_e4m3fn}
    ours = example_call("gemm_fp8.matmul_fp8_blocks", a, b, rows, columns, **tiles)

    def theirs(dtype: torch.dtype) -> torch.Tensor:
        wide_a = a.to(dtype).view(m, -1, GROUP) * rows.t().to(dtype)[..., None]
        wide_b = b.to(dtype).view(-1, GROUP, k // GROUP, GROUP)
        wide_b = wide_b * columns.to(dtype)[:, None, :, None]
        return (wide_a.view(m, k) @ wide_b.view(n, k).t()).to(BF16)

    peers = {"matmul of bfloat16": partial(theirs, BF16), "matmul of float32": partial(theirs, F32)}
    return Pair(ours=ours, peers=peers)


@cache
def _fp4_table() -> torch.Tensor:
    """Byte -> the two numbers it holds."""
    values = torch.tensor([0, 0.5, 1, 1.5, 2, 3, 4, 6])
    values = torch.cat([values, -values])
    byte = torch.arange(256)
    return torch.stack([values[byte & 15], values[byte >> 4]], 1)


def _fp4(shared: bool) -> Pair:
    m, n, k = 256, 512, 1024
    a, w = normal(m, k, dtype=BF16), torch.randint(0, 256, (n, k // 2), dtype=torch.uint8)
    table = _fp4_table().to(BF16)
    tiles = {"block_M": 256, "block_N": 64, "block_K": 256}
    if shared:
        exponents = torch.randint(120, 130, (n, k // 32), dtype=torch.uint8)

        def theirs() -> torch.Tensor:
            scales = torch.exp2(exponents.float() - 127).to(BF16)
            wide = table[w.int()].view(n, -1, 32) * scales[..., None]
            return F.linear(a, wide.view(n, k))

        ours = example_call("gemm_fp4.matmul_mxfp4", a, w, exponents, **tiles)
    else:
        scale = torch.rand(n) + 0.5

        def theirs() -> torch.Tensor:
            return F.linear(a, table[w.int()].view(n, k)) * scale.to(BF16)

        ours = example_call("gemm_fp4.matmul_fp4", a, w, scale, **tiles)
    return Pair(ours=ours, peers={"table, linear": theirs})


def _sparse(dtype: torch.dtype) -> Pair:
    n, m, k = 512, 256, 1024
    module = example("gemm_sparse")
    kept, places = (torch.from_numpy(x) for x in module.compress(normal(n, k).numpy()))
    kept, a = kept.to(dtype), normal(m, k, dtype=dtype)
    shifts = torch.arange(0, 16, 4)

    def theirs() -> torch.Tensor:
        codes = (places.int()[..., None] >> shifts) & 15
        pairs = torch.stack([codes & 3, codes >> 2], 3).view(n, k // 4, 2)
        dense = torch.zeros(n, k // 4, 4, dtype=dtype)
        dense.scatter_(2, pairs.long(), kept.view(n, k // 4, 2))
        return dense.view(n, k) @ a.t()

    options = {"dtype": element(dtype), "block_M": 256, "block_N": 64, "block_K": 256}
    ours = example_call("gemm_sparse.matmul_sparse", kept, places, a, **options)
    return Pair(ours=ours, peers={"scatter, matmul": theirs})


def _w8a16(m: int) -> Pair:
    n = k = 2048
    a, w = normal(m, k, dtype=F16), torch.randint(-127, 128, (n, k), dtype=torch.int8)
    scales = torch.rand(n) / 127
    halves = scales.half()
    tiles = {"block_M": m, "block_N": 128, "block_K": 256}
    ours = example_call("gemm_w8a16.matmul_w8a16", a, w, scales, **tiles)
    peers = {
        "_weight_int8pack_mm": lambda: torch._weight_int8pack_mm(a, w, halves),
        "linear": lambda: F.linear(a, w.to(F16)) * halves,
        "linear of float32": lambda: (F.linear(a.float(), w.float()) * scales).to(F16),
    }
    rough = {"linear of bfloat16": lambda: (F.linear(a.to(BF16), w.to(BF16)) * scales).to(F16)}
    return Pair(ours=ours, peers=peers, rough=rough)


def _packed_w4(n: int, k: int) -> tuple[Any, Any, torch.Tensor, torch.Tensor]:
    """Words and facts as the example packs them; torch's words and scales of the same weights."""
    weights = torch.randint(0, 16, (n, k))
    scales, zeros = torch.rand(n, k // GROUP) / 10 + 0.05, torch.randint(6, 10, (n, k // GROUP))
    scales = scales.half().float()
    packed = example("gemm_w4a16").pack(weights.numpy(), scales.numpy(), zeros.numpy())
    words, facts = (torch.from_numpy(x) for x in packed)
    theirs = torch._convert_weight_to_int4pack_for_cpu(weights.int(), 1)
    both = torch.stack([scales.t(), ((8 - zeros) * scales).t()], 2)
    return words, facts, theirs, both.contiguous()


def _w4_pair(ours: Call, a: torch.Tensor, theirs: torch.Tensor, both: torch.Tensor) -> Pair:
    def product(dtype: torch.dtype) -> torch.Tensor:
        wide = a.to(dtype)
        return torch._weight_int4pack_mm_for_cpu(wide, theirs, GROUP, given[dtype]).half()

    given = {dtype: both.to(dtype) for dtype in (F16, F32, BF16)}
    name = "_weight_int4pack_mm"
    peers = {name: partial(product, F16), f"{name} of float32": partial(product, F32)}
    return Pair(ours=ours, peers=peers, rough={f"{name} of bfloat16": partial(product, BF16)})


def _w4a16(m: int) -> Pair:
    n = k = 2048
    words, facts, theirs, both = _packed_w4(n, k)
    a = normal(m, k, dtype=F16)
    name, by_group = "gemm_w4a16.matmul_w4a16_lanes", a.view(m, -1, GROUP)
    ours = example_call(name, by_group, words.view(n, k // GROUP, -1), facts, rows=512)
    return _w4_pair(ours, a, theirs, both)


def _gemv_w4() -> Pair:
    n = k = 4096
    words, facts, theirs, both = _packed_w4(n, k)
    x = normal(k, dtype=F16)
    words = words.view(n, k // GROUP, -1)
    ours = example_call("gemv_lanes.gemv_w4a16_lanes", words, facts, x.view(-1, GROUP))
    return _w4_pair(lambda: ours()[None], x[None], theirs, both)


def _gemv(dtype: torch.dtype) -> Pair:
    w, x = normal(4096, 4096, dtype=dtype), normal(4096, dtype=dtype)
    ours = example_call("gemv.gemv", w, x, dtype=element(dtype))
    return Pair(ours=ours, peers={"mv": lambda: w @ x})


def _convolution(size: int, channels: int, taps: int, stride: int) -> Pair:
    x = normal(2, size, size, channels)
    w = normal(taps, taps, channels, channels)
    pad = taps // 2
    options = {"dtype": T.float32, "stride": stride, "padding": pad}
    blocks = {"block_M": 56 // stride, "block_N": channels, "block_K": channels}
    ours = example_call("convolution.convolution", x, w, **blocks, **options)
    seen = x.permute(0, 3, 1, 2)
    filters = w.permute(3, 2, 0, 1).contiguous(memory_format=torch.channels_last)

    def theirs() -> torch.Tensor:
        return F.conv2d(seen, filters, stride=stride, padding=pad).permute(0, 2, 3, 1)

    return Pair(ours=ours, peers={"conv2d": theirs})


PRODUCTS = {
    "gemm_persistent 1024 f32": partial(
        # Blocks of B are packed for every tile: the fewer, the better.
        *(_square, "gemm_persistent.matmul_persistent", F32),
        block_M=266,
        workers=2,
    ),
    "gemm_tuned 1024 bf16": partial(_square, "gemm_tuned.matmul", BF16),
    "gemm_split_k 64x256x8192 f32": partial(_long, "gemm_split_k.matmul_split_k", splits=2),
    "gemm_stream_k 64x256x8192 f32": partial(
        _long, "gemm_stream_k.matmul_stream_k", workers=2, block_N=128, block_K=512
    ),
    "gemm_batched 8x512 f32": _batched,
    "gemm_skinny 1x4096x4096 bf16": partial(_skinny, 1, BF16),
    "gemm_skinny 16x4096x4096 f32": partial(_skinny, 16, F32),
    "gemm_skinny 64x4096x4096 bf16": partial(_skinny, 64, BF16),
    "gemm_epilogue gelu 1024 f32": _gelu,
    "gemm_epilogue residual 1024 f32": _residual,
    "gemm_epilogue quantize 1024 f32": _quantize,
    "gemm_grouped 1024x1024x512 f32": _grouped,
    "gemm_int8 1024": partial(_int8, False),
    "gemm_int8 scaled 1024": partial(_int8, True),
    "gemm_fp8 512x512x1024": partial(_fp8, False),
    "gemm_fp8 blocks 512x512x1024": partial(_fp8, True),
    "gemm_fp4 256x512x1024": partial(_fp4, False),
    "gemm_mxfp4 256x512x1024": partial(_fp4, True),
    "gemm_sparse 512x256x1024 bf16": partial(_sparse, BF16),
    "gemm_w8a16 16x2048x2048": partial(_w8a16, 16),
    "gemm_w8a16 128x2048x2048": partial(_w8a16, 128),
    "gemm_w4a16 16x2048x2048": partial(_w4a16, 16),
    "gemv 4096x4096 f32": partial(_gemv, F32),
    "gemv 4096x4096 bf16": partial(_gemv, BF16),
    "gemv w4a16 4096x4096": _gemv_w4,
    "convolution 2x56x56x64 3x3 f32": partial(_convolution, 56, 64, 3, 1),
    "convolution 2x56x56x64 3x3 stride 2 f32": partial(_convolution, 56, 64, 3, 2),
    "convolution 2x28x28x256 1x1 f32": partial(_convolution, 28, 256, 1, 1),
}
"""Name -> the comparison."""
