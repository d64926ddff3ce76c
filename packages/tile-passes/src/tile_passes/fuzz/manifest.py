"""What this package tells the command line about the fuzzer."""

from tile_ir.plugin import CommandManifest

COMMAND = CommandManifest(
    name="fuzz",
    plugin_api=1,
    description="try the compiler on random programs, and reduce what goes wrong",
    factory="tile_passes.fuzz.cli:add",
)
