"""Target description is not YAML."""

from tile_ir.target import load_spec

load_spec("name: [\n")
