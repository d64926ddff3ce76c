"""How clang and its linker write their errors."""

from __future__ import annotations

import re

from tile_passes.launch.messages import CLANG_PLACED, Messages

__all__ = ["compiler_failed", "parse_messages"]

MESSAGES = Messages(
    placed=CLANG_PLACED,
    unplaced=re.compile(r"^(?:ld\.lld: |fatal )?error: (?P<text>.*)$", re.M),
    missing=re.compile(r"needs target feature|Cannot select|instruction not supported", re.I),
)
parse_messages, compiler_failed = MESSAGES.parse, MESSAGES.refusal
