"""A target in the place of the function."""
# expect: E1114 in the call

import tile_frontend as tile

decorate = tile.jit("cpu")  # <-- here
