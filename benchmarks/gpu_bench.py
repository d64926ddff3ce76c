"""What the families of GPU benchmarks share: a piece of work, its check, and the rows it gives.

A family is a module with `NAME`, `BAR` (of the geometric mean against the best peer), `builds` and
`loads`. A result is compared with float64 before anything is timed, in an output that was full of
NaN; a row whose result is wrong has the rate 0 and says why, and the run goes on. Peers are checked
like our kernels; one that fails is left out with a remark.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from gpu_parameters import Pins, parameters, split
from gpu_programs import example, program
from gpu_timing import EVENTS, medians_ms, times_ms
from report import Row

OURS = "ours"
POISON = 0xFF
"""The byte of undefined memory: NaN in every float type, -1 in integers."""
EPSILON = {"float16": 2.0**-10, "bfloat16": 2.0**-7, "float32": 2.0**-23, "float8": 2.0**-13}
"""The distance from 1 to the next number; of float8 that of the sums inside of the matrix unit."""
MATRIX_UNIT = 2.0
"""The matrix unit cuts sums off where arithmetic rounds them: twice the error."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ours:
    """A program of ours for a case: what it is built with."""

    name: str
    sizes: Mapping[str, Any]
    options: Mapping[str, Any] = field(default_factory=dict)
    keys: tuple[str, ...] = ()
    """Entries of the parameter table, later ones over earlier ones."""

    def table(self) -> tuple[Pins, dict[str, Any]]:
        """Pins and tile parameters."""
        return split(parameters(self.name, *self.keys))

    def build(self) -> tuple[str, Pins, dict[str, Any]]:
        """The case of gpu_build."""
        plan, table = self.table()
        return self.name, plan, {**self.sizes, **self.options, **table}

    def call(self, *tensors: Any) -> Any:
        """Run it on tensors of those sizes."""
        plan, table = self.table()
        return program(self.name, plan)(*tensors, **self.options, **table)


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """A peer that is not on the machine: what it reached in an earlier run on another day."""

    peer: str
    value: float
    unit: str
    """"us", or the unit of the load."""
    bar: float = 0.0
    how: str = EVENTS
    """How it was timed; ours is timed the same way beside it."""

    def rate(self, load: Load) -> float:
        """The value in the unit of the load."""
        return load.rate(self.value / 1e3) if self.unit == "us" else self.value


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """One piece of work on one set of inputs.

    Calls get the number of a copy of the inputs, of which there are `copies`; together they are
    larger than the L2. `works` gives a peer's work where it differs (a copy moves fewer bytes than
    a sum of two). `error` says how far an output is off, as a part of what is allowed.
    """

    work: float
    unit: str
    ours: Callable[[int], Any]
    peers: Mapping[str, Callable[[int], Any]]
    error: Callable[[Any], float]
    copies: int = 1
    bars: Mapping[str, float] = field(default_factory=dict)
    best: float = 0.0
    """The bar against the best of the peers that ran."""
    works: Mapping[str, float] = field(default_factory=dict)
    unchecked: tuple[str, ...] = ()
    """Peers whose result has another form."""
    recorded: tuple[Recorded, ...] = ()
    least: float = 0.0
    """The rate that it must reach by itself, in its unit."""
    graphs: bool = False
    """Timed as graphs of calls however long they are: what counts is how one follows another."""

    def rate(self, ms: float, peer: str = OURS) -> float:
        """Work by time, in the unit."""
        scale = 1e9 if self.unit == "TFLOP/s" else 1e6
        return self.works.get(peer, self.work) / ms / scale


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """A load that is not made yet: its name, what it builds, and what makes it on the device."""

    name: str
    ours: Ours
    load: Callable[[], Load]


class Poison:
    """Fills new outputs of our kernels with garbage while `on`."""

    on = False

    @classmethod
    def install(cls) -> None:
        """Have outputs made by way of this."""
        import torch

        from tile_frontend.adapters.torch_tensors import TorchAdapter

        maker = TorchAdapter.maker

        def poisoned(self: Any, shape: Any, dtype: Any, device: str) -> Callable[[], Any]:
            make = maker(self, shape, dtype, device)

            def made() -> Any:
                tensor = make()
                if cls.on and tensor.numel():
                    tensor.view(torch.uint8).fill_(POISON)
                return tensor

            return made

        TorchAdapter.maker = poisoned  # type: ignore[method-assign]


def sum_error(terms: float, dtype: str = "float32", scale: float = 1.0) -> float:
    """How far a sum of `terms` numbers of size `scale` may be off, as the examples derive it for
    float32, where sums are kept in another type."""
    derived: float = example("_run").sum_error(terms, scale, EPSILON[dtype])
    return derived


def off(got: Any, want: Any, rtol: float, atol: float) -> float:
    """The largest |got - want| as a part of rtol * |want| + atol; infinite where one is no number
    or the shapes differ."""
    if got.shape != want.shape:
        return math.inf
    part = (got.double() - want).abs() / (rtol * want.abs() + atol)
    worst = float(part.max()) if part.numel() else 0.0
    return worst if math.isfinite(worst) else math.inf


def whole(out: Any) -> bool:
    """Whether every element was written: none is still no number."""
    return bool(out.isfinite().all()) if out.is_floating_point() else True


def measured(task: Task) -> Iterator[Row]:
    """The rows of a task: one for each peer, one for each recorded number. Never raises."""
    import torch

    try:
        load = task.load()
        failure = _wrong(load.ours, load)
        if failure is not None:
            yield _failed(task.name, load.unit, failure)
            return
        yield from _compared(task.name, load)
    except Exception as error:  # a row that fails must not take the others along
        yield _failed(task.name, "", f"{type(error).__name__}: {error}")
        with suppress(RuntimeError):  # a device that a kernel stopped says so again
            torch.cuda.synchronize()


def _compared(name: str, load: Load) -> Iterator[Row]:
    peers = {peer: call for peer, call in load.peers.items() if _runs(name, peer, call, load)}
    times, how = times_ms({OURS: load.ours, **peers}, load.copies, graphs=load.graphs)
    ours = load.rate(times.pop(OURS))
    rates = {peer: load.rate(ms, peer) for peer, ms in times.items()}
    real = {peer: rate for peer, rate in rates.items() if peer not in load.works}
    best = max(real, key=lambda p: real[p]) if real else None
    for peer, rate in rates.items():
        bar = max(load.bars.get(peer, 0.0), load.best if peer == best else 0.0)
        note = f"{how}, best" if peer == best else how
        yield Row(f"{name} vs {peer}", ours, rate, peer, load.unit, ours / rate, bar, note)
    taken = {how: ours}
    for known in load.recorded:
        if known.how == EVENTS and EVENTS not in taken:
            taken[EVENTS] = load.rate(medians_ms([lambda: load.ours(0)])[0])
        like = known.how if known.how in taken else how
        rate, mine = known.rate(load), taken[like]
        note = (
            f"{like}; recorded: {known.value:g} {known.unit} in an earlier run, not measured here"
        )
        label = f"{name} vs {known.peer} (recorded)"
        yield Row(label, mine, rate, known.peer, load.unit, mine / rate, known.bar, note)
    if load.least:
        label = f"{name} at least {load.least:g}"
        yield Row(label, ours, load.least, "bar", load.unit, ours / load.least, 1.0, how)


def _wrong(call: Callable[[int], Any], load: Load, leeway: float = 1.0) -> str | None:
    """What is wrong with a result, or None."""
    import torch

    Poison.on = True
    try:
        out = call(0)
    finally:
        Poison.on = False
    torch.cuda.synchronize()
    error = load.error(out)
    return None if error <= leeway else f"wrong: {error:.3g} of the tolerance"


def _runs(name: str, peer: str, call: Callable[[int], Any], load: Load) -> bool:
    """Whether a peer runs, and gives what it should, with eight times our tolerance."""
    import torch

    try:
        if peer in load.works or peer in load.unchecked:
            call(0)
            return True
        failure = _wrong(call, load, leeway=8.0)
    except Exception as error:  # a peer may not know the shape
        failure = f"{type(error).__name__}: {str(error)[:160]}"
        torch.cuda.synchronize()
    if failure is not None:
        print(f"  {name}: {peer} is left out: {failure}", flush=True)
    return failure is None


def _failed(name: str, unit: str, why: str) -> Row:
    return Row(name, 0.0, 0.0, "none", unit, 0.0, 1.0, " ".join(why.split())[:300])


def mean_of_best(name: str, rows: Sequence[Row], bar: float) -> list[Row]:
    """The geometric mean of the ratios against the best peer of each task."""
    ratios = [r.ratio for r in rows if r.note.endswith(", best")]
    if not ratios or not bar:
        return []
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
    label = f"{name}: geometric mean of {len(ratios)}"
    return [Row(label, mean, 1.0, "best peer", "x", mean, bar)]


def copies_of(nbytes: int) -> int:
    """How many copies of an input are read before the first one is read again."""
    from gpu_timing import FLUSH_BYTES

    return max(1, min(24, FLUSH_BYTES // nbytes + 1))


def clones(tensor: Any, count: int) -> list[Any]:
    """The tensor and copies of it, `count` together."""
    return [tensor, *(tensor.clone() for _ in range(count - 1))]
