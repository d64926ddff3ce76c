"""The compilers that make code objects: the clang of a ROCm toolkit, or the one in the package
ziglang.

Both are asked in clang's inner form (`-cc1`), which needs neither headers nor a device library and
starts one process less; lld then links the object into the shared library that the driver loads.
"""

from __future__ import annotations

import subprocess
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from tile_ir.diag import TileError
from tile_passes.launch.programs import packaged_clang, run_program
from tile_rocm import knobs

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Compiled", "Compiler", "find_compiler"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Compiled:
    """What a compiler gave: a code object or the machine's text (None where it refused), and what
    it said."""

    output: bytes | None
    log: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Compiler:
    """One clang with its linker: the words that start each, and what machine code depends on."""

    clang: tuple[str, ...]
    linker: tuple[str, ...]
    release: str

    def key(self) -> str:
        """What machine code depends on besides source and options."""
        return self.release

    def compile(
        self, source: str, name: str, options: Sequence[str], text: bool = False
    ) -> Compiled:
        """HIP C++ to a code object, or with `text` to the machine's text; messages call the file
        `name`. Raises OSError where a program cannot be started."""
        with tempfile.TemporaryDirectory(prefix="tile-rocm-") as room:
            Path(room, name).write_text(source, encoding="utf-8")
            made = Path(room, "kernel.s" if text else "kernel.o")
            form = "-S" if text else "-emit-obj"
            command = (*self.clang, "-cc1", *options, form, name, "-o", made.name)
            status, log = run_program(command, room)
            if status == 0 and not text:
                linked = Path(room, "kernel.co")
                command = (*self.linker, "-shared", "--no-undefined", made.name, "-o", linked.name)
                status, said = run_program(command, room)
                made, log = linked, log + said
            return Compiled(output=made.read_bytes() if status == 0 else None, log=log)


def find_compiler() -> Compiler:
    """The compiler to use: the one asked for by TILE_ROCM_COMPILER, else that of the ROCm toolkit,
    else ziglang's.

    Raises TileError E3001 where there is none.
    """
    asked = knobs.compiler()
    found = None
    if asked in (None, "clang"):
        found = _toolkit(knobs.toolkit_folder())
    if found is None and asked in (None, "ziglang"):
        found = _ziglang()
    if found is None:
        raise TileError(
            "E3001",
            f"there is no compiler for AMD GPUs ({asked or 'neither ROCm nor ziglang'} found)",
            help="pip install 'tile-rocm[toolchain]'; it needs no GPU and no driver.",
        )
    return found


@cache
def _toolkit(folder: str) -> Compiler | None:
    tools = Path(folder, "llvm", "bin")
    clang, linker = tools / "clang", tools / "ld.lld"
    if not (clang.exists() and linker.exists()):
        return None
    try:
        said = subprocess.run([clang, "--version"], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    release = said.stdout.strip().splitlines()
    return Compiler(
        clang=(str(clang),), linker=(str(linker),), release=release[0] if release else "clang"
    )


def _ziglang() -> Compiler | None:
    found = packaged_clang()
    if found is None:
        return None
    program, release = found
    return Compiler(clang=(program, "clang"), linker=(program, "ld.lld"), release=release)
