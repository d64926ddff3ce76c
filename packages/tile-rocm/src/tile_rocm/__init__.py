"""The rocm target. It is planned: the name is taken, a code generator is not there yet."""

from tile_rocm._version import __version__
from tile_rocm.manifest import MANIFEST

__all__ = ["MANIFEST", "__version__"]
