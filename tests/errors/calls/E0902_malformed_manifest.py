"""Malformed manifest."""

from tile_ir.plugin import PassManifest

PassManifest(name="Unroll More", factory="my_module:make", phase="legalize")
