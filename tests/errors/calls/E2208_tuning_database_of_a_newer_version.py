"""Tuning database of a newer version."""

import sqlite3
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
    Database(path).record(record)
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA user_version = 99")
    connection.close()
    Database(path).find(key)
