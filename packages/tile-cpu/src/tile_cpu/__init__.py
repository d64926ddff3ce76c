"""The cpu target: readable C, packed matrix kernels, a thread pool."""

from tile_cpu._version import __version__
from tile_cpu.manifest import MANIFEST

__all__ = ["MANIFEST", "__version__"]
