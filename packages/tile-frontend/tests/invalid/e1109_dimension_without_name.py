"""E1109: a dimension named by a number."""

import tile_frontend.language as T

M = T.dynamic("3")  # E1109 at 5-18
