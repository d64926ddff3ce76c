"""E1114: a plain function given to tile.compile."""

import tile_frontend as tile


def kernel(A):
    return A


tile.compile(kernel)
