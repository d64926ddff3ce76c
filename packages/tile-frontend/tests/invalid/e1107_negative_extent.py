"""E1107: a tensor of negative extent."""

import tile_frontend.language as T

SHAPE = T.Tensor((-4, 4), T.float32)  # E1107 at 9-36
