"""Identifiers of one emitted function: the user's names wherever Metal allows them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tile_passes.emit import identifiers as shared

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tile_ir.core import Function

__all__ = ["OWN", "identifiers"]

_OWN = """
arena tile rt metal min max abs
thread_index lane_index simdgroup_index block_index block_count
half bfloat uchar ushort uint ulong size_t vertex fragment visible using as_type
"""
OWN = frozenset(_OWN.split())
"""What emitted functions, device and host, use themselves, and types that are no words of C++."""


def identifiers(fn: Function, buffers: Iterable[str]) -> dict[str, str]:
    """Name of a variable or buffer -> its identifier."""
    return shared.identifiers(fn, buffers, OWN)
