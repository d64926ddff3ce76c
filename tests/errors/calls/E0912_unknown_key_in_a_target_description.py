"""Unknown key in a target description."""

from tile_ir.target import load_spec

load_spec("name: mine\narch: one\nfamily: gpu\nwarp_widht: 32\n")
