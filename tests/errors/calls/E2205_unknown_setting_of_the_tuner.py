"""Unknown setting of the tuner."""

from tile_tune.progress import progress_named

progress_named("loud")
