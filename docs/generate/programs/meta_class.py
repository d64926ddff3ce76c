# shows meta_class
import tile_frontend.language as T


@T.meta_class
class Walk:
    def __init__(self, step):
        self.place = T.alloc_var(T.int32, init=0)
        self.step = step

    def advance(self):
        self.place = self.place + self.step


@T.prim_func
def example(A: T.Tensor((64,), T.float32)):
    result = T.empty((4,), T.float32)
    with T.Kernel(1, threads=32):
        walk = Walk(16)
        for i in T.serial(4):
            result[i] = A[walk.place]
            walk.advance()
    return result
