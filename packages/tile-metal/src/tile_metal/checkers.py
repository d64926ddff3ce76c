"""The compilers that can say whether Metal source is right, on a machine without a device.

Apple's own (`xcrun metal`) where it is installed; else a clang, whose "C++ for OpenCL" mode has the
same address spaces and vectors, with declarations of the library. Clang lets pass what Metal
refuses in three ways: lambdas, pointers without an address space, static variables of functions;
those are looked for in the text.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path

from tile_ir.diag import TileError
from tile_metal import knobs
from tile_metal.memory_orders import coherent
from tile_passes.launch.programs import packaged_clang, run_program

__all__ = ["Checker", "find_checker", "forbidden"]

SOURCE_NAME = "kernel.metal"
CLANG_OPTIONS = (
    *("-triple", "spir64-unknown-unknown", "-x", "clcpp", "-cl-std=clc++2021"),
    *("-fsyntax-only", "-Wno-unknown-attributes", "-Werror=implicit-function-declaration"),
)
APPLE_OPTIONS = ("-x", "metal", "-fsyntax-only", "-Wno-c++17-extensions")
SPACES = frozenset({"device", "threadgroup", "thread", "constant"})
POINTER = re.compile(
    r"(?P<words>(?:\b[a-z]+ )*)\b(?:void|bool|u?char|u?short|u?int|u?long|unsigned|float|half|[A-Z]"
    r"|atomic<\w+>) \*(?=\w|\))"
)
"""The declaration of a pointer, as emitted text writes it: the star stands at the name."""
FORBIDDEN = (
    (re.compile(r"\[[&=]?\]\s*\("), "a lambda"),
    (re.compile(r"^\s+static (?!auto|constant|inline)", re.M), "a static variable"),
)
"""What clang accepts and Metal does not -> its name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Checker:
    """A compiler: the words that start it, and what it is."""

    command: tuple[str, ...]
    release: str
    versioned: bool = False
    """Whether it is told the version of the language."""

    def log(self, source: str) -> str | None:
        """What the compiler says of source that it refuses; None where it takes it. Raises OSError
        where it cannot be started."""
        with tempfile.TemporaryDirectory(prefix="tile-metal-") as room:
            Path(room, SOURCE_NAME).write_text(source, encoding="utf-8")
            status, said = run_program((*self.command, *self._version(source), SOURCE_NAME), room)
        return said if status else None

    def _version(self, source: str) -> tuple[str, ...]:
        """The oldest version of the language that has what a source needs."""
        if not self.versioned:
            return ()
        return ("-std=metal3.2" if coherent(source) else "-std=metal3.1",)


def forbidden(source: str) -> tuple[tuple[int, str], ...]:
    """Lines of a text, each with what Metal has not; comments do not count."""
    bare = re.sub(r"/\*.*?\*/|//[^\n]*", lambda m: re.sub(r"[^\n]", " ", m[0]), source, flags=re.S)
    found = [
        (match.start(), what) for pattern, what in FORBIDDEN for match in pattern.finditer(bare)
    ]
    found += [
        (match.start(), "a pointer without an address space")
        for match in POINTER.finditer(bare)
        if not SPACES & set(match["words"].split())
    ]
    return tuple((bare.count("\n", 0, at) + 1, what) for at, what in sorted(found))


def find_checker() -> Checker | None:
    """The compiler to check with: the one asked for by TILE_METAL_CHECK, else Apple's, else a
    clang; None where there is none, which is no error: the device's own compiler comes later.

    Raises TileError E3001 where the one asked for is not there.
    """
    asked = knobs.checker()
    if asked == "none":
        return None
    found = _apple() if asked in (None, "xcrun") else None
    if found is None and asked in (None, "clang"):
        found = _clang()
    if found is None and asked is not None:
        raise TileError(
            "E3001",
            f"TILE_METAL_CHECK asks for {asked}, which is not there",
            help="pip install 'tile-metal[toolchain]' brings a clang; Xcode brings xcrun metal.",
        )
    return found


@cache
def _apple() -> Checker | None:
    program = shutil.which("xcrun")
    if program is None:
        return None
    start = (program, "-sdk", "macosx", "metal")
    status, said = run_program((*start, "--version"), os.curdir)
    if status:
        return None
    release = said.strip().splitlines()[0]
    return Checker(command=(*start, *APPLE_OPTIONS), release=release, versioned=True)


@cache
def _clang() -> Checker | None:
    """A clang on the path, or the one in the package ziglang."""
    packaged = packaged_clang()
    found = ((packaged[0], "clang"), packaged[1]) if packaged else _installed()
    if found is None:
        return None
    start, release = found
    library = str(files("tile_metal.gate"))
    return Checker(command=(*start, "-cc1", *CLANG_OPTIONS, "-I", library), release=release)


def _installed() -> tuple[tuple[str, ...], str] | None:
    program = shutil.which("clang")
    if program is None:
        return None
    status, said = run_program((program, "--version"), os.curdir)
    return None if status else ((program,), said.strip().splitlines()[0])
