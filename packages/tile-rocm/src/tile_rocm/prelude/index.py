"""The hand-written HIP C++ of this folder, of which a kernel gets what it uses."""

from __future__ import annotations

from tile_passes.emit.narrow_formats import format_blocks
from tile_passes.emit.prelude import Prelude

__all__ = ["PRELUDE", "defined_names", "mentioned", "pieces_for"]

BY_HAND = frozenset(
    {"f16", "bf16", "tf32", "f8e4m3fn", "f8e5m2", "f8e4m3fnuz", "f8e5m2fnuz", "f8e8m0fnu"}
)
"""Formats whose conversions are written out in convert.h."""
PRELUDE = Prelude(
    package=__package__,
    suffix=".h",
    language="HIP",
    shared=("integers", "values"),
    more=format_blocks(BY_HAND),
)
defined_names, mentioned = PRELUDE.defined_names, PRELUDE.mentioned
pieces_for = PRELUDE.pieces_for
