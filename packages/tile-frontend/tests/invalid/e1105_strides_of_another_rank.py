"""E1105: one stride for two axes."""

import tile_frontend.language as T

SHAPE = T.StridedTensor((4, 4), (4,), T.float32)  # E1105 at 9-48
