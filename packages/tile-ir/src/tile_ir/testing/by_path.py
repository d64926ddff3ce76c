"""Modules by the path of their file: tests are no packages, and several use the same kernels."""

from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path
    from types import ModuleType

__all__ = ["module_at"]


def module_at(path: Path) -> ModuleType:
    """A new module of the file `path`, by the file's name and not entered into `sys.modules`.

    Raises what the file raises, or FileNotFoundError where there is none.
    """
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise FileNotFoundError(path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
