"""What this package tells the others about the metal target."""

from tile_ir.plugin import TargetManifest

MANIFEST = TargetManifest(
    name="metal",
    description="Apple GPUs: Metal Shading Language, compiled and launched by PyTorch.",
    specs="tile_metal.spec:folder",
    pipeline="tile_metal.pipeline:pipeline",
    emit="tile_metal.driver:emit",
    toolchain="tile_metal.driver:MetalToolchain",
    runtime="tile_metal.driver:MetalRuntime",
    host_arch="tile_metal.host_arch:host_arch",
    emulate="tile_metal.emulate:emulation",
    export="tile_metal.export:exporter",
    memory=("mps",),
    rank=30,
)
