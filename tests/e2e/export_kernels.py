"""Kernels that tests of exports compile, with a driver and without: a product, and two kernels with
a workspace between them."""

import tile_frontend.language as T


def product(M, N=64, K=96, block=64, depth=32, dtype=T.float16):
    @T.prim_func
    def product(A: T.Tensor((M, K), dtype), B: T.Tensor((K, N), dtype), C: T.Tensor((M, N), dtype)):
        with T.Kernel(T.ceildiv(N, block), T.ceildiv(M, block), threads=128) as (bx, by):
            A_s = T.alloc_shared((block, depth), dtype)
            B_s = T.alloc_shared((depth, block), dtype)
            acc = T.alloc_fragment((block, block), T.float32)
            T.clear(acc)
            for k in T.Pipelined(T.ceildiv(K, depth), num_stages=2):
                T.copy(A[by * block, k * depth], A_s)
                T.copy(B[k * depth, bx * block], B_s)
                T.gemm(A_s, B_s, acc)
            T.copy(acc, C[by * block, bx * block])

    return product


def steps(N):
    @T.prim_func
    def steps(A: T.Tensor((N,), T.float32), alpha: T.float32, B: T.Tensor((N,), T.float32)):
        between = T.alloc_global((N,), T.float32)
        with T.Kernel(T.ceildiv(N, 128), threads=128) as i:
            for j in T.Parallel(128):
                between[i * 128 + j] = A[i * 128 + j] * alpha
        with T.Kernel(T.ceildiv(N, 64), threads=64) as i:
            for j in T.Parallel(64):
                B[i * 64 + j] = between[i * 64 + j] + 1

    return steps
