"""Kernels of this target on the host's processor: the Metal source that is emitted, compiled for it
with a library of the emulator's in the place of Apple's."""

from tile_metal.emulate.source import emulation

__all__ = ["emulation"]
