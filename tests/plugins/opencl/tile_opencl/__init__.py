"""OpenCL C 1.2 as a target of the tile compiler: the whole of a stranger's distribution.

Kernels use work-groups, local memory and barriers; an access is one element, of which the device's
compiler makes vectors across work-items. PoCL 3.1 is known to compute wrong values after a barrier
that stands in a branch, which the language allows.
"""

from pathlib import Path

from tile_ir.plugin import TargetManifest

__all__ = ["MANIFEST", "specs"]

MANIFEST = TargetManifest(
    name="opencl",
    description="OpenCL C 1.2 through pyopencl.",
    specs="tile_opencl:specs",
    pipeline="tile_passes.default:threads_pipeline",
    emit="tile_opencl.driver:emit",
    toolchain="tile_opencl.driver:Toolchain",
    runtime="tile_opencl.driver:Runtime",
    host_arch="tile_opencl.driver:host_arch",
    memory=("cpu",),
    rank=90,
)


def specs() -> Path:
    """The folder of descriptions."""
    return Path(__file__).parent
