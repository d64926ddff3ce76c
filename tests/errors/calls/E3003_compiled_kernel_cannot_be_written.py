"""Compiled kernel cannot be written."""

from pathlib import Path

from tile_passes.launch.files import write_atomically

write_atomically(Path("/dev/null/kernel"), b"")
