"""Turn emitted C into a shared library, for this machine or (by zig) for another one.

The library appears complete or not at all; what can go wrong is told in the user's terms: no
compiler (E0801), the compiler refused the kernel (E0802, placed on the user's line), no place to
write (E0803).
"""

from __future__ import annotations

import atexit
import hashlib
import os
import shutil
import subprocess
import tempfile
import time
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from tile_cpu import knobs
from tile_cpu.compiler_errors import compiler_failed, file_error, is_storage_message
from tile_cpu.compilers import Toolchain, find_toolchain, find_zig
from tile_ir.diag import TileError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "COMMON_FLAGS",
    "Artifact",
    "Toolchain",
    "compile",
    "compile_cached",
    "cross_compile",
    "find_toolchain",
    "run_compiler",
]

COMMON_FLAGS = (
    "-std=gnu11",
    "-shared",
    "-fPIC",
    "-fvisibility=hidden",
    "-fno-math-errno",
    "-fno-trapping-math",
    "-Wno-psabi",
)
"""Flags of every build. Neither errno nor floating-point traps can be seen from a kernel; psabi
notes concern vector arguments of functions, which are all inlined."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Artifact:
    """A built library: where it is, what built it with which flags, and how long that took (s)."""

    path: Path
    toolchain: Toolchain
    flags: tuple[str, ...]
    seconds: float


def compile(
    source: str, out: Path, flags: Sequence[str] = (), toolchain: Toolchain | None = None
) -> Artifact:
    """Build `source` (C text) into the shared library `out`, which appears complete or not at all.

    `flags` follow the common ones, so they win. Raises TileError E0801 (no compiler),
    E0802 (the compiler refused the source; its first messages are placed on the user's lines),
    E0803 (the folder cannot be written, or the disk is full).
    """
    chosen = toolchain or find_toolchain()
    return _build(chosen, source, Path(out), (*COMMON_FLAGS, *flags, "-lm"))


def _build(chosen: Toolchain, source: str, out: Path, flags: Sequence[str]) -> Artifact:
    started = time.perf_counter()
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=out.parent, prefix=f".{out.stem}.") as room:
            written, built = Path(room, "kernel.c"), Path(room, "kernel.out")
            written.write_text(source, encoding="utf-8")
            run_compiler(chosen, written, built, flags, source)
            os.replace(built, out)
            if knobs.keep_source():
                os.replace(written, out.with_suffix(".c"))
    except OSError as error:
        raise file_error(error, out) from error
    seconds = time.perf_counter() - started
    return Artifact(path=out, toolchain=chosen, flags=tuple(flags), seconds=seconds)


def run_compiler(
    chosen: Toolchain, written: Path, built: Path, flags: Sequence[str], source: str
) -> None:
    """Run the compiler on one file. Raises TileError E0802 when it refuses `source`, E0803 where
    the result cannot be written."""
    libraries = [flag for flag in flags if flag.startswith("-l")]
    options = [flag for flag in flags if not flag.startswith("-l")]
    command = [*chosen.command, *options, str(written), "-o", str(built), *libraries]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, env=_environment(chosen)
    )
    if done.returncode == 0:
        return
    if is_storage_message(done.stderr):
        # The cause tells a caller with another place to write that this one failed.
        cause = OSError(done.stderr.strip().splitlines()[-1])
        raise file_error(cause, built) from cause
    raise compiler_failed(done.stderr, source, written.name, " ".join(command))


def _environment(chosen: Toolchain) -> dict[str, str]:
    # Messages are parsed, so they must be English; zig otherwise fills a cache in the home folder.
    environment = {**os.environ, "LC_ALL": "C"}
    if chosen.kind == "zig":
        environment.setdefault("ZIG_GLOBAL_CACHE_DIR", str(knobs.cache_dir() / "zig"))
        environment.setdefault("ZIG_LOCAL_CACHE_DIR", str(knobs.cache_dir() / "zig"))
    return environment


def compile_cached(source: str, stem: str, flags: Sequence[str] = ()) -> Artifact:
    """Build `source` once per (text, compiler, flags) into the cache folder and return the library.

    Processes that race for the same library each build it; the last rename wins, all are equal.
    Where the cache folder cannot be written the library lives as long as the process.
    """
    chosen = find_toolchain()
    key = "\0".join((source, chosen.key(), *COMMON_FLAGS, *flags))
    digest = hashlib.sha256(key.encode()).hexdigest()[:24]
    out = knobs.cache_dir() / f"{stem}-{digest}.so"
    if out.exists():
        return Artifact(path=out, toolchain=chosen, flags=tuple(flags), seconds=0.0)
    try:
        return compile(source, out, flags, chosen)
    except TileError as error:
        if not isinstance(error.__cause__, OSError):
            raise
    # Only speed is lost: the next process builds it again.
    return compile(source, _process_folder() / out.name, flags, chosen)


@cache
def _process_folder() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="tile-cpu-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def cross_compile(
    source: str, out: Path, triple: str, mcpu: str, flags: Sequence[str] = ()
) -> Artifact:
    """Build `source` for another machine by zig: proves that emitted C is accepted there.

    `triple` is zig's (``aarch64-linux-gnu``, ``aarch64-macos``), `mcpu` its CPU name
    (``neoverse_v1``, ``apple_m1``, ``x86_64_v3``). Raises like `compile`; E0801 without zig.
    """
    chosen = find_zig()
    # The system's mathematics library comes with zig's own C library, under the same flag.
    own = ("-target", triple, f"-mcpu={mcpu}")
    return _build(chosen, source, Path(out), (*COMMON_FLAGS, *own, *flags, "-lm"))
