"""Target description unreadable."""

from pathlib import Path

from tile_ir.target import load_spec

load_spec(Path("no/such/machine.yaml"))
