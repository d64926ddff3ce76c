"""Kernels that say themselves who copies, who computes and who waits for whom."""

import tile_frontend.language as T

M, N, K, BK = 64, 64, 256, 32


def pipeline(fault="", depth=2):  # noqa: C901 -- one branch for each mistake
    """A product whose operands one role brings and another one multiplies, with one mistake."""
    full = 127 if fault == "arrival count" else 128

    @T.prim_func
    def product(  # noqa: C901 -- one branch for each mistake
        A: T.Tensor((M, K), T.float16),
        B: T.Tensor((K, N), T.float16),
        C: T.Tensor((M, N), T.float32),
    ):
        with T.Kernel(1, threads=256):
            A_s = T.alloc_shared((depth, M, BK), T.float16)
            B_s = T.alloc_shared((depth, BK, N), T.float16)
            C_l = T.alloc_fragment((M, N), T.float32)
            ready = T.alloc_barrier([full] * depth)
            done = T.alloc_barrier([128] * depth)
            T.clear(C_l)
            for k in T.serial(K // BK):
                with T.ws(1):
                    if fault == "no initial release":
                        T.barrier_wait(done[k % depth], k // depth % 2)
                    elif fault == "swapped barriers":
                        T.barrier_wait(ready[k % depth], (k // depth + 1) % 2)
                    elif fault != "early overwrite":
                        T.barrier_wait(done[k % depth], (k // depth + 1) % 2)
                    if fault == "wait before the copy":
                        T.barrier_wait(ready[k % depth], k // depth % 2)
                    T.tma_copy(A[0, k * BK], A_s[k % depth, :, :], barrier=ready[k % depth])  # copy
                    T.tma_copy(B[k * BK, 0], B_s[k % depth, :, :], barrier=ready[k % depth])
                    if fault == "swapped barriers":
                        T.barrier_arrive(done[k % depth])
                    elif fault != "missing arrive":
                        T.barrier_arrive(ready[k % depth])  # arrive
                with T.ws(0):
                    if fault == "wrong parity":
                        T.barrier_wait(ready[k % depth], (k // depth + 1) % 2)
                    elif fault != "missing wait":
                        T.barrier_wait(ready[k % depth], k // depth % 2)  # wait
                    if fault == "index off by one":
                        T.gemm(A_s[(k + 1) % depth, :, :], B_s[(k + 1) % depth, :, :], C_l)  # next
                    else:
                        T.gemm(A_s[k % depth, :, :], B_s[k % depth, :, :], C_l)  # use
                    if fault == "deadlock of two roles":
                        T.barrier_wait(ready[(k + 1) % depth], (k + 1) // depth % 2)  # both
                    T.barrier_arrive(done[k % depth])
            T.copy(C_l, C)

    return product


def copied_by_threads():
    """What a kernel looks like that warp-specializes by hand without a copy engine."""

    @T.prim_func
    def main(
        A: T.Tensor((128, 256), T.float16),
        B: T.Tensor((256, 128), T.float16),
        C: T.Tensor((128, 128), T.float32),
    ):
        with T.Kernel(1, 1, threads=256) as (bx, by):
            A_s = T.alloc_shared((128, 64), T.float16)
            B_s = T.alloc_shared((64, 128), T.float16)
            C_l = T.alloc_fragment((128, 128), T.float32)
            data_is_ready = T.alloc_barrier(arrive_count=128)
            compute_is_done = T.alloc_barrier(arrive_count=128)
            with T.ws(0):
                T.clear(C_l)
            for ko in T.serial(4):
                with T.ws(1):
                    T.barrier_wait(compute_is_done, (ko + 1) % 2)
                    T.copy(A[by * 128, ko * 64], A_s)
                    T.copy(B[ko * 64, bx * 128], B_s)
                    T.barrier_arrive(data_is_ready)
                with T.ws(0):
                    T.barrier_wait(data_is_ready, ko % 2)
                    T.gemm(A_s, B_s, C_l)
                    T.barrier_arrive(compute_is_done)
            with T.ws(0):
                T.copy(C_l, C[by * 128, bx * 128])

    return main


def shared_out():
    """Two roles compute halves, a third one feeds both; the trips are known at launch only."""
    depth, length = 2, T.dynamic("length")

    @T.prim_func
    def main(
        A: T.Tensor((128, length), T.float16),
        B: T.Tensor((length, 64), T.float16),
        C: T.Tensor((128, 64), T.float32),
    ):
        with T.Kernel(1, threads=384):
            A_s = T.alloc_shared((depth, 128, 32), T.float16)
            B_s = T.alloc_shared((depth, 32, 64), T.float16)
            upper = T.alloc_fragment((64, 64), T.float32)
            lower = T.alloc_fragment((64, 64), T.float32)
            ready = T.alloc_barrier([128] * depth)
            done = T.alloc_barrier([256] * depth)
            for k in T.serial(T.ceildiv(length, 32)):
                s = k % depth
                with T.ws(2):
                    T.set_max_nreg(40, 0)
                    T.mbarrier_wait_parity(done[s], (k // depth + 1) % 2)
                    T.tma_copy(A[0, k * 32], A_s[s, :, :], barrier=ready[s])
                    T.tma_copy(B[k * 32, 0], B_s[s, :, :], barrier=ready[s])
                    T.mbarrier_arrive(ready[s])
                with T.ws(0):
                    T.mbarrier_wait_parity(ready[s], k // depth % 2)
                    T.gemm(A_s[s, 0:64, :], B_s[s, :, :], upper, clear_accum=(k == 0))
                    T.mbarrier_arrive(done[s])
                with T.ws(1):
                    T.mbarrier_wait_parity(ready[s], k // depth % 2)
                    T.gemm(A_s[s, 64:128, :], B_s[s, :, :], lower, clear_accum=(k == 0))
                    T.mbarrier_arrive(done[s])
            T.copy(upper, C[0:64, :])
            T.copy(lower, C[64:128, :])

    return main


def with_a_phase():
    """A role of two groups; the parity is a variable, of which each role has its own."""
    depth = 2

    @T.prim_func
    def main(
        A: T.Tensor((128, 128), T.float16),
        B: T.Tensor((128, 64), T.float16),
        C: T.Tensor((128, 64), T.float32),
    ):
        with T.Kernel(1, threads=384):
            A_s = T.alloc_shared((depth, 128, 32), T.float16)
            B_s = T.alloc_shared((depth, 32, 64), T.float16)
            C_l = T.alloc_fragment((128, 64), T.float32)
            ready = T.alloc_barrier([128] * depth)
            done = T.alloc_barrier([256] * depth)
            phase = T.alloc_var(T.int32, init=0)
            with T.ws(0, 1):
                T.clear(C_l)
                for k in T.serial(4):
                    T.barrier_wait(ready[k % depth], phase)
                    T.gemm(A_s[k % depth, :, :], B_s[k % depth, :, :], C_l)
                    T.barrier_arrive(done[k % depth])
                    if k % depth == depth - 1:
                        phase = phase ^ 1
                T.copy(C_l, C)
            with T.ws(2):
                for k in T.serial(4):
                    T.barrier_wait(done[k % depth], phase ^ 1)
                    T.tma_copy(A[0, k * 32], A_s[k % depth, :, :], barrier=ready[k % depth])
                    T.tma_copy(B[k * 32, 0], B_s[k % depth, :, :], barrier=ready[k % depth])
                    T.barrier_arrive(ready[k % depth])
                    if k % depth == depth - 1:
                        phase = phase ^ 1

    return main


def branched():
    """Roles as branches on the thread's number; one thread arrives for all of its role."""
    depth = 2

    @T.prim_func
    def main(
        A: T.Tensor((128, 128), T.float16),
        B: T.Tensor((128, 64), T.float16),
        C: T.Tensor((128, 64), T.float32),
    ):
        with T.Kernel(1, threads=288):
            A_s = T.alloc_shared((depth, 128, 32), T.float16)
            B_s = T.alloc_shared((depth, 32, 64), T.float16)
            upper = T.alloc_fragment((64, 64), T.float32)
            lower = T.alloc_fragment((64, 64), T.float32)
            ready = T.alloc_barrier([1] * depth)
            done = T.alloc_barrier([2] * depth)
            tx = T.get_thread_binding()
            if tx < 128:
                T.clear(upper)
                for k in T.serial(4):
                    T.barrier_wait(ready[k % depth], k // depth % 2)
                    T.gemm(A_s[k % depth, 0:64, :], B_s[k % depth, :, :], upper)
                    if tx == 0:
                        T.barrier_arrive(done[k % depth])
                T.copy(upper, C[0:64, :])
            elif tx >= 128 and tx < 256:
                T.clear(lower)
                for k in T.serial(4):
                    T.barrier_wait(ready[k % depth], k // depth % 2)
                    T.gemm(A_s[k % depth, 64:128, :], B_s[k % depth, :, :], lower)
                    if T.shuffle_elect(128):
                        T.barrier_arrive(done[k % depth])
                T.copy(lower, C[64:128, :])
            else:
                for k in T.serial(4):
                    T.barrier_wait(done[k % depth], (k // depth + 1) % 2)
                    if tx == 256:
                        T.tma_copy(A[0, k * 32], A_s[k % depth, :, :], barrier=ready[k % depth])
                        T.tma_copy(B[k * 32, 0], B_s[k % depth, :, :], barrier=ready[k % depth])
                        T.barrier_arrive(ready[k % depth])

    return main


def products_in_flight(pending=1, depth=3):
    """A product is under way while the next one is waited for; its slot goes back behind a wait."""
    trips = K // BK

    @T.prim_func
    def main(
        A: T.Tensor((M, K), T.float16),
        B: T.Tensor((K, N), T.float16),
        C: T.Tensor((M, N), T.float32),
    ):
        with T.Kernel(1, threads=256):
            A_s = T.alloc_shared((depth, M, BK), T.float16)
            B_s = T.alloc_shared((depth, BK, N), T.float16)
            C_l = T.alloc_fragment((M, N), T.float32)
            ready = T.alloc_barrier([128] * depth)
            done = T.alloc_barrier([128] * depth)
            with T.ws(0):
                for k in T.serial(trips):
                    T.barrier_wait(ready[k % depth], k // depth % 2)
                    T.wgmma_gemm(
                        A_s[k % depth, :, :], B_s[k % depth, :, :], C_l, clear_accum=(k == 0)
                    )
                    if k > 0:
                        T.wait_wgmma(pending)
                        T.barrier_arrive(done[(k - 1) % depth])
                T.wait_wgmma(0)
                T.copy(C_l, C)
            with T.ws(1):
                for k in T.serial(trips):
                    T.barrier_wait(done[k % depth], (k // depth + 1) % 2)
                    T.tma_copy(A[0, k * BK], A_s[k % depth, :, :], barrier=ready[k % depth])
                    T.tma_copy(B[k * BK, 0], B_s[k % depth, :, :], barrier=ready[k % depth])
                    T.barrier_arrive(ready[k % depth])

    return main


def one_role_for_all():
    """No roles: every thread starts, waits and multiplies."""

    @T.prim_func
    def main(
        A: T.Tensor((64, 128), T.float16),
        B: T.Tensor((128, 64), T.float16),
        C: T.Tensor((64, 64), T.float32),
    ):
        with T.Kernel(1, threads=128):
            A_s = T.alloc_shared((64, 32), T.float16)
            B_s = T.alloc_shared((32, 64), T.float16)
            C_l = T.alloc_fragment((64, 64), T.float32)
            come = T.alloc_barrier(128)
            T.clear(C_l)
            for k in T.Pipelined(4, num_stages=2):
                T.tma_copy(A[0, k * 32], A_s, barrier=come)
                T.tma_copy(B[k * 32, 0], B_s, barrier=come)
                T.barrier_arrive(come)
                T.barrier_wait(come, k % 2)
                T.gemm(A_s, B_s, C_l)
            T.copy(C_l, C)

    return main


@T.macro
def brought(src, start, dst, k, ready, done):
    """The rows of step k from `start` on, into its slot as soon as that is free."""
    slot, depth = k % dst.shape[0], dst.shape[0]
    T.barrier_wait(done[slot], (k // depth + 1) % 2)
    T.tma_copy(src[start, 0], dst[slot, :, :], barrier=ready[slot])
    T.barrier_arrive(ready[slot])


@T.macro
def softmax(s, m, total, o, old, new, scale):
    """Scores become weights under the maximum so far, and sums follow it."""
    rows, columns = s.shape
    T.copy(m, old)
    T.reduce_max(s, m, dim=1, clear=False)
    for i in T.Parallel(rows):
        old[i] = T.exp2((old[i] - m[i]) * scale)
    for i, j in T.Parallel(rows, columns):
        s[i, j] = T.exp2((s[i, j] - m[i]) * scale)
    T.reduce_sum(s, new, dim=1)
    for i in T.Parallel(rows):
        total[i] = total[i] * old[i] + new[i]
    for i, j in T.Parallel(*o.shape):
        o[i, j] *= old[i]


def attention():
    """Two groups compute, a third one brings K and V, each with barriers of their own."""
    length, dim, rows, columns, depth = 256, 64, 128, 64, 2
    scale = dim**-0.5 * 1.44269504

    @T.prim_func
    def main(
        Q: T.Tensor((length, dim), T.float16),
        K: T.Tensor((length, dim), T.float16),
        V: T.Tensor((length, dim), T.float16),
        O: T.Tensor((length, dim), T.float16),
    ):
        with T.Kernel(length // rows, threads=384) as bx:
            Q_s = T.alloc_shared((rows, dim), T.float16)
            K_s = T.alloc_shared((depth, columns, dim), T.float16)
            V_s = T.alloc_shared((depth, columns, dim), T.float16)
            O_s = T.alloc_shared((rows, dim), T.float16)
            q_ready = T.alloc_barrier(128)
            k_ready, v_ready = T.alloc_barrier([128] * depth), T.alloc_barrier([128] * depth)
            k_done, v_done = T.alloc_barrier([256] * depth), T.alloc_barrier([256] * depth)
            with T.ws(2):
                T.dec_max_nreg(40)
                T.tma_copy(Q[bx * rows, 0], Q_s, barrier=q_ready)
                T.barrier_arrive(q_ready)
                for k in T.serial(length // columns):
                    brought(K, k * columns, K_s, k, k_ready, k_done)
                    brought(V, k * columns, V_s, k, v_ready, v_done)
            with T.ws(0, 1):
                T.inc_max_nreg(232)
                s = T.alloc_fragment((rows, columns), T.float32)
                p = T.alloc_fragment((rows, columns), T.float16)
                o = T.alloc_fragment((rows, dim), T.float32)
                m, old, new, total = (T.alloc_fragment((rows,), T.float32) for _ in range(4))
                T.clear(o)
                T.clear(total)
                T.fill(m, -T.infinity(T.float32))
                T.barrier_wait(q_ready, 0)
                for k in T.serial(length // columns):
                    T.barrier_wait(k_ready[k % depth], k // depth % 2)
                    T.gemm(Q_s, K_s[k % depth, :, :], s, transpose_B=True, clear_accum=True)
                    T.barrier_arrive(k_done[k % depth])
                    softmax(s, m, total, o, old, new, scale)
                    T.copy(s, p)
                    T.barrier_wait(v_ready[k % depth], k // depth % 2)
                    T.gemm(p, V_s[k % depth, :, :], o)
                    T.barrier_arrive(v_done[k % depth])
                for i, j in T.Parallel(rows, dim):
                    o[i, j] = o[i, j] / total[i]
                T.copy(o, O_s)
                T.tma_copy(O_s, O[bx * rows, 0])
                T.tma_store_wait(0)

    return main


def unwatched():
    """Parities out of a tensor: nothing is known of them before the kernel runs."""

    @T.prim_func
    def main(
        A: T.Tensor((256,), T.float32), B: T.Tensor((256,), T.float32), P: T.Tensor((1,), "int32")
    ):
        with T.Kernel(1, threads=256):
            S = T.alloc_shared((256,), T.float32)
            ready = T.alloc_barrier(128)
            with T.ws(0):
                T.copy(A, S)
                T.barrier_arrive(ready)
            with T.ws(1):
                T.barrier_wait(ready, P[0])
                T.barrier_wait(ready, P[0] + 1)  # hangs
                T.copy(S, B)

    return main


def scaled_through_a_barrier():
    @T.prim_func
    def main(A: T.Tensor((4, 1024), T.float32), B: T.Tensor((4, 1024), T.float32)):
        with T.Kernel(4, threads=128) as b:
            S = T.alloc_shared((1, 256), T.float32)
            come = T.alloc_barrier(128)
            for k in T.serial(4):
                T.tma_copy(A[b, k * 256], S, barrier=come)
                T.barrier_arrive(come)
                T.barrier_wait(come, k % 2)
                for i in T.Parallel(256):
                    B[b, k * 256 + i] = S[0, i] * 2.0

    return main


def stored_by_the_engine():
    @T.prim_func
    def main(A: T.Tensor((4, 1024), T.float32), B: T.Tensor((4, 1024), T.float32)):
        with T.Kernel(4, threads=128) as b:
            S = T.alloc_shared((1, 1024), T.float32)
            for i in T.Parallel(1024):
                S[0, i] = A[b, i] * 2.0
            T.fence_proxy_async()
            T.sync_threads()
            T.tma_copy(S, B[b : b + 1, :])
            T.tma_store_wait(0)

    return main


def copied_in_groups():
    @T.prim_func
    def main(A: T.Tensor((4, 1024), T.float32), B: T.Tensor((4, 1024), T.float32)):
        with T.Kernel(4, threads=128) as b:
            S = T.alloc_shared((2, 256), T.float32)
            T.async_copy(A[b, 0:256], S[0, :])
            for k in T.serial(4):
                if k < 3:
                    T.async_copy(A[b, (k + 1) * 256 : (k + 2) * 256], S[(k + 1) % 2, :])
                    T.ptx_wait_group(1)
                else:
                    T.ptx_wait_group(0)
                T.sync_threads()
                for i in T.Parallel(256):
                    B[b, k * 256 + i] = S[k % 2, i] * 2.0

    return main


def product_that_is_waited_for():
    """A product started and waited for, without roles."""

    @T.prim_func
    def main(
        A: T.Tensor((64, 64), T.float16),
        B: T.Tensor((64, 64), T.float16),
        C: T.Tensor((64, 64), T.float32),
    ):
        with T.Kernel(1, threads=128):
            A_s = T.alloc_shared((64, 64), T.float16)
            B_s = T.alloc_shared((64, 64), T.float16)
            C_l = T.alloc_fragment((64, 64), T.float32)
            T.copy(A, A_s)
            T.copy(B, B_s)
            T.wgmma_gemm(A_s, B_s, C_l, clear_accum=True)
            T.wgmma_gemm(A_s, B_s, C_l)
            T.wait_wgmma(0)
            T.copy(C_l, C)

    return main


def tile_of_two_roles():
    """Two groups multiply by one tile, the second behind the first, and it is filled anew."""

    @T.prim_func
    def main(
        A: T.Tensor((128, 64), T.float16),
        B: T.Tensor((64, 64), T.float16),
        C: T.Tensor((256, 64), T.float32),
    ):
        with T.Kernel(1, threads=384):
            A_s = T.alloc_shared((64, 64), T.float16)
            B_s = T.alloc_shared((64, 64), T.float16)
            b_come, come, went = T.alloc_barrier(1), T.alloc_barrier(1), T.alloc_barrier(1)
            first = T.alloc_barrier(1)
            with T.ws(2):
                if T.shuffle_elect(128):
                    T.tma_copy(B, B_s, barrier=b_come)
                    T.barrier_arrive(b_come)
                for k in T.serial(2):
                    T.barrier_wait(went, (k + 1) % 2)
                    if T.shuffle_elect(128):
                        T.tma_copy(A[k * 64, 0], A_s, barrier=come)
                        T.barrier_arrive(come)
            for w in range(2):
                with T.ws(w):
                    C_l = T.alloc_fragment((64, 64), T.float32)
                    T.barrier_wait(b_come, 0)
                    for k in T.serial(2):
                        T.barrier_wait(come, k)
                        T.wgmma_gemm(A_s, B_s, C_l, clear_accum=True)
                        if w == 1:
                            T.barrier_wait(first, k)
                        T.wait_wgmma(0)
                        if T.shuffle_elect(128):
                            T.barrier_arrive(first if w == 0 else went)
                        T.copy(C_l, C[(2 * k + w) * 64, 0])

    return main
