"""Type unknown to torch."""

import tile_frontend.language as T

T.float8_e3m4.as_torch()
