"""C texts of the emulator's layer for PTX: what instructions mean."""
