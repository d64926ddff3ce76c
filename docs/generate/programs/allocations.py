# shows alloc_local, alloc_var, alloc_fragment, alloc_buffer, alloc_global
import tile_frontend.language as T


@T.prim_func
def example(A: T.Tensor((64,), T.float32)):
    result = T.empty((64,), T.float32)
    workspace = T.alloc_global((64,), T.float32)
    with T.Kernel(1, threads=64):
        shared = T.alloc_buffer((64,), T.float32, scope="shared")
        registers = T.alloc_fragment((64,), T.float32)
        steps = T.alloc_local((4,), T.float32)
        total = T.alloc_var(T.float32, init=0.0)
        T.copy(A, shared)
        T.copy(shared, registers)
        for i in T.serial(4):
            steps[i] = 0.25
            total = total + steps[i]
        for i in T.Parallel(64):
            workspace[i] = registers[i] * total
    with T.Kernel(1, threads=64):
        T.copy(workspace, result)
    return result
