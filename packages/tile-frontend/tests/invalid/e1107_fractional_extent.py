"""E1107: a tensor of fractional extent."""

import tile_frontend.language as T

SHAPE = T.Tensor((4, 64 / 8), T.float32)  # E1107 at 9-40
