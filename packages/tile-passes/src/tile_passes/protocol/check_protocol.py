"""Prove that no wait hangs, no slot is touched by who does not hold it, and nothing in flight is
disturbed.

The skeleton is run for every combination of small trip counts. When at every loop the state of all
roles comes back before the largest count ends, larger counts only repeat what was seen: *proved*.
Else the verdict is *bounded*; where the skeleton cannot be followed it is *not covered*. A
violation is an error with the interleaving that shows it. Kernels with barriers of their own are
judged by `hand_written`.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

from tile_ir import build as b
from tile_ir.diag import TileError
from tile_ir.ops import Acquire, Assume, Issue, Let, Tiles, Wait
from tile_ir.rewrite import walk
from tile_passes.analysis.facts import Facts
from tile_passes.analysis.manual import is_manual
from tile_passes.base import Pass
from tile_passes.plan.keys import kernels
from tile_passes.protocol.hand_written import check_hand_written
from tile_passes.protocol.machine import Machine, ViolationError, name
from tile_passes.protocol.skeleton import TILES, NotCoveredError, Skeleton, skeleton_of
from tile_passes.protocol.verdict import Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tile_ir.core import Function
    from tile_ir.expr import Expr
    from tile_ir.ops import Kernel
    from tile_passes.base import PassContext
    from tile_passes.plan.model import Plan

MOST_STEPS = 40_000
"""Instructions over all runs; about 60 ms."""

MOST_TRIPS = 24
_SHOWN = 14
"""Steps of the interleaving that an error shows."""


def check_kernel(fn: Function, kernel: Kernel) -> Verdict:
    """The verdict on one kernel of a scheduled function."""
    if is_manual(kernel.body):
        return check_hand_written(fn, kernel)
    if not any(isinstance(s, (Acquire, Wait, Issue)) for s in walk(kernel.body)):
        return Verdict(kernel.name, "proved", "nothing is asynchronous")
    try:
        skeleton = skeleton_of(kernel)
    except NotCoveredError as why:
        return Verdict(kernel.name, "not covered", str(why))
    facts = Facts.of_dims(fn.dims)
    tiles = next((s for s in walk(kernel.body) if isinstance(s, Tiles)), None)
    if tiles is not None:
        for var, extent in zip(tiles.vars, tiles.extents, strict=True):
            facts = facts.bind(var, b.const(0, var.dtype), extent)
        for stmt in tiles.body:
            if isinstance(stmt, Let):
                facts = facts.let(stmt.var, stmt.value)
            elif isinstance(stmt, Assume):
                facts = facts.assume(stmt.cond)
    return _Search(kernel.name, skeleton, facts).verdict()


class _Search:
    def __init__(self, kernel: str, skeleton: Skeleton, facts: Facts) -> None:
        self.kernel, self.skeleton, self.facts = kernel, skeleton, facts
        self.symbols = list(skeleton.symbols)
        self.large: dict[Expr, int] = {symbol: n for n, symbol in skeleton.large.items()}
        self.entered = [
            values
            for (start, stop), values in skeleton.ranges.items()
            if facts.prove(b.lt(start, stop))
        ]
        """Bounds of loops with at least one trip: code before and behind them may rely on it."""
        self.runs = 0
        self.budget = MOST_STEPS
        self.done: set[tuple[int, ...]] = set()
        """The values of the symbols that have been run."""
        self.met: set[int] = set()
        self.recurred: set[int] = set()

    def _tiles(self) -> int:
        """Tiles enough for the state between two of them to come back."""
        return 2 * self.skeleton.reach + self._slots() + 2

    def verdict(self) -> Verdict:
        trips = 2 * self.skeleton.reach + self._slots() + 2
        try:
            while not self._recurs(trips) and trips < MOST_TRIPS:
                trips += self._slots() + 1
            for values in self._assignments(trips):
                self._run(values, largest=trips in values.values())
        except TileError as error:
            return Verdict(self.kernel, "violated", error.message, self.runs, error)
        except TimeoutError:
            return self._bounded("the search was cut off")
        if self.skeleton.varying:
            symbol, var = next(iter(self.skeleton.varying.items()))
            return self._bounded(f"{symbol} varies with {var.name}; it was explored as constant")
        if self.met - self.recurred:
            return self._bounded(f"no state recurs within {trips} trips")
        return Verdict(self.kernel, "proved", f"states recur within {trips} trips", self.runs)

    def _bounded(self, why: str) -> Verdict:
        return Verdict(self.kernel, "bounded", why, self.runs)

    def _slots(self) -> int:
        return max((c.depth for c in self.skeleton.channels.values()), default=1)

    def _recurs(self, trips: int) -> bool:
        """Whether every loop repeats its state in the run with the most trips."""
        values = dict.fromkeys(self.symbols, trips)
        if TILES in values and not self.skeleton.goes_on:
            values[TILES] = self._tiles()
        if self._possible(values):
            self._run(values, largest=True)
        return not (self.met - self.recurred)

    def _assignments(self, trips: int) -> Iterator[dict[Expr, int]]:
        ranges = [self._values(s, trips) for s in self.symbols]
        for chosen in product(*ranges):
            values = dict(zip(self.symbols, chosen, strict=True))
            if len(self.symbols) < 2 or self._possible(values):
                yield values

    def _values(self, symbol: Expr, trips: int) -> list[int]:
        """The values of one symbol that the facts allow."""
        if symbol.dtype.is_bool:
            return [0, 1]
        if not symbol.dtype.is_int:
            return [0]
        large = self.large.get(symbol)
        if large is not None:  # as many residues as any ring has slots
            return list(range(min(large, trips - self._slots()), trips + 1))
        if symbol is TILES and not self.skeleton.goes_on:
            # Fewer tiles are a beginning of more. One tile shows that no filling is left over.
            return [0, 1, self._tiles()]
        if symbol is TILES:  # what follows the tiles meets each state that they can leave
            few = 2 * self._slots() + 2  # a role is ahead by no more tiles than slots
            return [*range(min(few, trips)), trips]
        least, most = self.facts.range(symbol)
        low = 0 if least is None else max(0, least)
        while low < trips and self.facts.prove(b.gt(symbol, b.const(low, symbol.dtype))):
            low += 1
        return list(range(low, (trips if most is None else min(trips, most)) + 1))

    def _possible(self, values: dict[Expr, int]) -> bool:
        if any(start(values) >= stop(values) for start, stop in self.entered):
            return False
        facts = self.facts
        for symbol, value in values.items():
            if symbol.dtype.is_int:
                facts = facts.assume(b.eq(symbol, b.const(value, symbol.dtype)))
        return not facts.contradictory()

    def _run(self, values: dict[Expr, int], *, largest: bool) -> None:
        """One run. A loop that is met only while all counts are small cannot go on for longer."""
        key = tuple(values[s] for s in self.symbols)
        if key in self.done:
            return
        self.done.add(key)
        machine = Machine(self.skeleton, values)
        self.runs += 1
        try:
            machine.run(self.budget)
        except ViolationError as found:
            raise self._error(machine, found, values) from None
        finally:
            self.budget -= machine.steps
            if largest:
                self.met |= machine.met
            self.recurred |= machine.recurred

    def _error(self, machine: Machine, found: ViolationError, values: dict[Expr, int]) -> TileError:
        shown = machine.log[-_SHOWN:]
        lines = [f"{name(who)}: {i.text}" + (f" ({i.span})" if i.span else "") for who, i in shown]
        where = ", ".join(f"{symbol} = {value}" for symbol, value in values.items())
        notes = [f"with {where}"] if where else []
        notes += ["the last steps were:", *lines]
        return TileError(
            "E0710",
            f"kernel {self.kernel}, {name(found.who)}: {found.message}",
            found.instr.span if found.instr is not None else None,
            notes=notes,
            help="a program of the compiler's own making must not do this: report it",
        )


def verdicts(fn: Function) -> tuple[Verdict, ...]:
    """The verdict on each kernel of a scheduled function."""
    return tuple(check_kernel(fn, k) for k in kernels(fn))


def check_protocol(fn: Function, cx: PassContext, plan: Plan) -> None:
    """Refuse a program whose protocol is violated.

    Raises:
        TileError: E0710, with the interleaving; E0711 for barriers of the kernel's own.
    """
    for verdict in verdicts(fn):
        if verdict.error is not None:
            raise verdict.error


PASS = Pass(
    name="check-protocol",
    phase="expand",
    check=check_protocol,
    requires=("scheduled",),
    ensures=("protocol checked",),
    doc=__doc__,
)
