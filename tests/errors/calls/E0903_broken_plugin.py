"""Broken plugin."""

import importlib.metadata

from tile_ir.plugin import load, refresh

broken = importlib.metadata.EntryPoint("mine", "no_such_module:MANIFEST", "tile.passes")
importlib.metadata.entry_points = lambda: importlib.metadata.EntryPoints([broken])
refresh()
load("tile.passes", "mine")
