"""Wrong value in a target description."""

from tile_ir.target import load_spec

load_spec("name: mine\narch: one\nfamily: gpu\nwarp_width: wide\n")
