"""Compiled kernel cannot be loaded."""

import tempfile
from pathlib import Path

from tile_passes.launch.container import Archive

with tempfile.TemporaryDirectory() as folder:
    path = Path(folder, "kernel.zip")
    path.write_bytes(b"no archive")
    Archive(code="kernel", usage=dict).unpack(path)
