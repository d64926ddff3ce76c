"""Plugin for another plugin API."""

from tile_ir.plugin import PassManifest

PassManifest(name="mine", plugin_api=99, factory="my_module:make", phase="legalize")
