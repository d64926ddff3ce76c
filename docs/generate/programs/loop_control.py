# shows loop_break, break_loop, continue_loop
import tile_frontend.language as T


@T.prim_func
def example(A: T.Tensor((64,), T.float32)):
    result = T.empty((1,), T.float32)
    with T.Kernel(1, threads=32):
        total = T.alloc_var(T.float32, init=0.0)
        for i in T.serial(64):
            if A[i] < 0.0:
                T.continue_loop()
            if total > 8.0:
                T.loop_break()
            total = total + A[i]
        result[0] = total
    return result
