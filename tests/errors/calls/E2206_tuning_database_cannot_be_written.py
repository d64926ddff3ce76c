"""Tuning database cannot be written."""

import tempfile
import warnings
from pathlib import Path

from tile_tune.configuration import Configuration
from tile_tune.database import Database, Key, Record

warnings.simplefilter("error")
key = Key(kernel="k", digest="d", bucket="b", target="cpu", versions="{}")
record = Record(key=key, configuration=Configuration(), milliseconds=1.0, low=1.0, high=1.0)
with tempfile.NamedTemporaryFile() as file:
    Database(Path(file.name, "tuning.sqlite3")).record(record)
