"""Helpers of tests: `main`, seeds, and marks for tests that need a device.

`requires_NAME` marks a test that needs the device of an installed target; `aliases.txt` says which
target a name means. It is decided when the module of tests is imported.
"""

from __future__ import annotations

import random
import re
import sys
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import numpy as np

from tile_frontend.compat.tensors import torch_assert_close
from tile_frontend.target_select import Presence, installed, presence
from tile_ir.diag import TileError

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["main", "requires_package", "set_random_seed", "torch_assert_close"]

_COMPARED: dict[str, Callable[[int, int], bool]] = {
    "": lambda a, b: a == b,
    "_eq": lambda a, b: a == b,
    "_ge": lambda a, b: a >= b,
    "_gt": lambda a, b: a > b,
    "_le": lambda a, b: a <= b,
    "_lt": lambda a, b: a < b,
}


def main() -> None:
    """Run the tests of the calling module, and exit."""
    import pytest  # tests have it

    path = sys._getframe(1).f_globals.get("__file__", ".")
    raise SystemExit(pytest.main([str(path), *sys.argv[1:]]))


def set_random_seed(seed: int = 42) -> None:
    """Seed Python's, numpy's and, where it is imported, torch's random numbers."""
    random.seed(seed)
    np.random.seed(seed)
    if "torch" in sys.modules:
        sys.modules["torch"].manual_seed(seed)


def requires_package(name: str) -> Any:
    """A mark: skip the test where a package is missing."""
    from importlib.util import find_spec

    return _mark(find_spec(name) is not None, f"needs the package {name}")


@cache
def _aliases() -> dict[str, str]:
    text = files(__package__).joinpath("aliases.txt").read_text("utf-8")
    return dict(line.split("=") for line in text.split() if "=" in line)


@cache
def _present(target: str) -> Presence:
    found = next((m for m, _ in installed() if m is not None and m.name == target), None)
    return Presence(None, f"no target {target} is installed") if found is None else presence(found)


def _mark(holds: bool, reason: str) -> Any:
    import pytest  # tests have it

    return pytest.mark.skipif(not holds, reason=reason)


def _version(arch: str | None) -> int:
    digits = re.search(r"(\d+)", arch or "")
    return int(digits[1]) if digits else 0


def __getattr__(name: str) -> Any:
    """`requires_TARGET`, and `requires_TARGET_compute_version_ge(major, minor)` and its like."""
    match = re.fullmatch(r"requires_(\w+?)(_compute_version(_eq|_ge|_gt|_le|_lt)?)?", name)
    if match is None or match[1] not in _aliases():
        if name.startswith("__"):
            raise AttributeError(name)
        raise TileError(
            "E1117",
            f"tilelang.testing.{name} is not provided",
            help="mark the test with pytest.mark.skipif and a reason",
        )
    target = _aliases()[match[1]]
    found = _present(target)
    if match[2] is None:
        return _mark(found.arch is not None, f"needs a device of {target}: {found.why}")
    compare = _COMPARED[match[3] or ""]

    def at(major: int, minor: int = 0) -> Any:
        holds = found.arch is not None and compare(_version(found.arch), 10 * major + minor)
        return _mark(holds, f"needs a device of {target}, {name} {major}.{minor}")

    return at
