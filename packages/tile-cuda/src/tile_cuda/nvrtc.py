"""NVRTC through ctypes: source to machine code in this process, without a device or a driver.

The library comes from the wheel `nvidia-cuda-nvrtc` (found through its metadata), from an installed
CUDA toolkit, or from where the user says. Signatures are those of NVIDIA's `nvrtc.h`.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import os
import re
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

from tile_cuda import knobs
from tile_cuda.compiler_messages import compiler_failed

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["Compiled", "Nvrtc", "find_nvrtc"]

WHEELS = ("nvidia-cuda-nvrtc", "nvidia-cuda-nvrtc-cu12")
FOLDERS = ("/usr/local/cuda/lib64", "/opt/cuda/lib64")
COMPILATION_FAILED = 6  # NVRTC_ERROR_COMPILATION in nvrtc.h
MINIMAL_SINCE = (12, 4)
"""The first version that can leave out what our text never uses (textures, the runtime's own calls,
launches from a device): 5 of the 26 ms of the smallest kernel."""

CACHES_SINCE = (12, 9)
"""The first version with a cache of its own. What comes from there comes without the assembler's
remarks, so that spills and serialized products would pass unseen the second time; and we have a
cache."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Compiled:
    """What a compiler gave: machine code (None where it refused) and everything it said."""

    cubin: bytes | None
    log: str


_LEVEL = re.compile("-O[0-3]?")
"""Levels of optimization, which other compilers take: this one has one and refuses the rest."""


class Nvrtc:
    """One loaded library. Safe to use from several threads: programs are independent."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._library = ctypes.CDLL(path)
        major, minor = ctypes.c_int(), ctypes.c_int()
        self._check(self._library.nvrtcVersion(ctypes.byref(major), ctypes.byref(minor)))
        self.version = (major.value, minor.value)
        self._builtins = _load_builtins(Path(path).parent, self.version)
        # Without the last one some versions take a lambda in a kernel for a host function.
        always = {
            "--minimal": MINIMAL_SINCE,
            "--no-cache": CACHES_SINCE,
            "--device-as-default-execution-space": (0, 0),
        }
        self._always = tuple(o for o, since in always.items() if self.version >= since)

    def key(self) -> str:
        """What the machine code depends on: the version, and which build of the library it is."""
        size = os.stat(self.path).st_size if os.path.exists(self.path) else 0
        return f"nvrtc {self.version[0]}.{self.version[1]} {size}"

    def compile(self, source: str, name: str, options: Sequence[str]) -> Compiled:
        """Compile CUDA C++ text; `name` is what messages call the file.

        Raises OSError when the library itself fails (out of memory, an option it does not know).
        """
        return self._compile(source, name, options, "CUBIN")

    def ptx(self, source: str, name: str, options: Sequence[str]) -> str:
        """Compile CUDA C++ text to PTX; the architecture in `options` is a virtual one.

        Raises TileError E3002 for text that is refused, OSError as `compile`.
        """
        made = self._compile(source, name, options, "PTX")
        if made.cubin is None:
            raise compiler_failed(made.log, source, f"{self.key()}: {' '.join(options)}")
        return made.cubin.rstrip(b"\0").decode()

    def _compile(self, source: str, name: str, options: Sequence[str], what: str) -> Compiled:
        program = ctypes.c_void_p()
        text = source.encode()
        made = self._library.nvrtcCreateProgram(
            ctypes.byref(program), text, name.encode(), 0, None, None
        )
        self._check(made)
        try:
            known = [o for o in options if not _LEVEL.fullmatch(o)]
            encoded = [option.encode() for option in (*self._always, *known)]
            array = (ctypes.c_char_p * len(encoded))(*encoded)
            status = self._library.nvrtcCompileProgram(program, len(encoded), array)
            log = self._read(program, "ProgramLog").rstrip(b"\0").decode(errors="replace")
            if status == COMPILATION_FAILED:
                return Compiled(cubin=None, log=log)
            if status:
                raise OSError(f"{self._words(status)}: {log.strip()}")
            return Compiled(cubin=self._read(program, what), log=log)
        finally:
            self._library.nvrtcDestroyProgram(ctypes.byref(program))

    def _read(self, program: ctypes.c_void_p, what: str) -> bytes:
        size = ctypes.c_size_t()
        self._check(getattr(self._library, f"nvrtcGet{what}Size")(program, ctypes.byref(size)))
        room = ctypes.create_string_buffer(size.value)
        self._check(getattr(self._library, f"nvrtcGet{what}")(program, room))
        return room.raw

    def _check(self, status: int) -> None:
        if status:
            raise OSError(self._words(status))

    def _words(self, status: int) -> str:
        say = self._library.nvrtcGetErrorString
        say.restype = ctypes.c_char_p
        return f"NVRTC: {(say(status) or b'unknown error').decode()}"


def _load_builtins(folder: Path, version: tuple[int, int]) -> ctypes.CDLL | None:
    """The library's other half, which it opens by name when it compiles. Some builds do not look
    for it beside themselves (the wheel of 13.0, which torch asks for), but find what is loaded."""
    try:
        return ctypes.CDLL(str(folder / f"libnvrtc-builtins.so.{version[0]}.{version[1]}"))
    except (
        OSError
    ):  # elsewhere, or another system's name: the library finds it by itself or says so
        return None


def find_nvrtc() -> Nvrtc | None:
    """The NVRTC library of this environment; None where there is none that loads."""
    return _find(knobs.nvrtc_path())


@cache
def _find(asked: str | None) -> Nvrtc | None:
    for path in [asked] if asked else _candidates():
        try:
            return Nvrtc(path)
        except (OSError, AttributeError):
            continue
    return None


def _candidates() -> Iterator[str]:
    for wheel in WHEELS:
        yield from _in_wheel(wheel)
    for folder in (*knobs.toolkit_folders(), *FOLDERS):
        yield from map(str, sorted(Path(folder).glob("libnvrtc.so*")))
    found = ctypes.util.find_library("nvrtc")
    if found:
        yield found


def _in_wheel(wheel: str) -> Iterator[str]:
    try:
        files = metadata.files(wheel) or []
    except metadata.PackageNotFoundError:
        return
    for file in files:
        name = file.name
        is_library = name.startswith(("libnvrtc.so", "nvrtc64_"))
        if is_library and "builtins" not in name and "alt" not in name:
            yield str(file.locate())
