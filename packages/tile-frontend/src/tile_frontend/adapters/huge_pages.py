"""Large pages for a new array on the host.

The first touch of a page costs the kernel a fault; by 4 KiB pages that can be most of the time of a
row-wise kernel with a large new output. numpy asks for large pages itself, torch does not.
"""

from __future__ import annotations

import ctypes
import sys
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["advise_huge_pages"]

LEAST_BYTES = 4 << 20
"""Smaller blocks are recycled by the allocator of the C library, so their pages are there already;
numpy has the same bound."""

_HUGE_PAGE = 2 << 20
_MADV_HUGEPAGE = 14  # <sys/mman.h> on Linux, every architecture that has large pages


def advise_huge_pages(address: int, nbytes: int) -> None:
    """Ask for large pages for the bytes [address, address + nbytes). A hint: failure is silent."""
    if nbytes < LEAST_BYTES or not sys.platform.startswith("linux"):
        return
    first = -(-address // _HUGE_PAGE) * _HUGE_PAGE
    length = address + nbytes - first
    advise = _madvise()
    if advise is not None and length > 0:
        advise(first, length, _MADV_HUGEPAGE)


@cache
def _madvise() -> Callable[[int, int, int], int] | None:
    try:
        found = ctypes.CDLL(None).madvise
    except (OSError, AttributeError):
        return None
    found.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    found.restype = ctypes.c_int
    return found
