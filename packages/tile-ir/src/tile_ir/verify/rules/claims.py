"""Rules of drawing tiles."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tile_ir import ops
from tile_ir.types import i32, u32
from tile_ir.verify.rules.hardware import check_barrier

if TYPE_CHECKING:
    from collections.abc import Callable

    from tile_ir.opdef import Stmt
    from tile_ir.verify.context import Context


def _claim(s: ops.Claim, cx: Context) -> None:
    found = cx.buffer(s.counter)
    if found is not None and (found.scope, found.dtype, found.rank) != ("global", u32, 1):
        cx.report("E0428", f"{s.counter}, which counts tiles, is no row of u32 in global memory")
    if s.tiles.dtype is not i32 or (s.result is not None and s.result.dtype is not i32):
        cx.report("E0428", f"a tile of {s.counter} has an i32 number")
    if s.onto and s.onto not in cx.channels:
        cx.report("E0402", f"there is no channel {s.onto} here")
    if (s.result is None) is not bool(s.onto):
        why = "it is bound to a name or put into the slot of a channel"
        cx.report("E0428", f"the number drawn from {s.counter} goes to one place", why)


def _send(s: ops.Send, cx: Context) -> None:
    check_barrier(s.barrier, s.index, cx)
    found = cx.buffer(s.buffer)
    if found is None:
        return
    if found.scope != "shared" or found.dtype.storage_bits != _WORD or found.rank != len(s.indices):
        cx.report("E0428", f"{s.buffer}, to which a word is sent, is no shared buffer of such")
    if s.value.dtype is not found.dtype:
        cx.report("E0428", f"{found.name} holds {found.dtype}, the value is {s.value.dtype}")


_WORD = 32

RULES: dict[type[Stmt], Callable[[Any, Context], None]] = {ops.Claim: _claim, ops.Send: _send}
