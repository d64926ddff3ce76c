"""No archive of cached kernels."""

import tempfile
from pathlib import Path

from tile_frontend.cache_commands import import_entries

with tempfile.TemporaryDirectory() as folder:
    file = Path(folder, "kernels.zip")
    file.write_bytes(b"no archive")
    import_entries(file)
