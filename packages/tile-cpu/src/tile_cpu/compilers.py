"""Find a C compiler, and know its version without starting it.

Emitted C is header-free GNU C, so any of gcc (12 or newer), clang and `zig cc` builds it; the
first one found in the order ``$CC``, gcc, clang, cc, the `ziglang` wheel is used. Asking a compiler
for its version costs a process (5 to 40 ms), so versions are kept on disk under the compiler's path
and modification time: a warm process starts none until it has something to compile.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shlex
import shutil
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from tile_cpu import knobs
from tile_ir.diag import TileError
from tile_passes.launch.files import write_atomically

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["Toolchain", "find_toolchain", "find_zig", "install_help"]


OLDEST = {"gcc": (12,), "clang": (12,)}
"""First version with __builtin_shufflevector, vectors of 64 bytes and -march=x86-64-v4."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Toolchain:
    """A C compiler: `command` starts it, `kind` is gcc, clang or zig, `version` its first line."""

    command: tuple[str, ...]
    kind: str
    version: str

    @property
    def path(self) -> str:
        """The executable itself."""
        return self.command[0]

    @property
    def number(self) -> tuple[int, ...]:
        """The numbers of the version: (12, 2, 0) for gcc 12.2.0; empty where it shows none."""
        found = re.findall(r"\d+(?:\.\d+)+", self.version)
        return tuple(int(part) for part in found[-1].split(".")) if found else ()

    def key(self) -> str:
        """Text that changes whenever this compiler's output may change, for cache keys."""
        return f"{self.kind} {self.version}"


def install_help() -> str:
    """What to do where there is no C compiler."""
    return (
        "Install one: `pip install tile-cpu[toolchain]` (no root needed), or gcc 12+ / clang "
        "from the system's packages, or point CC at one."
    )


def find_toolchain() -> Toolchain:
    """Return the compiler to use: ``$CC``, gcc, clang, cc, then the `ziglang` wheel.

    One that does not answer or is too old is passed over. Raises TileError E0801 where none is
    left, or where ``$CC`` names none or such a one.
    """
    asked = knobs.compiler()
    return _find(asked, os.environ.get("PATH", ""), str(knobs.cache_dir()))


@cache
def _find(asked: str | None, search_path: str, versions_in: str) -> Toolchain:
    # The unused arguments are what else the answer depends on, so that the cache stays honest.
    return _first_usable() if asked is None else _asked_for(asked)


def _asked_for(words: str) -> Toolchain:
    command = _resolve_command(shlex.split(words))
    if command is None:
        raise TileError("E0801", f"CC names no program: {words!r}", help=install_help())
    found = _identify(command)
    if _is_too_old(found):
        raise TileError("E0801", f"CC is too old: {found.version}", help=install_help())
    return found


def _first_usable() -> Toolchain:
    """The first compiler of the list that answers and is new enough; what is wrong with the others
    becomes the notes of the error."""
    notes = ["Looked for gcc, clang and cc on PATH, and for the Python package ziglang."]
    for command in _candidates():
        try:
            found = _identify(command)
        except TileError as error:
            notes.append(error.message)
            continue
        if not _is_too_old(found):
            return found
        notes.append(f"{found.path} is too old: {found.version}")
    raise TileError("E0801", "no C compiler found", notes=notes, help=install_help())


def _candidates() -> Iterator[tuple[str, ...]]:
    for name in ("gcc", "clang", "cc"):
        command = _resolve_command([name])
        if command is not None:
            yield command
    zig = zig_path()
    if zig is not None:
        yield (zig, "cc")


def _is_too_old(found: Toolchain) -> bool:
    return (0,) < found.number < OLDEST.get(found.kind, (0,))


def _resolve_command(words: Sequence[str]) -> tuple[str, ...] | None:
    found = shutil.which(words[0]) if words else None
    return None if found is None else (found, *words[1:])


def zig_path() -> str | None:
    """Path of the zig executable: from the `ziglang` wheel, else from PATH, else None."""
    spec = importlib.util.find_spec("ziglang")
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        for name in ("zig", "zig.exe"):
            if (Path(folder) / name).is_file():
                return str(Path(folder) / name)
    return shutil.which("zig")


def _identify(command: tuple[str, ...]) -> Toolchain:
    stamp = _stamp(command)
    known = _read_versions()
    version = known.get(stamp)
    if version is None:
        version = _ask_version(command)
        _remember_version(known, stamp, version)
    return Toolchain(command=command, kind=_kind(command, version), version=version)


def _stamp(command: tuple[str, ...]) -> str:
    # The link is followed: a distribution changes what /usr/bin/cc means without touching the link.
    real = os.path.realpath(command[0])
    info = os.stat(real)
    return f"{' '.join(command)}|{real}|{info.st_mtime_ns}|{info.st_size}"


def _versions_file() -> Path:
    return knobs.cache_dir() / "compilers.json"


def _read_versions() -> dict[str, str]:
    try:
        known = json.loads(_versions_file().read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return known if isinstance(known, dict) else {}


def _remember_version(known: dict[str, str], stamp: str, version: str) -> None:
    text = json.dumps({**known, stamp: version}, indent=1)
    try:
        write_atomically(_versions_file(), text.encode(), "E0803")
    except TileError:
        # Only speed is lost: the next process asks the compiler again.
        return


def _ask_version(command: tuple[str, ...]) -> str:
    try:
        done = subprocess.run([*command, "--version"], capture_output=True, text=True, check=False)
    except OSError as error:
        raise _not_a_compiler(command, str(error)) from error
    lines = done.stdout.splitlines()
    if done.returncode or not lines:
        raise _not_a_compiler(command, done.stderr.strip())
    return lines[0].strip()


def _not_a_compiler(command: tuple[str, ...], said: str) -> TileError:
    return TileError(
        "E0801",
        f"{' '.join(command)} --version failed",
        notes=tuple(said.splitlines()[:3]),
        help=install_help(),
    )


def _kind(command: tuple[str, ...], version: str) -> str:
    if Path(command[0]).name.startswith("zig"):
        return "zig"
    return "clang" if "clang" in version else "gcc"


def find_zig() -> Toolchain:
    """Return zig as a C compiler, the one that can build for other machines; E0801 without it."""
    zig = zig_path()
    if zig is None:
        raise TileError(
            "E0801",
            "cross compiling needs zig",
            notes=("gcc and a plain clang have no C library for other systems.",),
            help="pip install tile-cpu[toolchain]",
        )
    return _identify((zig, "cc"))
