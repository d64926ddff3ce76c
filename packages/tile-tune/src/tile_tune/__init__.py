"""The autotuner. It is planned: the name is taken, a searcher is not there yet."""

from tile_tune._version import __version__
from tile_tune.manifest import MANIFEST

__all__ = ["MANIFEST", "__version__"]
