"""What the tests of C text share: build it, load it, call it."""

import ctypes
from pathlib import Path

import pytest

from tile_cpu import toolchain


@pytest.fixture(scope="session")
def build_c(tmp_path_factory):
    """Build C text with the given flags into a loaded library."""

    def build(source: str, *flags: str) -> ctypes.CDLL:
        out = tmp_path_factory.mktemp("c") / "library.so"
        return ctypes.CDLL(str(toolchain.compile(source, out, flags).path))

    return build


@pytest.fixture(autouse=True, scope="session")
def one_cache(tmp_path_factory):
    """Tests leave the user's cache alone, and build the thread pool once."""
    patch = pytest.MonkeyPatch()
    patch.setenv("TILE_CACHE_DIR", str(Path(tmp_path_factory.mktemp("cache"))))
    yield
    patch.undo()
