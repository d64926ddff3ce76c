"""What this package tells the others about the cuda target."""

from tile_ir.plugin import TargetManifest

MANIFEST = TargetManifest(
    name="cuda",
    description="NVIDIA GPUs: CUDA C++ with inline PTX, compiled by NVRTC or nvcc.",
    specs="tile_cuda.spec:folder",
    pipeline="tile_cuda.pipeline:pipeline",
    emit="tile_cuda.driver:emit",
    toolchain="tile_cuda.driver:CudaToolchain",
    runtime="tile_cuda.driver:CudaRuntime",
    host_arch="tile_cuda.host_arch:host_arch",
    emulate="tile_cuda.emulate:emulation",
    rank=10,
)
