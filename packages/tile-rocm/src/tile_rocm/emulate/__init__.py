"""Kernels of this target on the host's processor: the HIP C++ that is emitted, compiled for it.

What is only declared by AMD's compiler - matrix instructions, exchanges between lanes, conversions,
atomics - gets its meaning here, as AMD's manuals of the instruction sets state it and independently
of the descriptions that the compiler uses.
"""

from tile_rocm.emulate.source import emulation

__all__ = ["emulation"]
