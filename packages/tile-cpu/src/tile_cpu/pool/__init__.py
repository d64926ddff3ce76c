"""The process's thread pool: C source that is built once per compiler and loaded once per
process."""

from __future__ import annotations

import ctypes
import threading
from importlib.resources import files

from tile_cpu.toolchain import compile_cached
from tile_ir.diag import TileError

__all__ = ["library", "source"]

_loading = threading.Lock()
_loaded: list[ctypes.CDLL] = []


def source() -> str:
    """The pool's C text, with the contract it shares with kernels in front."""
    abi = files("tile_cpu.prelude").joinpath("abi.h").read_text(encoding="utf-8")
    pool = files("tile_cpu.pool").joinpath("pool.c").read_text(encoding="utf-8")
    # The C library decides at its first header what it declares, hence before everything else.
    return "#define _GNU_SOURCE 1\n#include <stdint.h>\n" + abi + pool


def library() -> ctypes.CDLL:
    """The loaded pool; the first call builds it unless the cache folder has it.

    One for the whole process, whichever thread asks first: a second copy would start its own
    threads. Raises TileError E0801 to E0803 where it cannot be built, E0804 where it cannot be
    loaded.
    """
    if _loaded:
        return _loaded[0]
    with _loading:
        if not _loaded:
            _loaded.append(_load())
    return _loaded[0]


def _load() -> ctypes.CDLL:
    built = compile_cached(source(), "pool", ("-O2", "-pthread"))
    try:
        pool = ctypes.CDLL(str(built.path))
    except OSError as error:
        raise TileError(
            "E0804",
            f"cannot load the thread pool {built.path}",
            notes=(str(error),),
            help="Delete that file; the next run builds it anew.",
        ) from error
    pool.tile_pool_launch.argtypes = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int32)
    pool.tile_pool_launch.restype = ctypes.c_int32
    for text in (pool.tile_pool_printed, pool.tile_pool_failure):
        text.argtypes, text.restype = (), ctypes.c_char_p
    pool.tile_pool_helpers.argtypes, pool.tile_pool_helpers.restype = (), ctypes.c_int32
    return pool
