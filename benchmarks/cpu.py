"""CPU kernels from tile source beside numpy and torch, in one run.

Each thread count is its own process, so that every library sees its thread limit from the start;
ours and the peer alternate within it. OpenBLAS is left to pick its own kernel: variables that pin
it are removed.

    python benchmarks/cpu.py --json FILE --check
    python benchmarks/cpu.py --all --json FILE --check

`--all` runs the examples instead, at all cores, each beside torch's way to do the same.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from report import Row, finish, medians, parser, versions

GEMM_BAR = 0.95
HALF_BAR = 0.9


def _gflops(n: int, seconds: float) -> float:
    return 2 * n**3 / seconds / 1e9


def gemm_rows(threads: int) -> Iterator[Row]:
    """fp32 against numpy and torch, bf16 against torch, fp16 against our own fp32."""
    import ml_dtypes
    import numpy as np
    import torch
    from cpu_kernels import matmul

    import tile_frontend.language as T

    rng = np.random.default_rng(0)
    for n in (1024, 2048):
        a = rng.standard_normal((n, n), dtype=np.float32)
        b = rng.standard_normal((n, n), dtype=np.float32)
        ta, tb = torch.from_numpy(a), torch.from_numpy(b)
        ha, hb = a.astype(np.float16), b.astype(np.float16)
        ba, bb = ta.bfloat16(), tb.bfloat16()
        na, nb = (x.astype(ml_dtypes.bfloat16) for x in (a, b))
        truth = a.astype(np.float64) @ b.astype(np.float64)
        for x, y, dtype, tol in (
            (a, b, T.float32, 1e-4),
            (ha, hb, T.float16, 3e-3),
            (na, nb, T.bfloat16, 2e-2),
        ):
            error = np.abs(np.asarray(matmul(x, y, dtype)).astype(np.float64) - truth).max()
            assert error / np.abs(truth).max() < tol, (n, dtype, error)
        ours, np_s, torch_s, half, bf, torch_bf = medians(
            [
                lambda a=a, b=b: matmul(a, b, T.float32),
                lambda a=a, b=b: a @ b,
                lambda ta=ta, tb=tb: ta @ tb,
                lambda ha=ha, hb=hb: matmul(ha, hb, T.float16),
                lambda na=na, nb=nb: matmul(na, nb, T.bfloat16),
                lambda ba=ba, bb=bb: ba @ bb,
            ],
            rounds=9,
            budget_s=8,
        )
        for name, mine, peer, peer_name, bar in (
            ("fp32", ours, np_s, "numpy/OpenBLAS", GEMM_BAR),
            ("fp32", ours, torch_s, "torch", 1.0),
            ("bf16", bf, torch_bf, "torch", GEMM_BAR),
            ("fp16 input", half, ours, "our fp32", HALF_BAR),
        ):
            mine_rate, peer_rate = _gflops(n, mine), _gflops(n, peer)
            yield Row(
                f"gemm {name} {n} vs {peer_name}, {threads} thread{'s' * (threads > 1)}",
                mine_rate,
                peer_rate,
                peer_name,
                "GFLOP/s",
                mine_rate / peer_rate,
                bar,
            )


def _timed(name: str, ours: Callable[[], object], peer: Callable[[], object], threads: int) -> Row:
    mine, theirs = (s * 1e3 for s in medians([ours, peer], rounds=9, budget_s=4))
    label = f"{name}, {threads} thread{'s' * (threads > 1)}"
    return Row(label, mine, theirs, "torch", "ms", theirs / mine, 1.0)


def row_wise_rows(threads: int) -> Iterator[Row]:
    """softmax, RMSNorm and LayerNorm over 4096 x 4096 against torch."""
    import numpy as np
    import torch
    import torch.nn.functional as F
    from cpu_kernels import layer_norm, rms_norm, softmax

    rng = np.random.default_rng(1)
    x = torch.from_numpy(rng.standard_normal((4096, 4096), dtype=np.float32))
    w, b = (torch.from_numpy(rng.standard_normal(4096, dtype=np.float32)) for _ in range(2))
    cases = {
        "softmax 4096x4096": (lambda: softmax(x), lambda: torch.softmax(x, 1)),
        "rms_norm 4096x4096": (lambda: rms_norm(x, w), lambda: F.rms_norm(x, (4096,), w, 1e-6)),
        "layer_norm 4096x4096": (
            lambda: layer_norm(x, w, b),
            lambda: F.layer_norm(x, (4096,), w, b, 1e-5),
        ),
    }
    for name, (ours, peer) in cases.items():
        torch.testing.assert_close(ours(), peer(), rtol=1e-4, atol=1e-5)
        yield _timed(name, ours, peer, threads)


def attention_rows(threads: int) -> Iterator[Row]:
    """Flash attention against torch's scaled_dot_product_attention, causal and full."""
    import torch
    import torch.nn.functional as F
    from cpu_kernels import attention

    torch.manual_seed(0)
    q, k, v = (torch.randn(2, 8, 1024, 64) for _ in range(3))
    for causal in (True, False):

        def ours(causal: bool = causal) -> object:
            return attention(q, k, v, causal)

        def peer(causal: bool = causal) -> object:
            return F.scaled_dot_product_attention(q, k, v, is_causal=causal)

        torch.testing.assert_close(ours(), peer(), rtol=1e-4, atol=1e-5)
        yield _timed(f"attention 2x8x1024x64 {'causal' if causal else 'full'}", ours, peer, threads)


FAMILIES = {"gemm": gemm_rows, "row": row_wise_rows, "attention": attention_rows}


def cookbook_rows(threads: int, only: str) -> Iterator[Row]:
    """Every example that torch has something for."""
    from cpu_attention import ATTENTION
    from cpu_cookbook import rows_of
    from cpu_products import PRODUCTS
    from cpu_rows import ROWS

    return rows_of({**PRODUCTS, **ATTENTION, **ROWS}, threads, only)


def worker(threads: int, only: str, everything: bool) -> None:
    """Measure in this process and print the rows as JSON lines."""
    import torch

    torch.set_num_threads(threads)
    families = [cookbook_rows(threads, only)] if everything else _families(threads, only)
    for family in families:
        for row in family:
            print(json.dumps(row.__dict__), flush=True)


def _families(threads: int, only: str) -> list[Iterator[Row]]:
    return [rows(threads) for f, rows in FAMILIES.items() if not only or f in only.split(",")]


def _spawn(threads: int, only: str, everything: bool) -> list[Row]:
    keep = {k: v for k, v in os.environ.items() if not k.startswith("OPENBLAS_")}
    limits = dict.fromkeys(
        ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "TILE_NUM_THREADS"),
        str(threads),
    )
    command = [sys.executable, __file__, "--worker", str(threads), "--only", only]
    command += ["--all"] * everything
    here = str(Path(__file__).parent)
    out = subprocess.run(
        command, env=keep | limits, cwd=here, stdout=subprocess.PIPE, text=True, check=True
    ).stdout
    return [Row(**json.loads(line)) for line in out.splitlines() if line.startswith("{")]


def main() -> int:
    """Run every family at one and two threads, or all examples at as many as there are cores."""
    options = parser(__doc__)
    options.add_argument("--all", action="store_true", help="the examples, at all cores")
    options.add_argument("--worker", type=int, help="measure at this many threads, in this process")
    args = options.parse_args()
    if args.worker:
        worker(args.worker, args.only, args.all)
        return 0
    cores = os.cpu_count() or 1
    counts = [cores] if args.all else [1, 2][:cores]
    rows = [row for threads in counts for row in _spawn(threads, args.only, args.all)]
    return finish(rows, args, versions("tile-frontend", "tile-cpu", "numpy", "torch"))


if __name__ == "__main__":
    raise SystemExit(main())
