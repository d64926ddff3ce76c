"""Not a configuration."""

import tile_tune

tile_tune.autotune(configs=[{"block": 32}])(lambda: 0)
