"""A compiled kernel: `kernel(...)` runs it on arrays, `kernel.self_check()` tests it here."""

from pathlib import Path

from ._library import Kernel, KernelError

__all__ = ["Kernel", "KernelError", "kernel"]

kernel = Kernel(Path(__file__).parent)
