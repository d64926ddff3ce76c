"""Identifiers of one emitted function: the user's names wherever CUDA C++ allows them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tile_cuda.intrinsics.functions import CUDA_NAMES
from tile_ir.ops import CallExtern
from tile_ir.rewrite import walk
from tile_passes.emit import identifiers as shared

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tile_ir.core import Function

__all__ = ["OWN", "identifiers"]

OWN = frozenset(
    {"arena", "tile", "blockDim", "blockIdx", "gridDim", "threadIdx", "warpSize", "rt", *CUDA_NAMES}
)
"""What emitted functions, device and host, use themselves."""


def identifiers(fn: Function, buffers: Iterable[str]) -> dict[str, str]:
    """Name of a variable, buffer or row of barriers -> its identifier."""
    # A variable would hide the function of its name.
    called = {s.name for s in walk(fn.body) if isinstance(s, CallExtern)}
    return shared.identifiers(fn, buffers, OWN | called)
