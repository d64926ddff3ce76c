"""C text of the emulator, in the order in which it is one translation unit."""
