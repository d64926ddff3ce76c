"""Kernels in C++ as a library of this processor, with every access reported to the emulator.

clang's kernel memory sanitizer asks before each access where the mask of those bytes lies, and
follows the masks through registers; the answers are the emulator's (native.c). So compiled code is
checked as closely as translated code is, at the speed of calls.
"""

from __future__ import annotations

import os
import platform
import subprocess
import tempfile
import time
from functools import cache
from pathlib import Path

from tile_cpu.compiler_errors import compiler_failed, file_error
from tile_cpu.compilers import find_zig
from tile_cpu.emulator.lines import line_table
from tile_cpu.toolchain import Artifact
from tile_ir.diag import TileError

__all__ = ["build_native", "source_line"]

SOURCE = "kernel.cpp"
LINES_OF = "kernel"
"""The file that positions are lines of, see `tile_ir.emulation.Emulation`."""
FLAGS = (
    *("-triple", "x86_64-unknown-linux-gnu", "-target-cpu", "x86-64-v3"),
    *("-x", "c++", "-std=c++17", "-O1", "-finline-functions", "-w"),
    *("-ffp-contract=off", "-relaxed-aliasing", "-fvisibility=hidden"),
    *("-fno-optimize-sibling-calls", "-mllvm", "-disable-loop-idiom-all"),
    *("-mrelocation-model", "pic", "-pic-level", "2"),
    *("-fsanitize=kernel-memory", "-mllvm", "-msan-track-origins=0"),
    *("-debug-info-kind=line-tables-only", "-dwarf-version=4", "-gno-inline-line-tables"),
)
"""Inlined functions take the line of their call: a helper's own line tells a user nothing. Where a
call returns to is the position that is reported, so no call may take its caller's place. Loops that
copy stay loops: the sanitizer takes a copy between two address spaces for one within the first."""


def build_native(text: str, out: Path) -> Artifact:
    """Compile C++ text into the library `out`, which appears complete or not at all.

    Raises TileError E0801 without zig, E0802 for text that its clang refuses, E0803 where `out`
    cannot be written, E2300 on other processors than x86-64 under Linux.
    """
    _check_host()
    zig, started = find_zig(), time.perf_counter()
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=out.parent, prefix=f".{out.stem}.") as room:
            Path(room, SOURCE).write_text(text, encoding="utf-8")
            clang = (zig.path, "clang", "-cc1", *FLAGS, "-emit-obj", SOURCE, "-o", "kernel.o")
            linker = (zig.path, "ld.lld", "-shared", "kernel.o", "-o", "kernel.so")
            for command in (clang, linker):
                done = subprocess.run(
                    command,
                    cwd=room,
                    capture_output=True,
                    text=True,
                    check=False,
                    env={**os.environ, "LC_ALL": "C"},
                )
                if done.returncode:
                    raise compiler_failed(done.stderr, text, SOURCE, " ".join(command))
            os.replace(Path(room, "kernel.so"), out)
    except OSError as error:
        raise file_error(error, out) from error
    seconds = time.perf_counter() - started
    return Artifact(path=out, toolchain=zig, flags=FLAGS, seconds=seconds)


def _check_host() -> None:
    machine, system = platform.machine(), platform.system()
    if (machine, system) not in (("x86_64", "Linux"), ("AMD64", "Linux")):
        raise TileError(
            "E2300",
            f"kernels of this target are not emulated on {machine} under {system}",
            notes=("The compiler follows unwritten memory on x86-64 under Linux only.",),
            help="Use such a machine, or a container of one.",
        )


@cache
def _table(path: str) -> tuple[tuple[int, int], ...]:
    return line_table(Path(path).read_bytes(), LINES_OF)


def source_line(path: str, at: int) -> int:
    """The line of a library's source at position `at`, 0 where none is known.

    A position is where a call returns to, so the call itself ends one byte before it.
    """
    found = 0
    for start, line in _table(path):
        if start > at - 1:
            break
        found = line
    return found
