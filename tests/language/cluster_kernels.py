"""Kernels whose blocks run in clusters and have to do with each other."""

import numpy as np

import tile_frontend.language as T


def exchange():
    """A block puts its row into the memory of its neighbour."""

    @T.prim_func
    def main(A: T.Tensor((4, 64), T.float32), B: T.Tensor((4, 64), T.float32)):
        with T.ClusterKernel(4, cluster_dims=2, threads=128) as bx:
            S = T.alloc_shared((64,), T.float32)
            R = T.alloc_shared((64,), T.float32)
            rank = T.block_rank_in_cluster()
            T.copy(A[bx, 0:64], S)
            T.cluster_sync()
            T.copy_cluster(S, R, dst_block=1 - rank)
            T.cluster_sync()
            T.copy(R, B[bx, 0:64])

    return main


def sent():
    """The receiver announces the bytes; their coming ends the phase of its barrier."""

    @T.prim_func
    def main(A: T.Tensor((4, 64), T.float16), B: T.Tensor((4, 64), T.float16)):
        with T.ClusterKernel(4, cluster_dims=2, threads=128) as bx:
            S = T.alloc_shared((64,), T.float16)
            R = T.alloc_shared((64,), T.float16)
            come = T.alloc_cluster_barrier(1)
            rank = T.block_rank_in_cluster()
            T.copy(A[bx, 0:64], S)
            if T.shuffle_elect(0):
                T.mbarrier_expect_tx(come, 32)
                T.mbarrier_arrive_expect_tx(come, 96)
            T.copy_cluster(S, R, dst_block=1 - rank, remote_barrier=come)
            T.mbarrier_wait_parity(come, 0)
            T.copy(R, B[bx, 0:64])

    return main


def multicast():
    """One block brings a tile for both, each of which waits at its own barrier."""

    @T.prim_func
    def main(A: T.Tensor((64, 64), T.float16), B: T.Tensor((4, 64, 64), T.float16)):
        with T.ClusterKernel(4, cluster_dims=2, threads=128) as bx:
            S = T.alloc_shared((64, 64), T.float16)
            come = T.alloc_cluster_barrier(128)
            T.tma_copy(A, S, barrier=come, cluster_mask=3)
            T.mbarrier_arrive(come)
            T.mbarrier_wait_parity(come, 0)
            T.copy(S, B[bx, 0:64, 0:64])

    return main


def halves():
    """Rows go to and fro; the next one is sent when both blocks are done with the last."""

    @T.prim_func
    def main(A: T.Tensor((2, 128), T.float32), B: T.Tensor((2, 128), T.float32)):
        with T.ClusterKernel(2, cluster_dims=2, threads=128) as bx:
            S = T.alloc_shared((128,), T.float32)
            R = T.alloc_shared((2, 128), T.float32)
            free = T.alloc_cluster_barrier(256)
            rank = T.block_rank_in_cluster()
            T.copy(A[bx, 0:128], S)
            for k in T.serial(3):
                T.copy_cluster(S, R[k % 2, 0:128], dst_block=1 - rank)
                T.cluster_arrive_relaxed()
                T.cluster_wait()
                for i in T.Parallel(128):
                    S[i] = R[k % 2, i] + 1.0
                T.ptx_arrive_cluster_barrier(free, 1 - rank)
                T.mbarrier_arrive(free, rank)
                T.mbarrier_wait_parity(free, k % 2)
            T.copy(S, B[bx, 0:128])

    return main


def grid2():
    """Clusters along two axes; the rank counts the first axis first."""

    @T.prim_func
    def main(B: T.Tensor((4, 2), T.int32)):
        with T.ClusterKernel(4, 2, cluster_dims=(2, 2), threads=32) as (bx, by):
            S = T.alloc_shared((4,), T.int32)
            rank = T.block_rank_in_cluster()
            V = T.alloc_shared((4,), T.int32)
            for i in T.Parallel(4):
                V[i] = bx * 10 + by
            T.cluster_sync()
            T.copy_cluster(V[0:1], S[0:1], dst_block=3 - rank)
            T.cluster_sync()
            B[bx, by] = S[0]

    return main


def at_once():
    """A tile for both blocks that is there when they go on, twice into the same place."""

    @T.prim_func
    def main(A: T.Tensor((128, 64), T.float16), B: T.Tensor((2, 128, 64), T.float16)):
        with T.ClusterKernel(2, cluster_dims=(2,), threads=128) as bx:
            S = T.alloc_shared((64, 64), T.float16)
            for k in T.serial(2):
                T.copy_cluster(A[k * 64, 0], S, cluster_mask=3)
                T.copy(S, B[bx, k * 64 : k * 64 + 64, 0:64])

    return main


def three_axes():
    """Clusters along the second and the third axis; each block writes to the next one's memory."""

    @T.prim_func
    def main(B: T.Tensor((2, 4, 2), T.int32)):
        with T.ClusterKernel(2, 4, 2, cluster_dims=(1, 2, 2), threads=32) as (x, y, z):
            S = T.alloc_shared((4,), T.int32)
            R = T.alloc_shared((4,), T.int32)
            for i in T.Parallel(4):
                S[i] = x * 100 + y * 10 + z
            T.cluster_arrive()
            T.cluster_wait()
            T.copy_cluster(S, R, dst_block=(T.block_rank_in_cluster() + 1) % 4)
            T.cluster_sync()
            B[x, y, z] = R[0]

    return main


def odd_rows():
    """Rows that hold no whole words, copied by one role of the block."""

    @T.prim_func
    def main(A: T.Tensor((2, 3, 5), T.float16), B: T.Tensor((2, 3, 5), T.float16)):
        with T.ClusterKernel(2, cluster_dims=2, threads=256) as bx:
            S = T.alloc_shared((3, 5), T.float16)
            R = T.alloc_shared((3, 5), T.float16)
            for i, j in T.Parallel(3, 5):
                S[i, j] = A[bx, i, j]
            T.cluster_sync()
            with T.ws(1):
                T.copy_cluster(S, R, dst_block=1 - bx)
            T.cluster_sync()
            for i, j in T.Parallel(3, 5):
                B[bx, i, j] = R[i, j]

    return main


def planned_product():
    """A pipeline that the compiler plans, in blocks that meet once."""

    @T.prim_func
    def main(
        A: T.Tensor((64, 64), T.float16),
        B: T.Tensor((64, 128), T.float16),
        C: T.Tensor((64, 128), T.float32),
    ):
        with T.ClusterKernel(2, cluster_dims=2, threads=128) as bx:
            A_s = T.alloc_shared((64, 32), T.float16)
            B_s = T.alloc_shared((32, 64), T.float16)
            C_l = T.alloc_fragment((64, 64), T.float32)
            T.clear(C_l)
            for k in T.Pipelined(2, num_stages=2):
                T.copy(A[0, k * 32], A_s)
                T.copy(B[k * 32, bx * 64], B_s)
                T.gemm(A_s, B_s, C_l)
            T.cluster_sync()
            T.copy(C_l, C[0, bx * 64])

    return main


def shared_operand():
    """A product in which two blocks share an operand: the first one's producer brings it for both,
    once the consumers of both have given its slot back."""
    rows, columns, inner, step, depth = 64, 64, 256, 32, 2

    @T.prim_func
    def main(
        A: T.Tensor((2 * rows, inner), T.float16),
        B: T.Tensor((inner, columns), T.float16),
        C: T.Tensor((2 * rows, columns), T.float32),
    ):
        with T.ClusterKernel(2, cluster_dims=2, threads=256) as bx:
            A_s = T.alloc_shared((depth, rows, step), T.float16)
            B_s = T.alloc_shared((depth, step, columns), T.float16)
            C_l = T.alloc_fragment((rows, columns), T.float32)
            ready = T.alloc_cluster_barrier([128] * depth)
            done = T.alloc_cluster_barrier([256] * depth)
            with T.ws(0):
                T.clear(C_l)
                for k in T.serial(inner // step):
                    s = k % depth
                    T.mbarrier_wait_parity(ready[s], k // depth % 2)
                    T.gemm(A_s[s, :, :], B_s[s, :, :], C_l)
                    T.mbarrier_arrive(done[s], 0)
                    T.mbarrier_arrive(done[s], 1)
                T.copy(C_l, C[bx * rows, 0])
            with T.ws(1):
                for k in T.serial(inner // step):
                    s = k % depth
                    T.mbarrier_wait_parity(done[s], (k // depth + 1) % 2)
                    T.tma_copy(A[bx * rows, k * step], A_s[s, :, :], barrier=ready[s])
                    T.tma_copy(B[k * step, 0], B_s[s, :, :], barrier=ready[s], cluster_mask=3)
                    T.mbarrier_arrive(ready[s])

    return main


def cases():
    """Name -> kernel, arguments of which the last one is written, what it becomes."""
    rows = np.arange(256, dtype=np.float32).reshape(4, 64)
    halves_ = rows.astype(np.float16)
    wide = rows.reshape(2, 128)
    tile = np.arange(64 * 64).reshape(64, 64).astype(np.float16)
    two = np.arange(128 * 64).reshape(128, 64).astype(np.float16)
    a = (np.arange(128 * 256) % 7 - 3).reshape(128, 256).astype(np.float16)
    b = (np.arange(256 * 64) % 5 - 2).reshape(256, 64).astype(np.float16)
    c = a.astype(np.float32) @ b.astype(np.float32)
    p, q = a[:64, :64], b[:64, :64].repeat(2, 1)
    pq = p.astype(np.float32) @ q.astype(np.float32)
    odd = np.arange(30).reshape(2, 3, 5).astype(np.float16)
    box = np.zeros((2, 4, 2), np.int32)
    for x, y, z in np.ndindex(2, 4, 2):  # from the block whose rank is one less
        rank = (y % 2 + 2 * z + 3) % 4
        box[x, y, z] = x * 100 + (y // 2 * 2 + rank % 2) * 10 + rank // 2
    other = [1, 0, 3, 2]
    across = np.array([[(x ^ 1) * 10 + (y ^ 1) for y in range(2)] for x in range(4)], np.int32)
    return {
        "three axes": (three_axes, (0 * box,), box),
        "odd rows": (odd_rows, (odd, 0 * odd), odd[::-1]),
        "planned product": (planned_product, (p, q, 0 * pq), pq),
        "shared operand": (shared_operand, (a, b, 0 * c), c),
        "exchange": (exchange, (rows, 0 * rows), rows[other]),
        "sent": (sent, (halves_, 0 * halves_), halves_[other]),
        "multicast": (multicast, (tile, np.zeros((4, 64, 64), np.float16)), np.stack([tile] * 4)),
        "halves": (halves, (wide, 0 * wide), wide[::-1] + 3),
        "two axes": (grid2, (0 * across,), across),
        "at once": (at_once, (two, np.zeros((2, 128, 64), np.float16)), np.stack([two] * 2)),
    }
