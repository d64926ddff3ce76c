"""What this package tells the others about the cuda target."""

from tile_ir.plugin import TargetManifest

_PENDING = "tile_cuda.pending:not_built"

MANIFEST = TargetManifest(
    name="cuda",
    plugin_api=1,
    description="NVIDIA GPUs: CUDA C++ with inline PTX",
    status="planned",
    specs=_PENDING,
    pipeline=_PENDING,
    emit=_PENDING,
    toolchain=_PENDING,
    runtime=_PENDING,
)
