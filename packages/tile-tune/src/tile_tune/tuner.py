"""The tuner: a space, a strategy and machines; out comes the best configuration and why."""

from __future__ import annotations

import inspect
import random
from dataclasses import dataclass, field, fields, replace
from difflib import get_close_matches
from functools import cached_property
from time import monotonic
from typing import TYPE_CHECKING, Any

from tile_frontend.adapters import adapter_for
from tile_frontend.jit_function import JITImpl, Options
from tile_frontend.target_select import Target, select
from tile_frontend.trace.places import here
from tile_ir.diag import TileError
from tile_ir.plugin import TunerManifest, load, resolve
from tile_tune.handles import handle
from tile_tune.intervals import interval
from tile_tune.problem import ArrayLike, problem_for
from tile_tune.progress import progress_named
from tile_tune.pruning import Limits
from tile_tune.report import Result
from tile_tune.runner import FIRST, Machines, Runner
from tile_tune.searchers.base import Searcher, best_first
from tile_tune.space import as_space

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from concurrent.futures import Executor

    from tile_tune.configuration import Configuration
    from tile_tune.problem import Problem
    from tile_tune.progress import Progress
    from tile_tune.space import Space, SpaceLike
    from tile_tune.trial import Trial

__all__ = ["Tuner"]

TRIALS = 120
"""Candidates that are tried where nobody says how many."""
FINALISTS = 5
FINAL_SAMPLES = 21
CLOSE = 1.05
"""Candidates this near to the best are finalists, as far as there are places."""
BASELINES = 8
"""Without a reference, so many members may fail before one serves as the baseline."""


@dataclass(kw_only=True)
class Tuner:
    """Tunes one kernel for one set of arguments.

    Args:
        kernel: a `@tile.jit` function, a function that returns a `@T.prim_func` or a kernel, or a
            `@T.prim_func`; the workers import it, so it stands at the top of a module or script.
        space: a `Space`, a dict of lists, or a list of configurations.
        arguments: those that are not tuned, by name. Arrays are described to the workers, which
            fill their own: floats with seeded random numbers, integers (up to 16 MB) as they are.
        reference: called with the inputs; returns what the outputs must be, or changes its
            arguments in place. None: all candidates must agree with the first that works.
        inputs: called with `arguments` by name, returns the arrays to run on.
        supply: called with the kernel's parameters that are inputs, returns the arrays to run on.
        tensors: arrays like which the inputs are made, where no argument shows them.
        tolerance: (relative, absolute) difference allowed; None goes by the element type.
        searcher: the name of a strategy in the group `tile.tuners`, its manifest, what makes it
            from (space, seed), or the strategy.
        trials: candidates to try at most; `seconds`: time after which no round begins.
        executor: any `concurrent.futures.Executor`, for all trials. None: processes of this
            machine. `builders`: another one that compiles, if the two share the disk cache.
        environments: variables for each process that runs trials: one for each device.
        timeout, build_timeout: seconds for running and for compiling one candidate.
        limits, cutoff: what is pruned, see `Limits` and `Runner`.
        quiet: whether nothing is compiled while candidates are timed; None: where the host is the
            target.
        dims: values of dynamic dimensions, where no array argument gives them.
        progress: "rich", "plain", "silent", an object, or None for what fits the terminal.
    """

    kernel: Any
    space: SpaceLike
    arguments: Mapping[str, Any] = field(default_factory=dict)
    reference: Callable[..., Any] | None = None
    inputs: Callable[..., Any] | None = None
    supply: Callable[..., Any] | None = None
    tensors: Sequence[Any] = ()
    tolerance: tuple[float, float] | None = None
    searcher: str | TunerManifest | Searcher | Callable[[Space, int], Searcher] = "guided"
    trials: int = TRIALS
    seconds: float | None = None
    executor: Executor | None = None
    builders: Executor | None = None
    environments: tuple[Mapping[str, str], ...] = ()
    workers: int | None = None
    timeout: float = 30.0
    build_timeout: float = 300.0
    limits: Limits = field(default_factory=Limits)
    cutoff: float | None = 3.0
    quiet: bool | None = None
    target: Any = None
    device: str | None = None
    dims: Mapping[str, int] = field(default_factory=dict)
    seed: int = 0
    progress: str | Progress | None = None

    def __post_init__(self) -> None:
        """Raises `TileError` E2205 for a number of trials, workers or seconds that allows none."""
        counts = {"trials": self.trials, "workers": self.workers}
        for name, count in counts.items():
            if name in _OPTIONAL and count is None:
                continue
            if isinstance(count, bool) or not isinstance(count, int) or count < 1:
                raise _setting(name, count, "a whole number from one up")
        for name in ("seconds", "timeout", "build_timeout"):
            seconds = getattr(self, name)
            if name in _OPTIONAL and seconds is None:
                continue
            if not isinstance(seconds, (int, float)) or not seconds > 0:
                raise _setting(name, seconds, "a number of seconds above zero")

    @classmethod
    def made(cls, **options: Any) -> Tuner:
        """A tuner with these options. Raises `TileError` E2205 for a name that is none."""
        known = [f.name for f in fields(cls)]
        unknown = [n for n in options if n not in known]
        if unknown:
            near = get_close_matches(unknown[0], known, 1)
            raise TileError(
                "E2205",
                f"there is no option {unknown[0]!r} of the tuner",
                here(),
                help=f"did you mean {near[0]!r}?" if near else f"there are {', '.join(known)}",
            )
        return cls(**options)

    @cached_property
    def members(self) -> Space:
        """The space, with every parameter known to be one of the kernel's.

        Raises `TileError` E2201 for others.
        """
        made = as_space(self.space)
        if isinstance(self.kernel, JITImpl):
            names = inspect.signature(self.kernel.fn).parameters
            unknown = [c.name for c in made.choices if not c.pin and c.name not in names]
            if unknown:
                raise TileError(
                    "E2201",
                    f"{self.kernel.fn.__name__} has no parameter {unknown[0]!r}",
                    help=f'it has {", ".join(names)}; decisions of the Plan go under "plan"',
                )
        return made

    @cached_property
    def chosen_target(self) -> Target:
        """The target that the candidates are compiled for."""
        wanted = self.target
        device = self.device
        if isinstance(self.kernel, JITImpl):
            wanted = self.kernel.options.target if wanted is None else wanted
            device = self.kernel.options.device if device is None else device
        shown = (*self.arguments.values(), *self.tensors)
        arrays = [a.inspect(v) for v in shown if (a := adapter_for(v)) is not None]
        return select(wanted, arrays[0].device if arrays else None).on(device)

    def run(self) -> Result:
        """Search, compare the finalists in turns, and return what was found.

        Raises `TileError` E2204 when no candidate works, E2203 when the kernel or a function cannot
        reach the workers, E2211 when the executor is broken.
        """
        shown = progress_named(self.progress)
        machines = self._machines()
        result = None
        try:
            result = self._search(machines, shown)
        finally:
            shown.end(result)
            machines.close()
        return result

    def _machines(self) -> Machines:
        on_host = self.chosen_target.device == "cpu"
        quiet = on_host if self.quiet is None else self.quiet
        if self.executor is None:
            return Machines.here(
                quiet, self.build_timeout, self.timeout, self.environments, self.workers
            )
        builders = self.builders or self.executor
        return Machines(builders, self.executor, self.build_timeout, self.timeout, quiet)

    def _search(self, machines: Machines, shown: Progress) -> Result:
        start = monotonic()
        space, searcher = self.members, self._made_searcher()
        shown.begin(self.name, min(self.trials, space.bound))
        runner = self._runner(machines, shown)
        while True:
            left = self.trials - len(runner.trials)
            late = self.seconds is not None and monotonic() - start > self.seconds
            turn = None if late else searcher.ask(max(0, left))
            if turn is None:
                break
            searcher.tell(runner.run(turn.configurations, turn.samples))
        turns = self._finals(runner)
        if not turns:
            raise _nothing_works(self.name, list(runner.trials.values()))
        return Result(
            name=self.name,
            trials=tuple(runner.trials.values()),
            turns=turns,
            searcher=_name_of(self.searcher),
            seconds=monotonic() - start,
            checked="the reference" if self.reference else f"those of {runner.problem.baseline}",
            arguments=tuple(self._shown_arguments()),
            options=self._shown_options(),
        )

    @property
    def name(self) -> str:
        """The kernel's name."""
        return str(getattr(self.kernel, "__name__", None) or getattr(self.kernel, "name", "kernel"))

    def _shown_arguments(self) -> list[str]:
        """The fixed arguments as code."""
        is_array = {n: adapter_for(v) is not None for n, v in self.arguments.items()}
        return [n if is_array[n] else f"{n}={v!r}" for n, v in self.arguments.items()]

    def _shown_options(self) -> dict[str, Any]:
        """The options that the kernel was decorated with, but for pins, as code has them."""
        if not isinstance(self.kernel, JITImpl):
            return {}
        given = ((f.name, getattr(self.kernel.options, f.name)) for f in fields(Options))
        return {n: v for n, v in given if v is not None and n != "plan"}

    def _made_searcher(self) -> Searcher:
        made: Any = self.searcher
        if isinstance(made, (str, TunerManifest)):
            made = resolve(load("tile.tuners", made).factory)
        if hasattr(made, "ask") and not isinstance(made, type):
            return made  # type: ignore[no-any-return]
        strategy: Searcher = made(self.members, self.seed)
        return strategy

    def _runner(self, machines: Machines, shown: Progress) -> Runner:
        """What runs the trials, with a baseline that works where there is no reference."""
        problem = problem_for(
            self.kernel,
            self.arguments,
            self.inputs,
            self.reference,
            target=self._named_target(),
            device=self.device,
            supply=None if self.supply is None else handle(self.supply),
            tensors=tuple(ArrayLike.of(t) for t in self.tensors),
            tolerance=self.tolerance,
            dims=tuple(self.dims.items()),
        )
        if self.reference is not None:
            return self._runner_for(problem, machines, shown)
        failed: dict[Configuration, Trial] = {}
        others = self.members.sample(random.Random(self.seed), BASELINES)
        for c in dict.fromkeys((self.members.first(), *others)):
            runner = self._runner_for(replace(problem, baseline=c), machines, shown)
            runner.trials |= failed
            if runner.run([c], FIRST)[0].is_measured:
                break
            failed = runner.trials
        return runner

    def _named_target(self) -> Any:
        """The target as workers are told: where the arrays chose it, by name."""
        own = self.kernel.options.target if isinstance(self.kernel, JITImpl) else None
        given = own if self.target is None else self.target
        return self.chosen_target.request if given in (None, "auto") else given

    def _runner_for(self, problem: Problem, machines: Machines, shown: Progress) -> Runner:
        made = Runner(
            problem,
            self.chosen_target.spec,
            machines,
            limits=self.limits,
            cutoff=self.cutoff,
            seed=self.seed,
        )
        made.on_change = lambda trial: shown.changed(trial, made.best_ms, len(made.trials))
        return made

    def _finals(self, runner: Runner) -> dict[Configuration, tuple[float, ...]]:
        """Time those near the best in turns; fastest first."""
        ranked = best_first(list(runner.trials.values()))
        bound = ranked[0].median * CLOSE if ranked else 0.0
        near = [t for t in ranked if t.median <= bound or t.interval.low <= ranked[0].median]
        turns = runner.turns([t.configuration for t in near[:FINALISTS]], FINAL_SAMPLES)
        order = sorted(turns, key=lambda c: interval(turns[c]).median)
        return {c: tuple(turns[c]) for c in order}


_OPTIONAL = ("workers", "seconds")
"""Settings that may be None: as many as there are processors, and no limit."""


def _setting(name: str, value: Any, wanted: str) -> TileError:
    nothing = " or None" if name in _OPTIONAL else ""
    return TileError("E2205", f"{name}={value!r}", here(), help=f"it is {wanted}{nothing}")


def _name_of(searcher: Any) -> str:
    if isinstance(searcher, str):
        return searcher
    return str(getattr(searcher, "name", None) or getattr(searcher, "__name__", type(searcher)))


def _nothing_works(name: str, trials: list[Trial]) -> TileError:
    examples: dict[str, Trial] = {}
    for t in trials:
        examples.setdefault(t.status, t)
    counts = {s: sum(t.status == s for t in trials) for s in examples}
    return TileError(
        "E2204",
        f"no configuration of {name} works",
        notes=[f"{counts[s]} {s}: {t.configuration}: {t.reason}" for s, t in examples.items()],
        help="run the kernel with one of them by itself; widen the space, `tolerance=` or "
        "`timeout=` if that works",
    )
