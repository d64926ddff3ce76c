"""What this package tells the others about the rocm target."""

from tile_ir.plugin import TargetManifest

MANIFEST = TargetManifest(
    name="rocm",
    description="AMD GPUs: HIP C++, compiled by clang (ROCm's, or that of the package ziglang).",
    specs="tile_rocm.spec:folder",
    pipeline="tile_rocm.pipeline:pipeline",
    emit="tile_rocm.driver:emit",
    toolchain="tile_rocm.driver:RocmToolchain",
    runtime="tile_rocm.driver:RocmRuntime",
    host_arch="tile_rocm.host_arch:host_arch",
    # PyTorch and CuPy built for ROCm keep the name that they gave GPUs first.
    memory=("cuda", "rocm"),
    rank=20,
    emulate="tile_rocm.emulate:emulation",
    export="tile_rocm.export:exporter",
)
