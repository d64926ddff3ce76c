"""The table of planted mistakes, loaded by its path; long hunts run only where `-m slow` asks."""

from pathlib import Path

import pytest

from tile_ir.testing.by_path import module_at

HERE = Path(__file__).parent


def pytest_collection_modifyitems(config, items):
    """Leave the long hunts out unless they are asked for."""
    if "slow" in config.option.markexpr:
        return
    slow = [i for i in items if HERE in i.path.parents and i.get_closest_marker("slow")]
    if slow:
        config.hook.pytest_deselected(items=slow)
        items[:] = [i for i in items if i not in slow]


@pytest.fixture(scope="session")
def planted():
    """The mistakes of `planted.py` by name."""
    return {p.name: p for p in module_at(HERE / "planted.py").PLANTED}
