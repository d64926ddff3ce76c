"""The rocm target: AMD GPUs from CDNA 2 and RDNA 3 on, by way of readable HIP C++."""

from tile_rocm._version import __version__
from tile_rocm.manifest import MANIFEST

__all__ = ["MANIFEST", "__version__"]
