"""What the packaging tests share: the packages as folders on disk, found and never listed."""

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = sorted(path.parent for path in ROOT.glob("packages/*/pyproject.toml"))


def pytest_generate_tests(metafunc):
    """Run each test that takes `folder` once for every package."""
    if "folder" in metafunc.fixturenames:
        metafunc.parametrize("folder", FOLDERS, ids=lambda path: path.name)


@pytest.fixture(scope="session")
def root():
    """Return the root of the workspace."""
    return ROOT


@pytest.fixture(scope="session")
def folders():
    """Return the folders of all packages."""
    return FOLDERS


@pytest.fixture
def module(folder):
    """Return the import name of the package under test."""
    return folder.name.replace("-", "_")
