"""A macro called by plain Python."""
# expect: E1003 col 1

import tile_frontend.language as T


@T.macro
def zero(A):
    T.clear(A)


zero(None)  # <-- here
