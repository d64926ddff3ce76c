"""What this package tells the others about the metal target."""

from tile_ir.plugin import TargetManifest

_PENDING = "tile_metal.pending:not_built"

MANIFEST = TargetManifest(
    name="metal",
    plugin_api=1,
    description="Apple GPUs: Metal Shading Language",
    status="planned",
    specs=_PENDING,
    pipeline=_PENDING,
    emit=_PENDING,
    toolchain=_PENDING,
    runtime=_PENDING,
)
