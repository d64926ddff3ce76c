"""The hand-written Metal of this folder, of which a kernel gets what it uses."""

from __future__ import annotations

from tile_passes.emit.narrow_formats import format_blocks
from tile_passes.emit.prelude import Prelude

__all__ = ["HEAD", "PRELUDE", "defined_names", "mentioned", "pieces_for"]

HEAD = "#include <metal_stdlib>\n"
"""In front of everything."""
BY_HAND = frozenset({"f16", "bf16", "tf32", "f8e8m0fnu"})
"""Formats whose conversions are written out in convert.metal."""
PRELUDE = Prelude(
    package=__package__,
    suffix=".metal",
    language="Metal",
    shared=("integers",),
    more=format_blocks(BY_HAND, "static constant constexpr const"),
)
defined_names, mentioned = PRELUDE.defined_names, PRELUDE.mentioned
pieces_for = PRELUDE.pieces_for
