"""Name claimed twice."""

import importlib.metadata

from tile_ir.plugin import load, refresh

twice = [importlib.metadata.EntryPoint("mine", f"{m}:MANIFEST", "tile.passes") for m in "ab"]
importlib.metadata.entry_points = lambda: importlib.metadata.EntryPoints(twice)
refresh()
load("tile.passes", "mine")
