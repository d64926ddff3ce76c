"""A function that is no kernel given to the compiler."""
# expect: E1114 col 1

import tile_frontend as tile


def kernel(A):
    return A


tile.compile(kernel, target="cpu")  # <-- here
