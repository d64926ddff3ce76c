"""What this package tells the others about the rocm target."""

from tile_ir.plugin import TargetManifest

_PENDING = "tile_rocm.pending:not_built"

MANIFEST = TargetManifest(
    name="rocm",
    plugin_api=1,
    description="AMD GPUs: HIP C++",
    status="planned",
    specs=_PENDING,
    pipeline=_PENDING,
    emit=_PENDING,
    toolchain=_PENDING,
    runtime=_PENDING,
)
