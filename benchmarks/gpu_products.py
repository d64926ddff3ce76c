"""Products: skinny fp16, fp8 with one scale and with scales of blocks, int8.

Peers are cuBLAS through torch and Triton in the same run; what TileLang reached is a recorded
number.
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
from gpu_timing import GRAPH

SKINNY_MEAN, SKINNY_EARLY_MEAN, FP8, FP8_BLOCKS, INT8 = 1.00, 1.05, 1.00, 0.95, 1.00
GROUP = 128
"""Columns that share a scale of a block."""
SHAPES = ((4096, 4096), (4096, 14336), (14336, 4096), (28672, 8192))
"""N, K"""
TILELANG_US = {
    "NN": {
        16: (10.6, 29.6, 31.3, 114.7),
        64: (12.2, 36.8, 33.2, 123.3),
        128: (14.4, 44.0, 40.3, 184.2),
    },
    "NT": {
        16: (10.6, 30.6, 32.4, 113.9),
        64: (12.6, 39.3, 33.5, 123.8),
        128: (15.0, 43.9, 41.4, 168.2),
    },
}
"""Layout -> M -> microseconds for each of SHAPES."""
RECORDED_FP8 = {
    4096: {"Triton": 1157, "TileLang": 1159},
    8192: {"Triton": 1262, "TileLang": 1242},
}
"""N -> TFLOP/s of single calls."""


def skinny(early: bool = False) -> Iterator[Task]:
    """A few rows times a large weight: C = A @ W (NN) or A @ W.T (NT). With `early` they are a
    chain in which a product asks for its weight before the one in front has ended."""
    for layout in ("NN", "NT"):
        for m in (16, 64, 128):
            for (n, k), us in zip(SHAPES, TILELANG_US[layout][m], strict=True):
                keys = (f"M{m}", f"M{m} N{n}", f"M{m} {n}x{k}", f"M{m} {n}x{k} {layout}")
                ours = Ours(
                    name="gemm_skinny.matmul_skinny",
                    sizes={"M": m, "N": n, "K": k},
                    options={"dtype": "float16", "turned": layout == "NT"},
                    keys=(*keys, "early", f"early M{m} N{n}") if early else keys,
                )
                load = partial(_skinny, ours, layout == "NT", us, early)
                word = "early " if early else ""
                yield Task(name=f"skinny f16 {word}{layout} {m}x{n}x{k}", ours=ours, load=load)


def skinny_early() -> Iterator[Task]:
    """The same as chains of dependent launches; peers are graphs of as many calls."""
    yield from skinny(early=True)


def _skinny(ours: Ours, turned: bool, us: float, early: bool = False) -> Load:
    import gpu_triton_more
    import torch

    m, n, k = (ours.sizes[x] for x in "MNK")
    a = _normal(m, k)
    ws = clones(_normal(*((n, k) if turned else (k, n))), copies_of(2 * n * k))
    want = a.double() @ (ws[0].T if turned else ws[0]).double()
    tried = gpu_triton_more.skinny(a, ws, turned)
    return Load(
        work=2 * (m * k + n * k + m * n),
        unit="GB/s",
        ours=lambda i: ours.call(a, ws[i]),
        peers={
            "cuBLAS": lambda i: torch.matmul(a, ws[i].T if turned else ws[i]),
            **({"Triton": tried} if tried else {}),
        },
        error=lambda out: off(out, want, EPSILON["float16"], MATRIX_UNIT * sum_error(k)),
        copies=len(ws),
        graphs=early,
        recorded=() if early else (Recorded(peer="TileLang", value=us, unit="us", how=GRAPH),),
    )


def fp8() -> Iterator[Task]:
    """C = (A @ B.T) * scales, e4m3 to bfloat16; the peer accumulates fast as well."""
    for n in (4096, 8192):
        sizes = dict.fromkeys("MNK", n)
        for blocks in (False, True):
            ours = Ours(
                name=f"gemm_fp8.matmul_fp8{'_blocks' if blocks else ''}",
                sizes=sizes,
                options={"dtype": "float8_e4m3fn"},
                keys=(f"{n}",),
            )
            name = f"fp8 {'blocks' if blocks else 'tensor'} {n}x{n}x{n}"
            make = _fp8_blocks if blocks else _fp8
            yield Task(name=name, ours=ours, load=partial(make, ours, n))


def _fp8(ours: Ours, n: int) -> Load:
    import torch

    count = copies_of(2 * n * n)
    a_s, bs = (clones(_normal(n, n).to(torch.float8_e4m3fn), count) for _ in range(2))
    scale_a, scale_b = (torch.full((1,), s, device="cuda") for s in (0.75, 1.25))
    rows = _some_rows(n)
    want = a_s[0][rows].double() @ bs[0].double().T * (0.75 * 1.25)

    def product(i: int) -> Any:
        return torch._scaled_mm(
            a_s[i], bs[i].T, scale_a, scale_b, out_dtype=torch.bfloat16, use_fast_accum=True
        )

    return Load(
        work=2 * n**3,
        unit="TFLOP/s",
        ours=lambda i: ours.call(a_s[i], bs[i], scale_a, scale_b),
        peers={"torch": product},
        copies=count,
        error=lambda out: _of_rows(out, rows, want, EPSILON["bfloat16"], sum_error(n, "float8")),
        bars={"torch": FP8},
        recorded=tuple(
            Recorded(peer=peer, value=value, unit="TFLOP/s")
            for peer, value in RECORDED_FP8[n].items()
        ),
    )


def _fp8_blocks(ours: Ours, n: int) -> Load:
    import torch

    a, b = (_normal(n, n).to(torch.float8_e4m3fn) for _ in range(2))
    groups = n // GROUP
    scale_a = torch.rand(n, groups, device="cuda") + 0.5
    scale_b = torch.rand(groups, groups, device="cuda") + 0.5
    turned = scale_a.T.contiguous().T
    rows = _some_rows(n)
    left = a[rows].double() * scale_a[rows].double().repeat_interleave(GROUP, 1)
    spread = scale_b.double().repeat_interleave(GROUP, 0).repeat_interleave(GROUP, 1)
    want = left @ (b.double() * spread).T
    # Sums of a group are those of the matrix unit, and independent of each other.
    atol = 1.5**2 * (sum_error(GROUP, "float8") * groups**0.5 + sum_error(n))
    return Load(
        work=2 * n**3,
        unit="TFLOP/s",
        ours=lambda i: ours.call(a, b, turned.T, scale_b),
        peers={
            "torch": lambda i: torch._scaled_mm(a, b.T, turned, scale_b.T, out_dtype=torch.bfloat16)
        },
        error=lambda out: _of_rows(out, rows, want, EPSILON["bfloat16"], atol),
        bars={"torch": FP8_BLOCKS},
    )


def int8() -> Iterator[Task]:
    """C = A @ B.T, exact in int32."""
    n = 4096
    ours = Ours(name="gemm_int8.matmul_int8", sizes=dict.fromkeys("MNK", n))
    yield Task(name=f"int8 {n}x{n}x{n}", ours=ours, load=partial(_int8, ours, n))


def _int8(ours: Ours, n: int) -> Load:
    import gpu_triton_more
    import torch

    a, b = (torch.randint(-128, 128, (n, n), dtype=torch.int8, device="cuda") for _ in range(2))
    rows = _some_rows(n)
    want = a[rows].double() @ b.double().T
    tried = gpu_triton_more.int8(a, b)
    return Load(
        work=2 * n**3,
        unit="TFLOP/s",
        ours=lambda i: ours.call(a, b),
        peers={
            "torch": lambda i: torch._int_mm(a, b.T),
            **({"Triton": tried} if tried else {}),
        },
        # Sums are exact; what is allowed is less than the smallest error.
        error=lambda out: _of_rows(out, rows, want, 0.0, 0.5),
        bars={"Triton": INT8},
        recorded=(
            Recorded(peer="Triton", value=1084, unit="TFLOP/s", bar=INT8),
            Recorded(peer="TileLang", value=1011, unit="TFLOP/s"),
        ),
    )


def _normal(*shape: int) -> Any:
    import torch

    return torch.randn(shape, device="cuda", dtype=torch.float16)


def _some_rows(n: int) -> Any:
    """The rows that are compared: the first and last ones of blocks, and some between."""
    import torch

    return torch.cat((torch.arange(0, n, 61), torch.arange(n - 8, n))).cuda()


def _of_rows(out: Any, rows: Any, want: Any, rtol: float, atol: float) -> float:
    return off(out[rows], want, rtol, atol) if whole(out) else float("inf")
