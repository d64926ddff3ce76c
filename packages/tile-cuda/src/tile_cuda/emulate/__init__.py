"""Kernels of this target on the host's processor: the PTX that NVIDIA's compiler makes of them,
translated to C for the emulator.

So what runs is what ships: assembly in strings, descriptors, addresses and predicates included.
"""

from tile_cuda.emulate.source import emulation

__all__ = ["emulation"]
