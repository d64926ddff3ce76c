"""What rules may ask about the place they judge: names in scope, enclosing constructs, stage."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tile_ir.core import Buffer, Stage
from tile_ir.diag import Fix
from tile_ir.expr import Const, Expr, Load, Var, walk
from tile_ir.symbols import Symbols
from tile_ir.text.lexer import RESERVED
from tile_ir.verify.expressions import check_indices, check_types
from tile_ir.verify.report import Report, shown

if TYPE_CHECKING:
    from tile_ir.core import Region
    from tile_ir.ops import Barriers, Channel


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """What encloses a statement. `loop` is about the nearest construct that `break` may leave."""

    kernel: bool = False
    tiles: bool = False
    loop: bool = False
    parallel: bool = False
    role: str = ""

    def inside(self, **changes: bool | str) -> Place:
        """The place one construct deeper."""
        return replace(self, **changes)  # type: ignore[arg-type]  # the fields are bool and str


class Context:
    """The state of one verification."""

    def __init__(self, report: Report, stage: Stage) -> None:
        self.report = report
        self.stage = stage
        self.symbols = Symbols()
        self.place = Place()
        self.buffers: dict[str, Buffer] = {}
        """Every buffer declared so far, in scope or not: names are unique within a function."""
        self.channels: dict[str, Channel] = {}
        self.barriers: dict[str, Barriers] = {}
        self.engines: set[str] = set()
        self.tokens: set[str] = set()
        self._parts: dict[Expr, tuple[tuple[Var, ...], tuple[Load, ...]]] = {}

    def declare(self, symbol: Var | Buffer) -> None:
        """Bring a name into scope, judging it."""
        self.check_name(symbol.name)
        if symbol.name in self.buffers or self.symbols.find(symbol.name) is not None:
            self.report(
                "E0401",
                f"{symbol.name} is declared twice",
                "a name has one meaning where it is visible, a buffer's in the whole function",
                fix="rename one of them",
            )
        if isinstance(symbol, Buffer):
            self.buffers[symbol.name] = symbol
        self.symbols.declare(symbol)

    def check_name(self, name: str) -> None:
        """Names are identifiers outside the expression grammar."""
        if not name.isidentifier() or name in RESERVED:
            self.report("E0404", f"{name!r} cannot be a name", fix="use letters, digits and _")

    def buffer(self, name: str) -> Buffer | None:
        """The buffer in scope, or None after reporting that there is none."""
        found = self.symbols.buffer(name)
        if found is None:
            if isinstance(self.symbols.find(name), Var):
                self.report("E0402", f"{name} is a scalar, not a buffer")
            else:
                self._undeclared(name)
        return found

    def _undeclared(self, name: str) -> None:
        note = "its declaration is in another body" if name in self.buffers else ""
        notes = (note,) if note else ()
        self.report("E0402", f"{name} is used where it is not declared", *notes)

    def expression(self, e: Expr) -> None:
        """Judge an expression: types, names in scope, loads against their buffers."""
        check_types(e, self.report)
        parts = self._parts.get(e)
        if parts is None:
            nodes = walk(e)
            parts = self._parts[e] = (
                tuple(n for n in nodes if type(n) is Var),
                tuple(n for n in nodes if type(n) is Load),
            )
        for var in parts[0]:
            self._variable(var)
        for load in parts[1]:
            self.element(load)

    def _variable(self, var: Var) -> None:
        found = self.symbols.find(var.name)
        if found is var:
            return
        if found is None:
            self._undeclared(var.name)
        elif isinstance(found, Buffer):
            self.report("E0402", f"{var.name} is a buffer, not a scalar")
        else:
            self.report("E0403", f"{var.name} is {found.dtype}, but is used as {var.dtype}")

    def element(self, load: Load) -> None:
        """Judge an access to one element (or one vector of them)."""
        buffer = self.buffer(load.buffer)
        if buffer is None:
            return
        if len(load.indices) != len(buffer.shape):
            self._rank(buffer, len(load.indices))
            return
        lanes = load.indices[-1].dtype.lanes if load.indices else 1
        want = buffer.dtype if lanes == 1 else buffer.dtype.with_lanes(lanes)
        if load.dtype is not want:
            message = f"an element of {buffer.name} is {want}, not {load.dtype}"
            self.report("E0417", message, fix="convert it, or view the buffer as the other type")
        self.slot(buffer, load)

    def _rank(self, buffer: Buffer, given: int) -> None:
        message = f"{buffer.name} has {buffer.rank} axes but is indexed with {given}"
        self.report("E0405", message, fix="give one index or range for each axis")

    def region(self, region: Region) -> None:
        """Judge a box of a buffer."""
        for r in region.ranges:
            self.expression(r.start)
            self.expression(r.extent)
            check_indices(region.buffer, (r.start,), self.report)
            check_indices(region.buffer, (r.extent,), self.report)
        buffer = self.buffer(region.buffer)
        if buffer is None:
            return
        if len(region.ranges) != len(buffer.shape):
            self._rank(buffer, len(region.ranges))
            return
        for r, size in zip(region.ranges, buffer.shape, strict=True):
            self._inside(buffer, r.start, r.extent, size)
        self.slot(buffer, region)

    def _inside(self, buffer: Buffer, start: Expr, extent: Expr, size: Expr) -> None:
        if buffer.scope == "global" or type(extent) is not Const or type(size) is not Const:
            return
        if extent.value < 1:
            self.report("E0410", f"a region of {buffer.name} has extent {extent.value}")
        elif type(start) is Const and (start.value < 0 or start.value + extent.value > size.value):
            self.report(
                "E0410",
                f"a region of {buffer.name} leaves it: {start.value} : +{extent.value}"
                f" on an axis of {size.value}",
            )

    def slot(self, buffer: Buffer, access: Load | Region) -> None:
        """Judge the channel slot of an access: named exactly where the buffer has slots."""
        slot = access.slot
        if slot is None:
            if buffer.slots > 1 and self.stage is Stage.SCHEDULED:
                self.report(
                    "E0463",
                    f"{buffer.name} has {buffer.slots} slots, and this access names none",
                    fix=f"write {buffer.name}@channel[...]",
                )
            return
        channel = self.channels.get(slot.channel)
        if channel is None:
            self.report("E0402", f"there is no channel {slot.channel} here")
        elif buffer.name not in channel.carries:
            self.report("E0463", f"channel {slot.channel} does not carry {buffer.name}")
        elif slot.back >= channel.depth:
            self.report("E0463", f"channel {slot.channel} has no slot {slot.back} before the last")

    def condition(self, e: Expr, what: str) -> None:
        """Judge a condition: one truth value."""
        if e.dtype.name != "bool":
            self.report("E0434", f"{what} is {e.dtype}, not bool: {shown(e)}", fix="compare it")

    def choice(self, value: str, allowed: tuple[str, ...], what: str) -> None:
        """Judge an attribute that has a fixed set of values."""
        if value in allowed:
            return
        from difflib import get_close_matches  # only a mistake pays for this import

        message = f"{what} is {value!r}, not one of {', '.join(allowed)}"
        near = get_close_matches(value, allowed, 1)
        guess = f"did you mean {near[0]}?" if near else None
        mend = Fix(value, near[0]) if near else None
        self.report("E0431", message, fix=guess, mend=mend)
