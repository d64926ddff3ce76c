"""Optional package missing."""

import sys

from tile_tune.progress import progress_named

sys.modules["rich"] = None  # as where it is not installed
progress_named("rich")
