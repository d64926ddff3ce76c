"""The emulator's shared library: its own C text and one target's layer, built once for each."""

from __future__ import annotations

import ctypes
import re
import threading
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from tile_cpu import spec
from tile_cpu.codegen_flags import flags_for
from tile_cpu.compilers import find_toolchain
from tile_cpu.spec.host import host_arch
from tile_cpu.toolchain import compile_cached
from tile_ir.diag import TileError
from tile_ir.emulation import EMULATION_API

if TYPE_CHECKING:
    from tile_ir.emulation import Emulation

__all__ = ["connect", "header", "library", "library_source"]

PARTS = (
    "fiber.c",
    "races.c",
    "globals.c",
    "counters.c",
    "memory.c",
    "numbers.c",
    "atomics.c",
    "collectives.c",
    "barriers.c",
    "engine.c",
    "launch.c",
    "native.c",
)
_FUNCTION = re.compile(r"(?m)^EMU_FN\(\w+, (\w+),")
_loading = threading.Lock()
_loaded: dict[str, ctypes.CDLL] = {}


@cache
def _text(name: str) -> str:
    return files("tile_cpu.emulator.core").joinpath(name).read_text(encoding="utf-8")


def header(emulation: Emulation) -> str:
    """What stands in front of the text of kernels."""
    sizes = _sizes(emulation)
    if emulation.compiled:
        both = f'extern "C" {{\n{_text("api.h")}{emulation.interface}}}\n'
        return sizes + both + _text("native.h")
    return sizes + _text("api.h") + emulation.interface


def _sizes(emulation: Emulation) -> str:
    return f"#define EMU_WAVE {emulation.lanes}\n#define EMU_BANKS {emulation.banks}\n"


def library_source(emulation: Emulation) -> str:
    """The library's C text."""
    head = f"#define EMU_LIBRARY 1\n{_sizes(emulation)}"
    api = _text("api.h") + emulation.interface
    texts = [_text("core.h"), *(_text(name) for name in PARTS), emulation.layer]
    return head + api + "\n".join(texts)


def library(emulation: Emulation) -> ctypes.CDLL:
    """The loaded library; the first call builds it unless the cache folder has it.

    Raises TileError E2300 for a target made for another version of the interface, E0801 to E0803
    where it cannot be built.
    """
    if emulation.api != EMULATION_API:
        raise TileError(
            "E2300",
            f"{emulation.name} speaks version {emulation.api} of the emulator's interface, "
            f"this emulator {EMULATION_API}",
            help="Install versions of the packages that were made for each other.",
        )
    with _loading:
        if emulation.name not in _loaded:
            machine = flags_for(spec.load(host_arch()), find_toolchain(), strict=True, optimize=2)
            built = compile_cached(
                library_source(emulation),
                f"emulator-{emulation.name}",
                (*machine, "-Wno-array-bounds", "-pthread"),
            )
            _loaded[emulation.name] = ctypes.CDLL(str(built.path))
        return _loaded[emulation.name]


def connect(kernel: ctypes.CDLL, emulation: Emulation) -> None:
    """Give a kernel's library the addresses of the functions that it calls."""
    own = library(emulation)
    for name in _FUNCTION.findall(header(emulation)):
        slot = ctypes.c_void_p.in_dll(kernel, name)
        slot.value = ctypes.cast(getattr(own, name), ctypes.c_void_p).value
