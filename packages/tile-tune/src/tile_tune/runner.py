"""Runs rounds of candidates: builds in parallel, prunes, checks each alone, times them in turns.

Each step is a task for an executor. What may go wrong with a candidate goes wrong in its check,
where it is alone; only those that passed are timed together.
"""

from __future__ import annotations

import os
import random
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    CancelledError,
    Executor,
    Future,
    wait,
)
from concurrent.futures import TimeoutError as FutureTimeout
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from tile_ir.diag import TileError
from tile_tune import bench
from tile_tune.executor import ProcessExecutor
from tile_tune.pruning import Limits, pruned
from tile_tune.trial import Facts, Trial

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tile_ir.target import TargetSpec
    from tile_tune.configuration import Configuration
    from tile_tune.problem import Problem

__all__ = ["Machines", "Runner", "outcome"]

TOGETHER = 8
"""Candidates that are timed in turns: enough to share the machine's moods, few enough that each is
still in the instruction cache of the device's driver."""
FIRST = 3
"""Timings of a candidate with its check."""

STATUS_OF = {"E2214": "crashed", "E2215": "timeout", "E2216": "wrong"}
"""Code of what a task raised -> status of the candidate."""


@dataclass(slots=True)
class Machines:
    """Where trials run: `builders` compile, `runners` check and time.

    With one executor for all, it does both. `quiet`: nothing is built while something is timed,
    which is so where the host itself is what is measured.
    """

    builders: Executor
    runners: Executor
    build_timeout: float = 300.0
    timeout: float = 30.0
    quiet: bool = True
    owned: tuple[ProcessExecutor, ...] = ()

    @classmethod
    def here(
        cls,
        quiet: bool,
        build_timeout: float = 300.0,
        timeout: float = 30.0,
        environments: Sequence[Mapping[str, str]] = (),
        workers: int | None = None,
    ) -> Machines:
        """Processes of this machine: as many builders as there are cores, one runner for each of
        `environments` (each for one device), at least one."""
        count = workers or max(1, min(16, os.cpu_count() or 1))
        builders = ProcessExecutor(count)
        runners = ProcessExecutor(max(1, len(environments)), environments=environments)
        owned = (builders, runners)
        return cls(builders, runners, build_timeout, timeout, quiet, owned)

    def build(self, *args: Any) -> Future[Any]:
        """Submit a build."""
        return _submit(self.builders, self.build_timeout, bench.build, *args)

    def check(self, *args: Any) -> Future[Any]:
        """Submit a check; it may have to compile, if the builder's disk is not the runner's."""
        return _submit(self.runners, self.timeout, bench.check, *args)

    def measure(self, seconds: float, *args: Any) -> Future[Any]:
        """Submit timings that should take `seconds`."""
        return _submit(self.runners, self.timeout + seconds, bench.measure, *args)

    @property
    def patience(self) -> float | None:
        """Seconds without any task's end after which all are given up: for executors that do not
        keep a task's time themselves."""
        if hasattr(self.runners, "submit_within") and hasattr(self.builders, "submit_within"):
            return None
        return 2 * max(self.build_timeout, self.timeout)

    def result(self, future: Future[Any]) -> Any:
        """The result of a task. Raises what it raised, and a timeout after `patience`."""
        return future.result(self.patience)

    def close(self) -> None:
        """End the processes that were started for this."""
        for pool in self.owned:
            pool.kill()


def _submit(pool: Executor, seconds: float, fn: Callable[..., Any], *args: Any) -> Future[Any]:
    try:
        within = getattr(pool, "submit_within", None)
        future: Future[Any]
        future = pool.submit(fn, *args) if within is None else within(seconds, fn, *args)
    except RuntimeError as cause:  # what executors raise that are shut down or broken
        raise TileError(
            "E2211",
            f"the executor takes no trials: {cause}",
            help="pass one that is running, or none: trials then run in processes of this machine",
        ) from cause
    return future


def outcome(error: BaseException) -> tuple[str, str]:
    """The status and the reason that a task's exception means for its candidate.

    Raises `TileError` E2211 for a broken executor: no candidate is to blame.
    """
    if isinstance(error, BrokenExecutor):
        raise TileError(
            "E2211",
            f"the executor is broken: {error}",
            notes=("a trial ended its process, and this kind of executor does not say which",),
            help="use tile_tune.ProcessExecutor, which replaces workers that die",
        ) from error
    if isinstance(error, (FutureTimeout, CancelledError)):
        return "timeout", "it did not end in time"
    if isinstance(error, TileError):
        notes = "; ".join(error.notes)
        text = f"{error.message} ({notes})" if notes else error.message
        return STATUS_OF.get(error.code, "error"), f"{error.code}: {text}"
    return "error", f"{type(error).__name__}: {error}"


@dataclass(slots=True)
class Runner:
    """The trials of one problem, by configuration.

    `cutoff`: a candidate whose first timings are so many times the best is not timed further; None
    times all. `on_change` is called with every trial that changed.
    """

    problem: Problem
    spec: TargetSpec
    machines: Machines
    limits: Limits = field(default_factory=Limits)
    cutoff: float | None = 3.0
    seed: int = 0
    on_change: Callable[[Trial], None] | None = None
    trials: dict[Configuration, Trial] = field(default_factory=dict)
    key: str = ""

    def __post_init__(self) -> None:
        self.key = self.problem.key

    @property
    def best_ms(self) -> float:
        """The least median so far; infinite at the start."""
        return min((t.median for t in self.trials.values()), default=float("inf"))

    def run(self, configurations: Sequence[Configuration], samples: int) -> list[Trial]:
        """Bring every candidate to `samples` timings more; the trials in the same order."""
        fresh = [c for c in configurations if c not in self.trials]
        flow = _Flow(self, samples)
        flow.ready = [c for c in configurations if c in self.trials and self._goes_on(c)]
        for c in fresh:
            self.trials[c] = Trial(configuration=c, status="error", reason="it was not tried")
            flow.add("build", (c,), self.machines.build(self.key, self.problem, c))
        flow.drain()
        return [self.trials[c] for c in configurations]

    def _goes_on(self, c: Configuration) -> bool:
        """Whether a candidate of an earlier round is timed further."""
        trial = self.trials[c]
        slow = self.cutoff is not None and trial.median > self.cutoff * self.best_ms
        return trial.is_measured and not slow

    def built(self, c: Configuration, facts: Facts) -> bool:
        """Note what a build found; whether the candidate runs at all."""
        self.trials[c] = replace(self.trials[c], facts=facts)
        reason = pruned(facts, self.spec, self.limits, self.best_ms)
        if reason:
            self.set(self.trials[c].failed("pruned", reason))
        return not reason

    def checked(self, c: Configuration, times: Sequence[float]) -> bool:
        """Note the first timings; whether the candidate is timed further."""
        first = replace(self.trials[c], status="measured", reason="", samples=tuple(times))
        slow = self.cutoff is not None and min(times) > self.cutoff * self.best_ms
        self.set(replace(first, reason="far slower than the best" if slow else ""))
        return not slow

    def measured(self, group: Sequence[Configuration], times: Sequence[Sequence[float]]) -> None:
        """Note timings that were taken in turns."""
        for c, new in zip(group, times, strict=True):
            self.set(replace(self.trials[c], samples=_added(self.trials[c], new)))

    def failed(self, c: Configuration, step: str, error: BaseException) -> None:
        """Note what a step of a candidate raised."""
        status, reason = outcome(error)
        refused = step == "build" and status == "error"
        self.set(self.trials[c].failed("refused" if refused else status, reason))

    def seconds_of(self, group: Sequence[Configuration], samples: int) -> float:
        """How long timings in turns should take, thrice over."""
        return sum(self.trials[c].median for c in group) * (samples + 1) * 3 / 1e3

    def measure(self, group: Sequence[Configuration], samples: int) -> Future[Any]:
        """Submit timings of a group in turns."""
        seed = random.Random(self.seed + len(self.trials)).randrange(1 << 30)
        expected = self.seconds_of(group, samples)
        return self.machines.measure(expected, self.key, self.problem, list(group), samples, seed)

    def turns(
        self, group: Sequence[Configuration], samples: int
    ) -> dict[Configuration, list[float]]:
        """Timings of a few candidates in turns, all together and by themselves: what is compared
        pair by pair at the end. Without those that fail."""
        if not group:
            return {}
        try:
            times = self.machines.result(self.measure(group, samples))
        except Exception as error:
            outcome(error)
            if len(group) == 1:
                self.failed(group[0], "measure", error)
                return {}
            halves = (group[: len(group) // 2], group[len(group) // 2 :])
            alive = [c for half in halves for c in self.turns(half, 1)]
            return self.turns(alive, samples) if len(alive) < len(group) else {}
        return dict(zip(group, times, strict=True))

    def set(self, trial: Trial) -> None:
        """Note what became of a candidate."""
        self.trials[trial.configuration] = trial
        if self.on_change is not None:
            self.on_change(trial)


def _added(trial: Trial, new: Sequence[float]) -> tuple[float, ...]:
    """The timings of a check are the first after loading; they count only until there are more."""
    old = trial.samples if len(trial.samples) > FIRST else ()
    return (*old, *new)


@dataclass(slots=True)
class _Flow:
    """One round on its way: what is submitted, what waits to be checked, and to be timed."""

    runner: Runner
    samples: int
    pending: dict[Future[Any], tuple[str, tuple[Configuration, ...]]] = field(default_factory=dict)
    built: list[Configuration] = field(default_factory=list)
    ready: list[Configuration] = field(default_factory=list)

    def add(self, step: str, group: tuple[Configuration, ...], future: Future[Any]) -> None:
        """Wait for a task."""
        self.pending[future] = (step, group)

    def drain(self) -> None:
        """Until nothing is left to do."""
        self._submit()
        while self.pending:
            stalled = self.runner.machines.patience
            done, _ = wait(self.pending, stalled, FIRST_COMPLETED)
            for future in done or list(self.pending):
                step, group = self.pending.pop(future)
                if not done:
                    future.cancel()
                self._end(step, group, future)
            self._submit()

    def _steps(self) -> set[str]:
        return {step for step, _ in self.pending.values()}

    def _submit(self) -> None:
        """Submit what may start now."""
        runner, steps = self.runner, self._steps()
        if "build" in steps and runner.machines.quiet:
            return
        for c in self.built:
            self.add("check", (c,), runner.machines.check(runner.key, runner.problem, c, FIRST))
        self.built = []
        more = bool(self._steps() - {"measure"})
        while self.ready and (len(self.ready) >= TOGETHER or not more):
            group, self.ready = self.ready[:TOGETHER], self.ready[TOGETHER:]
            self.add("measure", tuple(group), runner.measure(group, self.samples))

    def _end(self, step: str, group: tuple[Configuration, ...], future: Future[Any]) -> None:
        runner, first = self.runner, group[0]
        try:
            found = future.result(0)
        except (Exception, CancelledError) as error:
            if len(group) == 1:
                runner.failed(first, step, error)
                return
            half = len(group) // 2  # one of them fails now, after its check: find it by halves
            for part in (group[:half], group[half:]):
                self.add("measure", part, runner.measure(part, self.samples))
            return
        if step == "build" and runner.built(first, found):
            self.built.append(first)
        elif step == "check" and runner.checked(first, found):
            self.ready.append(first)
        elif step == "measure":
            runner.measured(group, found)
