"""E1003: a language function outside any kernel."""

import tile_frontend.language as T

T.copy(1, 2)  # E1003 at 1-12
