"""What the host costs on a GPU: a call of a compiled kernel beside the driver's own launch, and the
first call in a fresh process.

A call with three tensors, of a kernel or of the `@tile.jit` function, checks their types, extents,
strides and devices. It is compared with a launch of them by hand: their addresses are written into
the arguments and `cuLaunchKernel` is called through ctypes on the current stream, unchecked. A
bound kernel (`run = kernel.bind(...)`, then `run()`) is compared with `cuLaunchKernel` alone,
everything prepared. A first call starts with an empty cache and imported modules; the share of each
stage is printed, and the limit is scaled by what Triton's first call takes in the same run.

    python benchmarks/gpu_host.py --json FILE --check
"""

from __future__ import annotations

import ctypes
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from typing import Any

from gpu_launches import launches_of, raw_launches
from host_time import microseconds
from report import Row, finish, parser, versions

import tile_frontend as tile
import tile_frontend.language as T

LAUNCH_BAR = 1 / 1.2
FIRST_CALL_S = {"gemm": 1.2, "attention": 1.9}
MAP_BYTES = 128
PEER, PEER_S = "triton", 1.3
"""What the first call of Triton's product takes on the machine that the limits are for. Hosts of
one kind of GPU differ by a factor of 1.6 in the speed of one core, so that seconds say little."""
PROCESSES, PROCESSES_S = 3, 60.0
"""Fresh processes of each case, and the seconds after which no further round of them begins. The
first one also reads the compiler's library from the disk."""


@tile.jit(target="cuda")
def add_into(A, B, C):
    n = T.dynamic("n")
    A: T.Tensor((n,), T.float32)
    B: T.Tensor((n,), T.float32)
    C: T.Tensor((n,), T.float32)
    with T.Kernel(T.ceildiv(n, 128), threads=128) as b:
        for i in T.Parallel(128):
            at = b * 128 + i
            if at < n:
                C[at] = A[at] + B[at]


@tile.jit(target="cuda")
def multiply_into(A, B, C):
    M, N, K = T.const("M, N, K")
    A: T.Tensor((M, K), T.float16)
    B: T.Tensor((K, N), T.float16)
    C: T.Tensor((M, N), T.float16)
    with T.Kernel(T.ceildiv(N, 128), T.ceildiv(M, 128), threads=256) as (bx, by):
        A_s = T.alloc_shared((128, 64), T.float16)
        B_s = T.alloc_shared((64, 128), T.float16)
        C_l = T.alloc_fragment((128, 128), T.float32)
        T.clear(C_l)
        for k in T.Pipelined(T.ceildiv(K, 64), num_stages=2):
            T.copy(A[by * 128, k * 64], A_s)
            T.copy(B[k * 64, bx * 128], B_s)
            T.gemm(A_s, B_s, C_l)
        T.copy(C_l, C[by * 128, bx * 128])


def by_hand(args: tuple[int, ...], tensors: list[Any], maps: bool) -> Callable[..., None]:
    """A launch of three tensors through ctypes, as one writes it without a library: the tensors'
    addresses go into the arguments of an earlier launch, or the tensor maps known for them."""
    import torch

    launch, copy = ctypes.CDLL("libcuda.so.1").cuLaunchKernel, ctypes.memmove
    pointer, stream = ctypes.c_void_p, torch._C._cuda_getCurrentRawStream
    function, shape, block = pointer(args[0]), args[1:8], pointer(args[9])
    width = MAP_BYTES if maps else 8
    passed = {at: ctypes.string_at(at, width) for at in (pointer * 3).from_address(args[9])}
    addresses = [t.data_ptr() for t in tensors]
    x, y, z = (
        next(at for at in passed if p.to_bytes(8, "little") in passed[at]) for p in addresses
    )
    kept = {p: passed[at] for p, at in zip(addresses, (x, y, z), strict=True)}

    def with_maps(a: Any, b: Any, c: Any) -> None:
        copy(x, kept[a.data_ptr()], MAP_BYTES)
        copy(y, kept[b.data_ptr()], MAP_BYTES)
        copy(z, kept[c.data_ptr()], MAP_BYTES)
        launch(function, *shape, pointer(stream(0)), block, None)

    p, q, r = (ctypes.c_uint64.from_address(at) for at in (x, y, z))

    def with_addresses(a: Any, b: Any, c: Any) -> None:
        p.value, q.value, r.value = a.data_ptr(), b.data_ptr(), c.data_ptr()
        launch(function, *shape, pointer(stream(0)), block, None)

    return with_maps if maps else with_addresses


def check_by_hand(hand: Callable[..., None], kernel: Any, tensors: list[Any]) -> None:
    """The launch by hand does what the kernel does."""
    import torch

    *_, c = tensors
    kernel(*tensors)
    expected = c.clone()
    c.fill_(7)
    hand(*tensors)
    torch.testing.assert_close(c, expected, rtol=0, atol=0)


def launch_rows(only: str) -> Iterator[Row]:
    """Calls of a small kernel without and with tensor maps."""
    import torch

    halves = [torch.randn(128, 128, device="cuda").half() for _ in range(3)]
    cases = {
        "launch": (add_into.compile(), [torch.randn(128, device="cuda") for _ in range(3)]),
        "launch with tensor maps": (multiply_into.compile(M=128, N=128, K=128), halves),
    }
    for name, (kernel, tensors) in cases.items():
        if only not in name:
            continue
        a, b, c = tensors

        def bound(kernel=kernel, tensors=tensors) -> Callable[[], object]:
            run = kernel.bind(*tensors)
            return lambda: run(*tensors)

        alive, (args,) = launches_of(bound)
        run = kernel.bind(a, b, c)
        jitted = add_into if name == "launch" else multiply_into
        hand = by_hand(args, tensors, maps="maps" in name)
        check_by_hand(hand, kernel, tensors)
        check_by_hand(lambda *_, run=run: run(), kernel, tensors)
        calls = {
            **raw_launches(args),
            "by hand": lambda hand=hand, a=a, b=b, c=c: hand(a, b, c),
            "call": lambda kernel=kernel, a=a, b=b, c=c: kernel(a, b, c),
            "bound": run,
            "jit": lambda f=jitted, a=a, b=b, c=c: f(a, b, c),
            "torch.add": lambda a=a, b=b, c=c: torch.add(a, b, out=c),
        }
        times = microseconds(calls, torch.cuda.synchronize)
        check = times["call"] - times["bound"]
        print(
            f"{name}: " + ", ".join(f"{k} {v:.2f}" for k, v in times.items()),
            f"us a call; addresses, arguments and their check {check:.2f} us",
            flush=True,
        )
        alive()
        pairs = [("call", "by hand"), ("jit", "by hand"), ("bound", "ctypes")]
        for way, peer in pairs:
            ratio = times[peer] / times[way]
            yield Row(f"{name}: {way}", times[way], times[peer], peer, "us", ratio, LAUNCH_BAR)


def first_call(case: str) -> dict[str, float]:
    """Seconds of the stages of a first call; modules are imported and the device is awake."""
    import importlib

    import gpu_kernels
    import torch

    shape = (4096, 4096) if case == "gemm" else (2, 16, 2048, 128)
    tensors = [torch.randn(shape, device="cuda").half() for _ in range(2 if case == "gemm" else 3)]
    jitted = gpu_kernels.kernel("matmul" if case == "gemm" else "attention")
    for module in ("yaml", "tile_cuda.driver", "tile_cuda.nvrtc", "cupy_backends.cuda.api.driver"):
        importlib.import_module(module)
    importlib.import_module("tile_cuda.pipeline").pipeline()  # the passes' modules
    torch.cuda.synchronize()
    start = time.perf_counter()
    jitted(*tensors, "float16")
    torch.cuda.synchronize()
    total = time.perf_counter() - start
    (kernel,) = jitted._kernels.values()
    stages = dict(kernel.timings)
    stages["front end"] = _front_end(kernel)
    stages["toolchain"] -= stages["front end"]
    stages["trace, load and launch"] = total - sum(stages.values())
    return {"total": total, **stages}


def peer_first_call() -> dict[str, float]:
    """Seconds of the first call of Triton's product, likewise."""
    import gpu_triton
    import torch

    x, y = (torch.randn((4096, 4096), device="cuda").half() for _ in range(2))
    torch.cuda.synchronize()
    start = time.perf_counter()
    gpu_triton.matmul(x, y, False, gpu_triton.GEMM_CONFIGS[0])
    torch.cuda.synchronize()
    return {"total": time.perf_counter() - start}


def _front_end(kernel: Any) -> float:
    """CUDA C++ to PTX; what the toolchain takes beyond it is the assembler."""
    from tile_cuda.nvrtc import find_nvrtc

    compiler = find_nvrtc()
    assert compiler is not None
    arch = kernel.target.spec.toolchain.cpu.replace("sm_", "compute_")
    start = time.perf_counter()
    compiler.ptx(kernel.kernel_source, "k.cu", (f"--gpu-architecture={arch}", "-std=c++17"))
    return time.perf_counter() - start


def fresh_process(case: str) -> dict[str, float]:
    """The stages of a first call in a process and with a cache of its own, the compiler's own cache
    off."""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [sys.executable, __file__, "--first-call", case],
            env={
                **os.environ,
                **dict.fromkeys(("TILE_CACHE_DIR", "TRITON_CACHE_DIR"), folder),
                "CUDA_CACHE_DISABLE": "1",
            },
            capture_output=True,
            text=True,
            check=False,
        )
    if done.returncode:
        raise SystemExit(f"first call: {case}: {done.stderr}")
    stages: dict[str, float] = json.loads(done.stdout)
    return stages


def median_processes(cases: list[str]) -> dict[str, dict[str, float]]:
    """The fresh process of median time of each case; cases take turns, so that drift hits all."""
    runs: dict[str, list[dict[str, float]]] = {case: [] for case in cases}
    start = time.perf_counter()
    for _ in range(PROCESSES):
        for case in cases:
            runs[case].append(fresh_process(case))
        if time.perf_counter() - start > PROCESSES_S:
            break
    for case, found in runs.items():
        print(f"first call: {case}: " + ", ".join(f"{run['total']:.2f}" for run in found), "s")
    ordered = {c: sorted(found, key=lambda run: run["total"]) for c, found in runs.items()}
    return {case: found[(len(found) - 1) // 2] for case, found in ordered.items()}


def first_call_rows(only: str) -> Iterator[Row]:
    """Each case beside its limit for a machine as fast as this one."""
    wanted = [case for case in FIRST_CALL_S if only in f"first call: {case}"]
    if not wanted:
        return
    found = median_processes([PEER, *wanted])
    pace = found[PEER]["total"] / PEER_S
    print(f"this machine takes {pace:.2f} of the time of that which the limits are for")
    for case in wanted:
        name, limit, stages = f"first call: {case}", FIRST_CALL_S[case] * pace, found[case]
        total = stages.pop("total")
        shares = ", ".join(f"{k} {v * 1e3:.0f} ms ({v / total:.0%})" for k, v in stages.items())
        print(f"{name}: {total:.2f} s: {shares}", flush=True)
        yield Row(name, total, limit, "limit here", "s", limit / total, 1.0)


def main() -> int:
    """Measure and print one table."""
    options = parser(__doc__)
    cases = [*FIRST_CALL_S, PEER]
    options.add_argument("--first-call", choices=cases, help="one stage list as JSON")
    args = options.parse_args()
    if args.first_call:
        peer = args.first_call == PEER
        print(json.dumps(peer_first_call() if peer else first_call(args.first_call)))
        return 0
    rows = [*launch_rows(args.only), *first_call_rows(args.only)]
    return finish(rows, args, versions("tile-frontend", "tile-cuda", "torch", "cupy-cuda13x"))


if __name__ == "__main__":
    raise SystemExit(main())
