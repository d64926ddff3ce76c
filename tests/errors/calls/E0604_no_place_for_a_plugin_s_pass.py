"""No place for a plugin's pass."""

from tile_ir.plugin import PassManifest
from tile_passes.default import default_pipeline
from tile_passes.registry import place

mine = PassManifest(
    name="mine", factory="m:f", phase="legalize", after=("simplify",), before=("bounds",)
)
place(default_pipeline(), mine)
