"""GPU kernels from tile source beside the vendor's library and Triton, on the same tensors, in one
run.

The tile parameters come from parameters/<device>.yaml; the planner decides everything else. Each
result is checked before it is timed. Rows whose bar is 0 are reported only.

    python benchmarks/gpu.py gemm attention --json FILE --check
    python benchmarks/gpu.py cookbook --json FILE --check      # all but those two and gemm_sm80
    python benchmarks/gpu.py --all --json FILE --check

Kernels are built in parallel before anything is measured. On a machine without a GPU they can be
prepared for one, and measured there without building any:

    python benchmarks/gpu.py --all --prepare FOLDER
    python benchmarks/gpu.py --all --prepared FOLDER --json FILE --check
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import gpu_backward
import gpu_decode
import gpu_memory
import gpu_products
import gpu_weights
from gpu_bench import Poison, Task, mean_of_best, measured
from gpu_build import Case, build, build_all, use_prepared
from gpu_parameters import parameters, split
from gpu_timing import medians_ms
from report import Row, finish, parser, versions

LLM = [(4096, n, k) for n, k in ((4096, 4096), (14336, 4096), (4096, 14336), (28672, 8192))]
CUBES = [(n, n, n) for n in (2048, 4096, 8192, 16384)]
GEMM_SHAPES = [*CUBES, *(s for s in LLM if s not in CUBES)]
ATTENTION_CASES = [
    (d, c, s) for d in (64, 128) for c in (True, False) for s in (2048, 4096, 8192, 16384)
]
TOKENS = 16384
"""Of all sequences of a batch together; heads x head size is 2048."""

GEMM_BAR, GEMM_MEAN_BAR = 0.95, 1.00
ATTENTION_BAR, ATTENTION_MEAN_BAR = 0.97, 1.04
OLDER_BAR = 0.60


def check(name: str, got: Any, want: Any, rel: float) -> None:
    """Stop the run where a result is wrong: a fast wrong kernel has no time."""
    error = ((got.float() - want).abs().max() / want.abs().max()).item()
    if not error < rel:
        raise SystemExit(f"{name}: wrong result, relative error {error:.3g}")


def fastest(candidates: Sequence[Callable[[], Any]]) -> Callable[[], Any] | None:
    """The quickest of a peer's configurations that run at all."""
    good = []
    for f in candidates:
        try:
            f()
        except Exception as error:  # a peer's configuration may not fit
            print(f"  peer configuration left out: {str(error)[:80]}", file=sys.stderr)
            continue
        good.append(f)
    if not good:
        return None
    times = medians_ms(good, rounds=5)
    return good[times.index(min(times))]


def rows_of(
    label: str, work: float, run: dict[str, Callable[[], Any]], bars: dict[str, float]
) -> Iterator[Row]:
    """One row for each peer; `work` in floating-point operations."""
    times = dict(zip(run, medians_ms(list(run.values())), strict=True))
    ours = work / times["ours"] / 1e9
    for peer, bar in bars.items():
        if peer in times:
            rate = work / times[peer] / 1e9
            yield Row(f"{label} vs {peer}", ours, rate, peer, "TFLOP/s", ours / rate, bar)


def gemm_rows(only: str) -> Iterator[Row]:
    """Row-major A times row-major B (NN) or its transpose (NT)."""
    import gpu_kernels
    import gpu_triton
    import torch

    for dtype in (torch.float16, torch.bfloat16):
        short = "f16" if dtype == torch.float16 else "bf16"
        for layout in ("NN", "NT"):
            for m, n, k in GEMM_SHAPES:
                label = f"gemm {short} {layout} {m}x{n}x{k}"
                if only not in label:
                    continue
                torch.manual_seed(0)
                a = torch.randn(m, k, device="cuda", dtype=dtype)
                b = torch.randn(*((n, k) if layout == "NT" else (k, n)), device="cuda", dtype=dtype)
                turned = layout == "NT"
                plan, table = split(parameters("gemm", f"{m}x{n}x{k}"))
                kernel = gpu_kernels.kernel("matmul", plan)
                name = str(dtype).removeprefix("torch.")

                def ours(a=a, b=b, turned=turned, p=table, name=name, kernel=kernel) -> Any:
                    return kernel(a, b, name, turned, **p)

                def cublas(a=a, b=b, turned=turned) -> Any:
                    return a @ (b.T if turned else b)

                part = slice(0, 256)
                want = a[part].float() @ (b.T if turned else b).float()
                check(label, ours()[part], want, 1e-2)
                run = {"ours": ours, "cuBLAS": cublas}
                peer = fastest(
                    [
                        lambda a=a, b=b, turned=turned, c=c: gpu_triton.matmul(a, b, turned, c)
                        for c in gpu_triton.GEMM_CONFIGS
                    ]
                )
                if peer is not None:
                    run["Triton"] = peer
                yield from rows_of(label, 2 * m * n * k, run, {"cuBLAS": GEMM_BAR, "Triton": 0.0})


def builds(families: Sequence[str], only: str) -> list[Case]:
    """What the families will compile."""
    cases: list[Case] = []
    if "gemm" in families:
        for dtype in ("float16", "bfloat16"):
            for layout in ("NN", "NT"):
                for m, n, k in GEMM_SHAPES:
                    short = dtype.replace("float", "f")
                    if only in f"gemm {short} {layout} {m}x{n}x{k}":
                        sizes = {"M": m, "N": n, "K": k, "dtype": dtype}
                        plan, table = split(parameters("gemm", f"{m}x{n}x{k}"))
                        made = {**sizes, "transposed": layout == "NT", **table}
                        cases.append(("matmul", plan, made))
    if "attention" in families:
        for d, causal, s in ATTENTION_CASES:
            if only in f"attention d{d} {'causal' if causal else 'full'} {s}":
                sizes = {"B": TOKENS // s, "H": 2048 // d, "S": s, "D": d, "dtype": "float16"}
                plan, table = split(attention_parameters(d, causal, s))
                cases.append(("attention", plan, {**sizes, "causal": causal, **table}))
    return cases


def attention_parameters(d: int, causal: bool, s: int) -> dict[str, Any]:
    """The entry of the head size, over it that of the causal case, over it that of the length."""
    keys = [f"d{d}", *([f"d{d} causal", f"d{d} causal {s}"] if causal else [])]
    return parameters("attention", *keys)


def older_gemm_rows(only: str) -> Iterator[Row]:
    """The product as an older GPU would run it (copies by threads, matrix instructions of a warp),
    in the machine code of this one."""
    import gpu_kernels
    import torch

    import tile_frontend as tile

    target = older_target("sm_80")
    for n in (4096, 8192):
        label = f"gemm sm_80 path f16 NN {n}x{n}x{n}"
        if only not in label:
            continue
        torch.manual_seed(0)
        a, b = (torch.randn(n, n, device="cuda", dtype=torch.float16) for _ in range(2))
        func = gpu_kernels.kernel("matmul").get_tir(
            M=n, N=n, K=n, dtype="float16", **parameters("gemm_sm80", str(n))
        )
        kernel = tile.compile(func, target=target)

        def ours(a=a, b=b, kernel=kernel) -> Any:
            return kernel(a, b)

        def cublas(a=a, b=b) -> Any:
            return a @ b

        part = slice(0, 256)
        check(label, ours()[part], a[part].float() @ b.float(), 1e-2)
        run = {"ours": ours, "cuBLAS": cublas}
        yield from rows_of(label, 2 * n**3, run, {"cuBLAS": OLDER_BAR})


def older_target(arch: str) -> Any:
    """The description of an older GPU with the machine code of this one."""
    from dataclasses import replace

    from tile_cuda import MANIFEST, spec
    from tile_cuda.host_arch import host_arch
    from tile_frontend.target_select import Target
    from tile_ir.target import TargetRequest

    described = spec.load(arch)
    here = spec.load(host_arch()).toolchain.cpu
    made = replace(described, toolchain=replace(described.toolchain, cpu=here))
    return Target(MANIFEST, made, TargetRequest(name="cuda", arch=arch))


def attention_rows(only: str) -> Iterator[Row]:
    """Softmax attention forward, 2048 / d heads, 16384 tokens."""
    import gpu_kernels
    import gpu_triton
    import torch
    import torch.nn.functional as F
    from torch.nn.attention import SDPBackend, sdpa_kernel

    for d, causal, s in ATTENTION_CASES:
        label = f"attention d{d} {'causal' if causal else 'full'} {s}"
        if only not in label:
            continue
        torch.manual_seed(0)
        shape = (TOKENS // s, 2048 // d, s, d)
        q, k, v = (torch.randn(shape, device="cuda", dtype=torch.float16) for _ in range(3))
        plan, p = split(attention_parameters(d, causal, s))
        kernel = gpu_kernels.kernel("attention", plan)

        def ours(q=q, k=k, v=v, causal=causal, p=p, kernel=kernel) -> Any:
            return kernel(q, k, v, "float16", causal, **p)

        def cudnn(q=q, k=k, v=v, causal=causal) -> Any:
            with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
                return F.scaled_dot_product_attention(q, k, v, is_causal=causal)

        one = slice(0, 1)
        with sdpa_kernel(SDPBackend.EFFICIENT_ATTENTION):
            want = F.scaled_dot_product_attention(
                q[one, :2].float(), k[one, :2].float(), v[one, :2].float(), is_causal=causal
            )
        check(label, ours()[one, :2], want, 1e-2)
        run = {"ours": ours, "cuDNN": cudnn}
        peer = fastest(
            [
                lambda q=q, k=k, v=v, causal=causal, c=c: gpu_triton.attention(q, k, v, causal, c)
                for c in gpu_triton.ATTENTION_CONFIGS
            ]
        )
        if peer is not None:
            run["Triton"] = peer
        work = 4 * shape[0] * shape[1] * s * s * d / (2 if causal else 1)
        yield from rows_of(label, work, run, {"cuDNN": ATTENTION_BAR, "Triton": 0.0})


def mean_row(name: str, rows: Sequence[Row], peer: str, bar: float) -> list[Row]:
    """The geometric mean of the ratios against one peer."""
    ratios = [r.ratio for r in rows if r.peer_name == peer]
    if not ratios:
        return []
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
    return [Row(f"{name}: geometric mean of {len(ratios)}", mean, 1.0, peer, "x", mean, bar)]


FAMILIES = {
    "gemm": (gemm_rows, "cuBLAS", GEMM_MEAN_BAR),
    "gemm_sm80": (older_gemm_rows, "cuBLAS", OLDER_BAR),
    "attention": (attention_rows, "cuDNN", ATTENTION_MEAN_BAR),
}
COOKBOOK: dict[str, tuple[Callable[[], Iterator[Task]], float]] = {
    "skinny": (gpu_products.skinny, gpu_products.SKINNY_MEAN),
    "skinny early": (gpu_products.skinny_early, gpu_products.SKINNY_EARLY_MEAN),
    "fp8": (gpu_products.fp8, 0.0),
    "int8": (gpu_products.int8, 0.0),
    "w4a16": (gpu_weights.w4a16, 0.0),
    "gqa": (gpu_decode.gqa, 0.0),
    "mla": (gpu_decode.mla, 0.0),
    "backward planned": (gpu_backward.backward_planned, 0.0),
    "backward": (gpu_backward.backward, gpu_backward.MEAN),
    "rowwise": (gpu_memory.rowwise, 0.0),
    "elements": (gpu_memory.elements, 0.0),
    "sums": (gpu_memory.sums, 0.0),
}
"""Family -> its tasks, and the bar of the geometric mean against the best peer (0 for none)."""
WITH_TRITON = ("skinny", "skinny early", "int8", "gqa")
"""Families whose peers are compiled, which takes longer than measuring them."""
WARM_UP_PROCESSES = 8


def tasks(family: str, only: str) -> list[Task]:
    """The tasks of a family of the cookbook whose name contains a text."""
    return [t for t in COOKBOOK[family][0]() if only in t.name]


def warm(task: tuple[str, str]) -> str | None:
    """Make a task in a process of its own, for what that compiles on disk."""
    family, name = task
    try:
        next(t for t in tasks(family, name) if t.name == name).load()
    except Exception as error:  # told where it is measured
        return str(error).splitlines()[0]
    return None


def cookbook_rows(family: str, only: str) -> Iterator[Row]:
    """The rows of a family of the cookbook."""
    import torch

    for task in tasks(family, only):
        torch.manual_seed(0)
        yield from measured(task)
        torch.cuda.empty_cache()


def gpu() -> dict[str, str]:
    """The device, and the driver's and the library's versions."""
    import torch

    cudnn = torch.backends.cudnn.version()
    name = torch.cuda.get_device_name()
    return {"gpu": name, "cuda": str(torch.version.cuda), "cudnn": str(cudnn)}


def chosen(named: Sequence[str]) -> list[str]:
    """The families asked for: all by default, those of the cookbook by that name."""
    known = [*FAMILIES, *COOKBOOK]
    found = [f for name in named for f in (COOKBOOK if name == "cookbook" else [name])]
    unknown = sorted(set(found) - set(known))
    if unknown:
        raise SystemExit(f"unknown: {', '.join(unknown)}; there are {', '.join(known)}, cookbook")
    return found or known


def all_builds(families: Sequence[str], only: str) -> list[Case]:
    """What the families will compile, each kernel once."""
    cookbook = [t.ours.build() for f in families if f in COOKBOOK for t in tasks(f, only)]
    return list({repr(c): c for c in (*builds(families, only), *cookbook)}.values())


def rows_and_mean(family: str, only: str) -> list[Row]:
    """Measure a family, telling of each row."""
    found = []
    rows = FAMILIES[family][0](only) if family in FAMILIES else cookbook_rows(family, only)
    for row in rows:
        print(f"{row.name}: {row.ours:.0f} against {row.peer:.0f}, {row.ratio:.3f}", flush=True)
        found.append(row)
    if family in COOKBOOK:
        return [*found, *mean_of_best(family, found, COOKBOOK[family][1])]
    return [*found, *mean_row(family, found, *FAMILIES[family][1:])]


def main() -> int:
    """Measure the families asked for and print one table."""
    options = parser(__doc__)
    options.add_argument("families", nargs="*", help="all by default; see the top of the file")
    options.add_argument("--all", action="store_true", help="every family")
    options.add_argument("--prepare", type=Path, help="build into this folder, without a GPU")
    options.add_argument("--prepared", type=Path, help="take kernels from this folder")
    args = options.parse_args()
    families = chosen([] if args.all else args.families)
    cases = all_builds(families, args.only)
    if args.prepare:
        use_prepared(args.prepare)
        return min(1, build_all(cases, partial(build, target="cuda -arch=sm_90a")))
    if args.prepared:
        use_prepared(args.prepared)
    build_all(cases)
    Poison.install()
    slow = [(f, t.name) for f in families if f in WITH_TRITON for t in tasks(f, args.only)]
    build_all(slow, warm, WARM_UP_PROCESSES)
    rows = [row for family in families for row in rows_and_mean(family, args.only)]
    used = versions("tile-frontend", "tile-cuda", "torch", "triton", "nvidia-cuda-nvrtc") | gpu()
    return finish(rows, args, used)


if __name__ == "__main__":
    raise SystemExit(main())
