"""A product whose sum is divided over devices, each part exchanged while the next one is computed.

Every rank has some columns of A and the same rows of B, so each has a summand of the whole product:
C is the sum over ranks. Rows of C are computed in chunks. The sum of a chunk over the ranks goes on
beside the product of the next chunk, so all of the exchange but the last chunk's is hidden.
With `scatter` a rank gets its share of each chunk's rows only, which is half of the traffic.

    torchrun --standalone --nproc-per-node=2 examples/tensor_parallel.py --target cpu

runs over gloo, and with `--target cuda` over NCCL. Small products do not pay for their chunks: add
`--sizes 8192 8192 8192 --blocks 128 256 64 256` there. Started alone it checks the kernel.
"""

import argparse
import os
import time

import numpy as np
from _run import Case, built_for, main, normal, sum_error, unit

import tile_frontend as tile
import tile_frontend.language as T


@tile.jit
def matmul_into(A, B, C, dtype, block_M=64, block_N=64, block_K=32, threads=128):
    """C = A @ B, into memory that is there: rows of a larger matrix."""
    M, N, K = T.const("M, N, K")
    A: T.Tensor((M, K), dtype)
    B: T.Tensor((K, N), dtype)
    C: T.Tensor((M, N), dtype)
    with T.Kernel(T.ceildiv(N, block_N), T.ceildiv(M, block_M), threads=threads) as (bx, by):
        A_s = T.alloc_shared((block_M, block_K), dtype)
        B_s = T.alloc_shared((block_K, block_N), dtype)
        C_l = T.alloc_fragment((block_M, block_N), T.float32)
        T.clear(C_l)
        for k in T.Pipelined(T.ceildiv(K, block_K), num_stages=3):
            T.copy(A[by * block_M, k * block_K], A_s)
            T.copy(B[k * block_K, bx * block_N], B_s)
            T.gemm(A_s, B_s, C_l)
        T.copy(C_l, C[by * block_M, bx * block_N])


def product_of_ranks(product, a, b, chunks, scatter=False):
    """The sum over all ranks of `a @ b`: [M, N], or with `scatter` this rank's rows of each chunk,
    [M / ranks, N]. `product(a, b, c)` writes; chunks have equal numbers of rows."""
    import torch
    import torch.distributed as dist

    ranks = dist.get_world_size() if scatter else 1
    if len(a) % (chunks * ranks):
        raise ValueError(f"{len(a)} rows do not make {chunks} chunks for {ranks} ranks")
    c = torch.empty((len(a), b.shape[1]), dtype=a.dtype, device=a.device)
    # The newer name of the same function.
    scattered = getattr(dist, "reduce_scatter_single", None) or dist.reduce_scatter_tensor
    out = c if not scatter else c.new_empty((len(c) // ranks, b.shape[1]))
    under_way = []
    for rows, part, mine in zip(a.chunk(chunks), c.chunk(chunks), out.chunk(chunks), strict=True):
        product(rows, b, part)
        if scatter:
            under_way.append(scattered(mine, part, async_op=True))
        else:
            under_way.append(dist.all_reduce(part, async_op=True))
    for exchange in under_way:
        exchange.wait()
    return out


def rows_of_rank(whole, chunks, rank, ranks):
    """The rows of the whole product that a rank gets with `scatter`."""
    return np.concatenate([np.split(c, ranks)[rank] for c in np.split(whole, chunks)])


def check_ranks(target, sizes, blocks, chunks=4):
    """Compare with float64 on every rank, and time chunks that overlap beside a single one."""
    import torch
    import torch.distributed as dist

    M, N, K = sizes
    on_host = target.startswith("cpu")
    dist.init_process_group("gloo" if on_host else "nccl")
    rank, ranks = dist.get_rank(), dist.get_world_size()
    device = torch.device("cpu" if on_host else f"cuda:{os.environ['LOCAL_RANK']}")
    if not on_host:
        torch.cuda.set_device(device)
    dtype = np.float32 if on_host else np.float16
    rng = np.random.default_rng(0)
    a, b = normal(rng, M, K, dtype=dtype), normal(rng, K, N, dtype=dtype)
    whole = a.astype(np.float64) @ b.astype(np.float64)
    mine = np.split(a, ranks, axis=1)[rank], np.split(b, ranks)[rank]
    left, right = (torch.from_numpy(x.copy()).to(device) for x in mine)
    kernel, element = built_for(matmul_into, target, None), T.dtype(dtype)

    def product(a, b, c):
        kernel(a, b, c, dtype=element, **blocks)

    # Sums are within five standard deviations; every summand is rounded once, and each addition.
    atol = sum_error(K) + (2 * ranks - 1) * unit(dtype) / 2 * 5 * K**0.5
    for scatter in (False, True):
        expected = rows_of_rank(whole, chunks, rank, ranks) if scatter else whole
        got = product_of_ranks(product, left, right, chunks, scatter).cpu().double().numpy()
        off = np.abs(got - expected).max()
        assert off <= atol, f"rank {rank}: {off} off, {atol} allowed"
    times = [
        milliseconds(lambda n=n: product_of_ranks(product, left, right, n), device) for n in (1, 4)
    ]
    print(
        f"rank {rank} of {ranks} agrees with float64; "
        f"one chunk {times[0]:.2f} ms, four {times[1]:.2f} ms",
        flush=True,
    )
    dist.barrier()
    dist.destroy_process_group()


def milliseconds(call, device, rounds=10):
    """The mean time of a call, after one that compiles."""
    import torch

    call()
    wait = torch.cuda.synchronize if device.type == "cuda" else lambda: None
    wait()
    start = time.perf_counter()
    for _ in range(rounds):
        call()
    wait()
    return (time.perf_counter() - start) / rounds * 1e3


def case(M, N, K, dtype):
    return Case(
        kernel=matmul_into,
        inputs=lambda rng: (
            normal(rng, M, K, dtype=dtype),
            normal(rng, K, N, dtype=dtype),
            np.zeros((M, N), dtype),
        ),
        reference=lambda a, b, c: a @ b,
        options={"dtype": T.dtype(dtype)},
        writes=(2,),
        rtol=unit(dtype),
        atol=sum_error(K),
        name=f"{M}x{N}x{K} {np.dtype(dtype).name}",
    )


CASES = [case(65, 72, 104, np.float16), case(33, 40, 50, np.float32)]

if __name__ == "__main__":
    if "LOCAL_RANK" in os.environ:  # started by torchrun
        parser = argparse.ArgumentParser()
        parser.add_argument("--target", default="cpu", help="cpu or cuda")
        parser.add_argument(
            "--sizes", type=int, nargs=3, default=(512, 384, 1024), metavar=tuple("MNK")
        )
        parser.add_argument(
            "--blocks",
            type=int,
            nargs=4,
            default=(64, 64, 32, 128),
            metavar="N",
            help="block_M, block_N, block_K, threads",
        )
        given = parser.parse_args()
        names = ("block_M", "block_N", "block_K", "threads")
        check_ranks(given.target, given.sizes, dict(zip(names, given.blocks, strict=True)))
    else:
        main(CASES)
