"""A dimension whose name is no identifier."""
# expect: E1109 col 5

import tile_frontend.language as T

M = T.dynamic("2M")  # <-- here
