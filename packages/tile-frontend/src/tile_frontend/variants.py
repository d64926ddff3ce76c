"""The variant of a kernel for arguments that the fast one does not take.

A kernel is compiled for arrays as allocators make them: engines that copy whole boxes want rows a
multiple of some bytes apart, and wide accesses want their start aligned. A description without
those engines and with accesses of one element gives code for any address and any row, from the same
program and the same passes.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tile_ir.target import Table

if TYPE_CHECKING:
    from tile_frontend.target_select import Target

__all__ = ["plain"]


def plain(target: Target) -> Target:
    """The target as if it had no asynchronous engines and no access wider than an element."""
    spec = target.spec
    matrix = {name: atom for name, atom in spec.matrix.items() if atom.engine == "sync"}
    narrow = replace(spec, matrix=Table(matrix), copy=Table(), access_bytes=(1,))
    return replace(target, spec=narrow)
