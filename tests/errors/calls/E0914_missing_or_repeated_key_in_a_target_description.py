"""Missing or repeated key in a target description."""

from tile_ir.target import load_spec

load_spec("name: mine\nfamily: gpu\n")
