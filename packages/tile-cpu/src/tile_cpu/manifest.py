"""What this distribution offers: the target `cpu`."""

from tile_ir.plugin import DeviceManifest, TargetManifest

MANIFEST = TargetManifest(
    name="cpu",
    description="The host CPU: readable C, packed matrix kernels, a thread pool.",
    specs="tile_cpu.spec:folder",
    pipeline="tile_cpu.pipeline:pipeline",
    emit="tile_cpu.driver:emit",
    toolchain="tile_cpu.driver:CpuToolchain",
    runtime="tile_cpu.driver:CpuRuntime",
    host_arch="tile_cpu.spec.host:host_arch",
    export="tile_cpu.export:CpuExporter",
    rank=90,
)

EMULATOR = DeviceManifest(
    name="emulator",
    description="Runs other targets' kernels on this processor and reports their mistakes.",
    factory="tile_cpu.emulator:Emulator",
)
