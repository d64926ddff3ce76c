"""nvcc as the second choice: the same source to the same machine code, by a process."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from tile_cuda import knobs
from tile_cuda.nvrtc import Compiled

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Nvcc", "find_nvcc"]

USUAL = "/usr/local/cuda/bin/nvcc"
RELEASE = re.compile(r"release (\d+)\.(\d+), V([\d.]+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Nvcc:
    """One nvcc: where it is and which release."""

    path: str
    version: tuple[int, int]
    release: str

    def key(self) -> str:
        """What the machine code depends on."""
        return f"nvcc {self.release}"

    def compile(self, source: str, name: str, options: Sequence[str]) -> Compiled:
        """Compile CUDA C++ text as NVRTC would; `name` is what messages call the file."""
        with tempfile.TemporaryDirectory(prefix="tile-nvcc-") as room:
            written, built = Path(room, name), Path(room, "kernel.cubin")
            written.write_text(source, encoding="utf-8")
            command = [self.path, *options, "-cubin", "-o", str(built), str(written)]
            # Messages are parsed, so they must be English.
            environment = {**os.environ, "LC_ALL": "C"}
            done = subprocess.run(
                command, capture_output=True, text=True, check=False, env=environment
            )
            log = (done.stdout + done.stderr).replace(f"{room}{os.sep}", "")
            if done.returncode:
                return Compiled(cubin=None, log=log)
            return Compiled(cubin=built.read_bytes(), log=log)


def find_nvcc() -> Nvcc | None:
    """The nvcc that the user names, that PATH has or that a toolkit installed; else None."""
    return _find(knobs.nvcc_path() or shutil.which("nvcc"))


@cache
def _find(named: str | None) -> Nvcc | None:
    found = named or (USUAL if Path(USUAL).exists() else None)
    if found is None:
        return None
    try:
        said = subprocess.run([found, "--version"], capture_output=True, text=True, check=False)
    except OSError:
        return None
    release = RELEASE.search(said.stdout)
    if release is None:
        return None
    return Nvcc(path=found, version=(int(release[1]), int(release[2])), release=release[3])
