"""The cuda target. It is planned: the name is taken, a code generator is not there yet."""

from tile_cuda._version import __version__
from tile_cuda.manifest import MANIFEST

__all__ = ["MANIFEST", "__version__"]
