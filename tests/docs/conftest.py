"""What the tests of the documentation share: a cache, and a folder for each page."""

import sys

import pytest


@pytest.fixture(autouse=True)
def anew(cache_of_the_session, poisoned_arrays):
    """Every page compiles into the session's cache and gets outputs full of garbage."""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Where a page runs: an empty folder with a tuning database of its own; what the page imports
    from it is forgotten, because two pages may call different files the same."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("TILE_TUNE_DATABASE", str(tmp_path / "tuned.sqlite"))
    yield tmp_path
    for name in [n for n, m in sys.modules.items() if str(tmp_path) in str(_file(m))]:
        del sys.modules[name]


def _file(module):
    return getattr(module, "__file__", None)
