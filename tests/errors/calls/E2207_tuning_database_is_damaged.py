"""Tuning database is damaged."""

import tempfile
import warnings
from pathlib import Path

from tile_tune.configuration import Configuration
from tile_tune.database import Database, Key, Record

warnings.simplefilter("error")
key = Key(kernel="k", digest="d", bucket="b", target="cpu", versions="{}")
record = Record(key=key, configuration=Configuration(), milliseconds=1.0, low=1.0, high=1.0)
with tempfile.TemporaryDirectory() as folder:
    path = Path(folder, "tuning.sqlite3")
    path.write_bytes(b"this is no database" * 99)
    Database(path).find(key)
