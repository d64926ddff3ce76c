"""Space without members."""

from tile_tune.space import Space

Space.product({"block": []})
