"""Wrong number of arguments."""

from tile_ir import build

build.call("exp", [build.const(1.0), build.const(2.0)])
