"""Malformed tuning table."""

import tempfile
from pathlib import Path

from tile_tune.tables import Table

with tempfile.TemporaryDirectory() as folder:
    path = Path(folder, "table.yaml")
    path.write_text("tile-tune: 99")
    Table.load(path)
