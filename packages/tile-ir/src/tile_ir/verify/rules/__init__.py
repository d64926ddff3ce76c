"""The op layer: one rule for each op that has more to say than its operands' types."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tile_ir.verify.rules import (
    claims,
    compute,
    control,
    foreign,
    hardware,
    memory,
    peers,
    schedule,
    warps,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from tile_ir.opdef import Stmt
    from tile_ir.verify.context import Context

RULES: dict[type[Stmt], Callable[[Any, Context], None]] = {
    **memory.RULES,
    **compute.RULES,
    **control.RULES,
    **schedule.RULES,
    **foreign.RULES,
    **hardware.RULES,
    **claims.RULES,
    **peers.RULES,
    **warps.RULES,
}
"""Statement class -> rule(statement, context). Operands and bodies are judged by the walk."""

__all__ = ["RULES"]
