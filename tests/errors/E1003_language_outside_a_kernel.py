"""A tile operation in a plain function."""
# expect: E1003 col 5

import tile_frontend.language as T


def kernel():
    T.alloc_shared((64,), T.float32)  # <-- here


kernel()
