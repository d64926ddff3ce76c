"""Kernels as operators of torch: `tile.torch.op(kernel)`.

Importing this package imports torch; `import tile_frontend` does not.
"""

from tile_frontend.torch.ops import Op, op

__all__ = ["Op", "op"]
