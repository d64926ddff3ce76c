"""Memory orders of atomics: fences, and pointers through which blocks see each other's writes.

Atomic functions of the language are relaxed. From version 3.2 on there is a fence for the device
(`atomic_thread_fence`, whose orders are relaxed and sequentially consistent), and it orders what is
reached through pointers that are `coherent(device)`; others may read what a core holds in its own
cache ("Metal Shading Language Specification", sections 4.8 and 6.15). Which of a kernel's arrays
others read behind the fence is not asked: all of its pointers are coherent.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tile_ir.diag import TileError
from tile_ir.ops import Atomic
from tile_ir.rewrite import declared, walk

if TYPE_CHECKING:
    from tile_ir.core import Function
    from tile_ir.target import TargetSpec

__all__ = ["DEMAND", "FENCES", "coherent", "is_ordered", "with_coherent_pointers"]

FENCES = "device_fences"
"""The feature of a description whose systems have the fence."""
DEMAND = "memory orders of atomics need Metal 3.2, which macOS 15 brings"
"""What an older compiler says of the source."""
GUARD = f"#if __METAL_VERSION__ < 320\n#error {DEMAND}\n#endif\n"
POINTED = re.compile(r"/\*.*?\*/|//[^\n]*|\bdevice (?=\w)", re.DOTALL)
"""A comment, or the address space of what is pointed to."""


def is_ordered(fn: Function, spec: TargetSpec) -> bool:
    """Whether a kernel of a function orders memory of the device by an atomic.

    Raises TileError E3101 where it does and the description has no fences.
    """
    buffers = declared(fn)
    for s in walk(fn.body):
        if isinstance(s, Atomic) and s.order != "relaxed" and buffers[s.buffer].scope == "global":
            if not spec.has(FENCES):
                raise _no_fences(s)
            return True
    return False


def _no_fences(s: Atomic) -> TileError:
    return TileError(
        "E3101",
        f"kernels of this target have no atomic {s.kind} with the order {s.order}",
        s.span,
        (f"{DEMAND}; the description lacks {FENCES}",),
        "Leave the order out where nobody reads what was written before, else split the kernel: "
        "what it wrote is seen by the next one.",
    )


def with_coherent_pointers(text: str) -> str:
    """The text of kernels and of what they call, where every pointer to memory of the device sees
    what other blocks wrote; a compiler without that refuses it."""
    return GUARD + POINTED.sub(
        lambda m: f"coherent(device) {m[0]}" if m[0] == "device " else m[0], text
    )


def coherent(source: str) -> bool:
    """Whether a source needs the version of the language that has fences."""
    return GUARD in source
