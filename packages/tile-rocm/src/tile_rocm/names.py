"""Identifiers of one emitted function: the user's names wherever HIP C++ allows them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tile_passes.emit import identifiers as shared

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tile_ir.core import Function

__all__ = ["OWN", "identifiers"]

OWN = frozenset({"arena", "tile", "rt", "min", "max", "abs"})
"""What emitted functions, device and host, use themselves."""


def identifiers(fn: Function, buffers: Iterable[str]) -> dict[str, str]:
    """Name of a variable or buffer -> its identifier."""
    return shared.identifiers(fn, buffers, OWN)
