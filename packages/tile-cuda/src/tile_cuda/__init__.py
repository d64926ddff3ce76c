"""The cuda target: NVIDIA GPUs from Turing on, by way of readable CUDA C++."""

from tile_cuda._version import __version__
from tile_cuda.manifest import MANIFEST

__all__ = ["MANIFEST", "__version__"]
