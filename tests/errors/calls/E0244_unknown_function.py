"""Unknown function."""

from tile_ir import build

build.call("expp", [build.const(1.0)])
