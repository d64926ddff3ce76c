"""Rules of channels, roles and asynchronous operations, each by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tile_ir import ops
from tile_ir.core import Stage
from tile_ir.opdef import opdef
from tile_ir.verify.rules.hardware import check_barrier

if TYPE_CHECKING:
    from collections.abc import Callable

    from tile_ir.opdef import Stmt
    from tile_ir.ops import End
    from tile_ir.verify.context import Context

END_KINDS = ("role", "engine")
CHANNEL_SCOPES = ("group", "block", "cluster")
SYNC_SCOPES = ("group", "role", "block", "cluster")
SYNC_PARTS = ("arrive", "wait")
_ASYNCHRONOUS = (ops.Copy, ops.Gemm, ops.Atom, ops.AtomicTile, ops.Fill)


def _channel(s: ops.Channel, cx: Context) -> None:
    cx.check_name(s.name)
    if s.name in cx.channels:
        cx.report("E0401", f"channel {s.name} is declared twice")
    if s.depth < 1 or not 0 <= s.filled <= s.depth:
        cx.report("E0464", f"channel {s.name} starts with {s.filled} of {s.depth} slots filled")
    cx.choice(s.scope, CHANNEL_SCOPES, "the scope of the channel")
    for end in (s.producer, s.consumer):
        _end(end, cx)
    for name in s.carries:
        buffer = cx.buffer(name)
        if buffer is not None and buffer.slots != s.depth:
            cx.report("E0463", f"channel {s.name} has {s.depth} slots, {name} has {buffer.slots}")
        other = next((c for c in cx.channels.values() if name in c.carries), None)
        if other is not None:
            cx.report("E0463", f"{name} is carried by {other.name} and by {s.name}")
    cx.channels[s.name] = s


def _end(end: End, cx: Context) -> None:
    cx.choice(end.kind, END_KINDS, "the kind of end")
    if end.kind == "engine" and (end.arrivals or end.per_group):
        cx.report("E0464", f"engine {end.name} completes by itself and has no arrivals")
    if end.arrivals < 0:
        cx.report("E0464", f"{end.name} arrives {end.arrivals} times")


def _role(s: ops.Role, cx: Context) -> None:
    if cx.place.role:
        cx.report("E0413", f"role {s.name} stands inside role {cx.place.role}")
    if cx.stage is Stage.TILE and (cx.place.loop or cx.place.parallel or not cx.place.tiles):
        cx.report(
            "E0413",
            f"role {s.name} stands not directly in a tile loop",
            "each role has control flow of its own",
            fix="put the loop into the role",
        )
    if s.warps < 0 or s.groups < 1 or s.elect < 0 or s.registers < 0 or s.threads < 0:
        cx.report("E0436", f"role {s.name} has warps {s.warps}, groups {s.groups}, elect {s.elect}")


def _issue(s: ops.Issue, cx: Context) -> None:
    if len(s.body) != 1 or not isinstance(s.body[0], _ASYNCHRONOUS):
        what = ", ".join(opdef(i).name for i in s.body) or "nothing"
        cx.report("E0465", f"{s.engine} is issued {what}, not one operation on tiles")
    elif s.engine in (ops.BULK, ops.RUNS) and not isinstance(s.body[0], ops.Copy):
        cx.report("E0465", f"{s.engine} brings copies, not a {opdef(s.body[0]).name}")
    if s.mask < 0 or ((s.mask or s.untold) and s.index is None):
        cx.report("E0465", f"a copy for the blocks {s.mask:b} needs barriers that count its bytes")
    if s.index is not None:
        check_barrier(s.onto, s.index, cx)
    elif s.onto and s.onto not in cx.channels:
        cx.report("E0402", f"there is no channel {s.onto} here")


def _settle(s: ops.Settle, cx: Context) -> None:
    if s.token not in cx.tokens and s.token not in cx.engines:
        cx.report(
            "E0402", f"no group is named {s.token}", fix="name it with `group engine -> token`"
        )
    if s.back < 0:
        cx.report("E0465", f"settle {s.token} looks {s.back} groups back")


def _settle_count(s: ops.SettleCount, cx: Context) -> None:
    if s.pending < 0:
        cx.report("E0465", f"at most {s.pending} groups of {s.engine} may be pending")


def _pin(s: ops.Pin, cx: Context) -> None:
    buffer = cx.buffer(s.value.buffer)
    if buffer is not None and buffer.scope not in ("fragment", "local"):
        cx.report(
            "E0465", f"{buffer.name} is in {buffer.scope} memory, and only registers are pinned"
        )


def _sync(s: ops.Sync, cx: Context) -> None:
    cx.choice(s.scope, SYNC_SCOPES, "the scope of the barrier")
    if s.id < 0 or s.threads < 0:
        cx.report("E0465", f"barrier number {s.id} of {s.threads} threads")
    if s.part:
        cx.choice(s.part, SYNC_PARTS, "the part of the barrier")
        if s.scope != "cluster":
            cx.report("E0465", f"the barrier of a {s.scope} is not taken apart")


RULES: dict[type[Stmt], Callable[[Any, Context], None]] = {
    ops.Channel: _channel,
    ops.Role: _role,
    ops.Issue: _issue,
    ops.Settle: _settle,
    ops.SettleCount: _settle_count,
    ops.Pin: _pin,
    ops.Sync: _sync,
}
