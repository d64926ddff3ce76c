"""The device `emulator`: runs other targets' kernels on this processor, and finds their mistakes.

Each thread of a kernel has a stack of its own; blocks run on all cores. Out-of-bounds accesses,
values that nobody wrote, races, deadlocks and diverging collectives are errors with the user's
line.
"""

from tile_cpu.emulator.device import Emulator, options

__all__ = ["Emulator", "options"]
