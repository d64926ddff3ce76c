"""What this package tells the others about its search strategies."""

from tile_ir.plugin import TunerManifest

MANIFEST = TunerManifest(
    name="search",
    plugin_api=1,
    description="search over block sizes and plan pins",
    status="planned",
    factory="tile_tune.pending:not_built",
)
