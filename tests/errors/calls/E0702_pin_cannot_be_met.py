"""Pin cannot be met."""

import tile_frontend as tile
import tile_frontend.language as T


@T.prim_func
def product(A: T.Tensor((64, 64), T.float32), B: T.Tensor((64, 64), T.float32)):
    with T.Kernel(1):
        a = T.alloc_shared((64, 64), T.float32)
        total = T.alloc_fragment((64, 64), T.float32)
        T.copy(A, a)
        T.gemm(a, a, total, clear_accum=True)
        T.copy(total, B)


tile.compile(product, target="cpu", plan={"product.tiles.strip": "bz"})
