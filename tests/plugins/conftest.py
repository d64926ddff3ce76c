"""Distributions of strangers: each is installed by the session that tests them all; where it is
absent (a plain checkout) it is built and put on the path, so that no test has a reason to skip."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tile_ir.plugin import refresh

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

FOLDER = Path(__file__).parent


@pytest.fixture(scope="module")
def distribution(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str, str], None]]:
    """Makes sure that a distribution is installed: its name, and its folder here."""
    with pytest.MonkeyPatch.context() as patch:
        rooms: list[str] = []

        def provide(name: str, folder: str) -> None:
            try:
                metadata.distribution(name)
            except metadata.PackageNotFoundError:
                room = str(_unpacked(FOLDER / folder, tmp_path_factory.mktemp("site")))
                rooms.append(room)
                patch.syspath_prepend(room)
                # Processes that a test starts see the distribution too.
                patch.setenv("PYTHONPATH", room, prepend=os.pathsep)
            refresh()

        yield provide
    for name, module in list(sys.modules.items()):
        if (getattr(module, "__file__", None) or "").startswith(tuple(rooms)):
            del sys.modules[name]
    refresh()


def _unpacked(source: Path, room: Path) -> Path:
    """The folder that holds what the wheel of a distribution has."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(room)]
    subprocess.run(command, cwd=source, capture_output=True, check=True)
    (wheel,) = room.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(room / "site")
    return room / "site"
