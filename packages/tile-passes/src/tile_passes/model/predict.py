"""Predict the time of a function from its scheduled program, its Plan and the target's description.

One core is run in simulation until its blocks are in step; the rest of a launch is as many rounds
of that as its tiles take. Rates are those of the description: nothing is fitted to a kernel.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from math import ceil, prod
from typing import TYPE_CHECKING

from tile_ir.ops import Barriers, Channel, Gemm, Kernel, Role, Tiles
from tile_ir.rewrite import declared, walk
from tile_passes.model.blocks import Block
from tile_passes.model.machine import Core
from tile_passes.model.prediction import KernelPrediction, Prediction
from tile_passes.model.program import Program
from tile_passes.model.terms import bound_of, terms_of
from tile_passes.model.traffic import traffic, typical
from tile_passes.model.values import Values
from tile_passes.model.work import Costs

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tile_ir.core import Buffer, Function
    from tile_ir.opdef import Stmt
    from tile_ir.target import TargetSpec
    from tile_ir.target.matrix import MatrixAtom
    from tile_passes.decisions import Plan
    from tile_passes.model.traffic import Traffic
    from tile_passes.model.work import Work

__all__ = ["predict"]

DIMENSION = 4096
"""What a dimension is taken to be that nobody gave."""
TILES = 4
"""Tiles of a block that are simulated; the rest is taken to go on like the last of them."""
STEPS = 400_000
"""Steps of a simulation, beyond which it is cut off."""
CACHED = 0.1
"""A statement that misses the cache in less than this part of its loads has the cache's latency."""
SHOWN, GROUPS = 3, 8
"""Blocks of a core, and groups of threads of a role, that have lanes in the timeline."""
SLOWED = 1.02
"""From so much longer cycles on the program is simulated again with them."""
UNEVEN = 1.05
"""Tiles whose times differ by more are not alike."""
BLOCK_START = 600.0
"""Cycles from the end of a block to the first instruction of the next one in its place."""


def predict(
    fn: Function,
    plan: Plan,
    spec: TargetSpec,
    *,
    dims: Mapping[str, int] | None = None,
    contents: Mapping[str, int] | None = None,
    occupancy: Mapping[str, tuple[int, str]] | None = None,
) -> Prediction:
    """The prediction for a function of stage `tile` or `scheduled`.

    `dims`: symbolic dimensions by name; those missing are taken to be 4096. `contents`: what
    integer arrays hold, where loops hang on it. `occupancy`: blocks that a core runs at once
    and what limits them, by kernel, where the compiled object says more than the Plan.
    """
    given = dict(dims or {})
    missing = [d.name for d in fn.dims if d.name not in given]
    sizes = {**dict.fromkeys(missing, DIMENSION), **given}
    found = [s for s in walk(fn.body) if isinstance(s, Kernel)]
    known = occupancy or {}
    made = tuple(
        _Launch.of(fn, k, plan, spec, sizes, contents or {}, known.get(k.name)).run() for k in found
    )
    assumed = [f"{name} = {DIMENSION}" for name in missing]
    if spec.rates.clock_hz <= 0:
        assumed.append(f"{spec.arch} has no rates: times are in cycles of 1 GHz")
    cut = [k.name for k in made if not k.complete]
    assumed += [f"{name}: the simulation was cut off" for name in cut]
    return Prediction(name=fn.name, target=str(spec), kernels=made, assumed=tuple(assumed))


@dataclass(slots=True)
class _Launch:
    """One kernel while it is predicted."""

    kernel: Kernel
    spec: TargetSpec
    values: Values
    costs: Costs
    per_core: int
    limiter: str
    tiles: int
    blocks: int | None
    loop: Tiles | None
    core: Core = field(default_factory=Core)
    ends: list[float] = field(default_factory=list)

    @staticmethod
    def of(
        fn: Function,
        kernel: Kernel,
        plan: Plan,
        spec: TargetSpec,
        dims: Mapping[str, int],
        contents: Mapping[str, int],
        occupancy: tuple[int, str] | None,
    ) -> _Launch:
        decided = plan.find(f"{kernel.name}.blocks_per_core")
        planned = (int(decided.value), decided.reason) if decided is not None else (1, "")  # type: ignore[arg-type]  # a number
        fits, limiter = occupancy or planned
        limiter = limiter.removeprefix("limited by ")
        buffers = declared(fn)
        values = Values(dims, contents, max(1, spec.rates.cores) * fits)
        loop = next((s for s in walk(kernel.body) if isinstance(s, Tiles)), None)
        tiles = prod(max(1, values.number(e, 1)) for e in loop.extents) if loop else 1
        blocks = None if kernel.blocks is None else max(1, values.number(kernel.blocks, tiles))
        warps = max(1, prod(kernel.threads) // max(spec.warp_width, 1))
        roles = [s for s in walk(kernel.body) if isinstance(s, Role) and not s.elect]
        if roles:
            warps = sum(r.warps or r.threads // max(spec.warp_width, 1) for r in roles) or warps
        costs = Costs(spec, buffers, _atoms(kernel, plan, spec, buffers), warps)
        return _Launch(kernel, spec, values, costs, max(1, fits), limiter, tiles, blocks, loop)

    @property
    def cores(self) -> int:
        return max(1, self.spec.rates.cores)

    @property
    def wave(self) -> int:
        """Tiles at work at once."""
        return min(self.tiles, self.blocks or self.cores * self.per_core)

    def run(self) -> KernelPrediction:
        moved = traffic(self.kernel.body, self.values, self.costs, self.spec, self.tiles, self.wave)
        cycles, complete = self._cycles(self._program(moved, 1.0), moved)
        slower = self._slowdown(cycles)
        if slower > SLOWED:
            # Memory has a clock of its own: beside a slower core it takes fewer of its cycles.
            self.core, self.ends = Core(), []
            cycles, complete = self._cycles(self._program(moved, slower), moved)
        return self._told(moved, cycles * slower, complete)

    def _slowdown(self, cycles: float) -> float:
        """How many times longer a cycle is because power limits the clock: the more, the busier the
        matrix units are, and the longer the launch takes."""
        rates = self.spec.rates
        seconds = cycles / (rates.clock_hz or 1e9)
        busy = min(1.0, self.core.busy["matrix"] / max(self.core.end, 1.0))
        late = seconds / (seconds + rates.sustained_seconds) if seconds else 0.0
        return 1.0 + (1.0 / rates.sustained - 1.0) * busy * late

    def _program(self, moved: Traffic, slower: float) -> Program:
        rates = self.spec.rates
        active = min(self.cores, self.wave)
        cache = 1.0 / (rates.cache_bytes * slower) if rates.cache_bytes else 0.0
        device = active / (rates.device_bytes * slower) if rates.device_bytes else 0.0

        def moves(stmt: Stmt, work: Work) -> tuple[float, float]:
            loads, stores = moved.misses.get(id(stmt), (1.0, 1.0))
            missed = work.loads * loads + work.stores * stores
            return (work.loads + work.stores) * cache, missed * device

        inner = tuple(walk(self.kernel.body))
        near = float(rates.cache_latency or rates.global_latency)

        def latency(stmt: Stmt) -> float:
            cached = moved.misses.get(id(stmt), (1.0, 1.0))[0] < CACHED
            return near if cached else float(rates.global_latency)

        return Program(
            spec=self.spec,
            costs=self.costs,
            buffers=self.costs.buffers,
            moves=moves,
            latency=latency,
            channels={s.name: s for s in inner if isinstance(s, Channel)},
            barriers={s.name: s for s in inner if isinstance(s, Barriers)},
            threads=prod(self.kernel.threads),
            roles=tuple(s for s in inner if isinstance(s, Role)),
            body=self.kernel.body,
            outside=next((s for s in self.kernel.body if isinstance(s, Tiles)), None)
            if any(isinstance(s, Role) for s in inner)
            else None,
        )

    # -- rounds

    def _cycles(self, program: Program, moved: Traffic) -> tuple[float, bool]:
        by_blocks = self._persistent if self.blocks else self._handed_out
        return by_blocks(program, moved)

    def _persistent(self, program: Program, moved: Traffic) -> tuple[float, bool]:
        """Blocks that stay, and take one tile after the other."""
        assert self.blocks is not None  # asked by the caller
        rounds = ceil(self.tiles / self.blocks)
        here = max(1, min(self.blocks, ceil(self.blocks / self.cores)))
        sampled = typical(moved.weights, self.tiles, min(rounds, TILES))
        blocks = []
        for b in range(here):
            numbers = [(n + b * self.cores) % self.tiles for n in sampled]
            blocks.append(self._block(program, numbers, b, here, lambda end: None))
        for block in blocks:
            block.start(0.0)
        complete = self.core.run(STEPS)
        end = max([self.core.end, *(b.last for b in blocks)])
        ends = [max(b.tile_ends.get(i, 0.0) for b in blocks) for i in range(len(sampled))]
        self.ends = ends
        if len(sampled) == rounds or not complete:
            return end * (rounds / len(sampled) if not complete else 1.0), complete
        taken = self.tiles / self.blocks if self._balanced() else rounds
        return _continued(ends, taken) + (end - ends[-1]), complete

    def _balanced(self) -> bool:
        """Whether blocks that get light tiles get more of them."""
        return self.loop is not None and (self.loop.claim == "dynamic" or self.loop.deal == "snake")

    def _handed_out(self, program: Program, moved: Traffic) -> tuple[float, bool]:
        """A block for each tile; who is done makes room for the next one."""
        mine = ceil(self.tiles / self.cores)
        slots = min(self.per_core, mine)
        most = min(mine, (TILES - 1) * slots + 1 if mine > slots else slots)
        numbers = typical(moved.weights, self.tiles, most)
        waiting, ends = list(reversed(numbers)), []

        def next_one(slot: int, at: float) -> None:
            if waiting:
                number = waiting.pop()
                block = self._block(program, [number], slot, slots, lambda end: done(slot, end))
                block.start(at)

        def done(slot: int, end: float) -> None:
            ends.append(end)
            next_one(slot, end + BLOCK_START)

        for slot in range(slots):
            next_one(slot, 0.0)
        complete = self.core.run(STEPS)
        end = max([self.core.end, *ends])
        if len(ends) < len(numbers) or len(numbers) == mine or len(numbers) <= slots:
            return end * mine / max(1, len(numbers)), complete
        if slots == 1:
            return _continued(ends, mine), complete
        first = sorted(ends)[slots - 1]
        each = (end - first) / (len(numbers) - slots)
        return first + (mine - slots) * each, complete

    def _block(
        self, program: Program, numbers: Sequence[int], slot: int, slots: int, done: object
    ) -> Block:
        name = f"block {slot}: " if slots > 1 else ""
        block = Block(self.core, program, self.values.fork(), numbers, name, done)  # type: ignore[arg-type]  # a callable
        if slot < SHOWN:
            roles = [r.name for r in program.roles] or ["threads"]
            self.core.recorded |= {f"{name}{r}" for r in roles}
            self.core.recorded |= {f"{name}{r} {g}" for r in roles for g in range(GROUPS)}
            self.core.recorded |= {"matrix", "memory", *self.spec.copy}
        return block

    # -- result

    def _told(self, moved: Traffic, cycles: float, complete: bool) -> KernelPrediction:
        rates = self.spec.rates
        clock = rates.clock_hz or 1e9
        floor = moved.device / rates.device_bytes if rates.device_bytes else 0.0
        launch = 0.0 if self.kernel.dependent else rates.launch_seconds
        seconds = max(cycles, floor) / clock + launch
        waves = self.tiles / (self.cores * self.per_core if not self.blocks else self.blocks)
        terms = terms_of(self.core, moved, rates, (seconds, launch), waves)
        waits = {
            why: found * seconds / max(self.core.end, 1.0)
            for why, found in sorted(self.core.waited.items(), key=lambda w: -w[1])
        }
        bound, reason = bound_of(terms, seconds, waits)
        return KernelPrediction(
            name=self.kernel.name,
            seconds=seconds,
            terms=terms,
            bound=bound,
            reason=reason,
            blocks_per_core=self.per_core,
            limiter=self.limiter,
            tiles=self.tiles,
            waves=waves,
            flops=moved.flops,
            device_bytes=moved.device,
            peak_flops=self._peak() * self.cores * clock,
            device_rate=rates.device_bytes * clock,
            clock_hz=clock,
            waits=waits,
            spans=tuple(self.core.spans),
            tile_ends=tuple(self.ends),
            complete=complete,
        )

    def _peak(self) -> float:
        """Multiplications and additions a cycle of one core: of the fastest unit that a product of
        the kernel runs on, else of the vector units."""
        rates = [a.rate for a in self.costs.atoms.values()]
        return max(rates, default=self.spec.rates.vector_flops)


def _continued(ends: Sequence[float], taken: float) -> float:
    """The time of `taken` tiles of which some, evenly spread, end at these times. Where tiles take
    unequally long, those between the sampled ones are taken to lie between them."""
    each = [b - a for a, b in pairwise(ends)]
    if max(each) <= UNEVEN * min(each):
        return ends[0] + (taken - 1) * sum(each) / len(each)
    every = [ends[0], *each]
    between = [(a + b) / 2 for a, b in pairwise(every)]
    return taken * sum(between) / len(between)


def _atoms(
    kernel: Kernel, plan: Plan, spec: TargetSpec, buffers: Mapping[str, Buffer]
) -> dict[str, MatrixAtom]:
    """What each product runs on: as planned, else the fastest unit for its types."""
    found: dict[str, MatrixAtom] = {}
    for product in (s for s in walk(kernel.body) if isinstance(s, Gemm)):
        name = product.c.buffer
        planned = plan.find(f"{kernel.name}.gemm:{name}.atom")
        if planned is not None:
            if str(planned.value) in spec.matrix:
                found[name] = spec.matrix[str(planned.value)]
            continue
        types = [buffers[r.buffer].dtype.name for r in (product.a, product.b, product.c)]
        fitting = spec.atoms(types[0], types[1], types[2])
        if fitting:
            found[name] = fitting[0]
    return found
