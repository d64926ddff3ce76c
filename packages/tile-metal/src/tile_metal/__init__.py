"""The metal target: Apple GPUs from family 7 (M1) on, by way of readable Metal Shading Language."""

from tile_metal._version import __version__
from tile_metal.manifest import MANIFEST

__all__ = ["MANIFEST", "__version__"]
