"""What the tests of the language share: every kernel is compiled anew, with poisoned outputs; and
the pages that are written from its docstrings."""

from pathlib import Path

import pytest

from tile_ir.testing.requires import requires

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def anew(cache_of_the_session, poisoned_arrays):
    """Every test compiles into the session's cache and gets outputs full of garbage."""


@pytest.fixture(scope="session")
def root():
    """Return the root of the workspace."""
    return ROOT


@pytest.fixture(scope="session")
def nvrtc():
    """The compiler that kernels for the emulator need."""
    from tile_cuda.nvrtc import find_nvrtc

    requires("nvidia-cuda-nvrtc", lambda: find_nvrtc() is not None)


@pytest.fixture(scope="session")
def surface(script):
    """The script of docs/surface.md."""
    return script("surface")


@pytest.fixture
def generated(script):
    """Return `generated(name)`: the pages of a script that are out of date."""

    def stale(name):
        made = script(name)
        pages = {made.FOLDER / file: text for file, text in made.pages().items()}
        found = {p for p, text in pages.items() if not p.exists() or p.read_text("utf-8") != text}
        return sorted(str(p.relative_to(ROOT)) for p in found)

    return stale
