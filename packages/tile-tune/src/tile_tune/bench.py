"""What runs in a worker: build a candidate, check its values, time several in turns.

The three functions at the end are the tasks; they take a problem and configurations and give plain
data. What they make for a problem (inputs, the reference's outputs, loaded kernels) stays in the
process for the next task.
"""

from __future__ import annotations

import random
from collections import OrderedDict
from dataclasses import asdict, replace
from functools import cached_property
from math import prod
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from tile_frontend.kernel import JITKernel
from tile_frontend.profiler import Profiler
from tile_frontend.timing import device_of, durations
from tile_ir.diag import TileError
from tile_ir.opdef import Access
from tile_ir.ops import Kernel
from tile_ir.rewrite import walk
from tile_tune import arrays
from tile_tune.problem import ArrayLike, Problem, compile_with
from tile_tune.roofline import lower_bound_ms
from tile_tune.trial import Facts
from tile_tune.worker import restart_clock

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tile_tune.configuration import Configuration

__all__ = ["Bench", "build", "check", "measure"]

KEPT_PROBLEMS = 2
WARM_MS = 5.0
"""A launch shorter than this is preceded by one that does not count: on a host, what ran before
leaves its own data in the caches."""


class Launch:
    """One candidate on its arrays: every parameter is an argument, outputs included.

    `spare` holds outputs by extents and types: candidates share them, for there may be hundreds.
    """

    def __init__(self, kernel: JITKernel, inputs: Sequence[Any], spare: dict[Any, Any]) -> None:
        prepared = kernel.binder.prepare(inputs)
        chosen = kernel if prepared.fits else kernel.plain
        function = chosen.function
        shapes = kernel.binder.results(dict(zip(kernel.binder.names, inputs, strict=True)))
        self.outputs = []
        for at, ((shape, kind), make) in enumerate(zip(shapes, prepared.outputs, strict=True)):
            if (at, shape, kind.name) not in spare:
                spare[at, shape, kind.name] = make()
            self.outputs.append(spare[at, shape, kind.name])
        named = dict(zip(kernel.binder.names, inputs, strict=True))
        named |= dict(zip(function.results, self.outputs, strict=True))
        self.args = [named[p.name] for p in function.params]
        bare = JITKernel(replace(function, results=()), chosen.target, chosen.compiled)
        self.run = bare.bind(*self.args)

    def __call__(self) -> None:
        self.run(*self.args)


class Bench:
    """A problem with its arrays, in this process."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.kernel = problem.kernel.load()
        self.launches: dict[Configuration, Launch] = {}
        self.outputs: dict[Any, Any] = {}
        self.inputs: list[Any] = []
        self.kept: list[Any] = []
        self.written: list[int] = []

    @cached_property
    def arguments(self) -> dict[str, Any]:
        """The arguments of the kernel function that are not tuned, with arrays made."""
        pairs = self.problem.arguments
        return {n: v.make() if isinstance(v, ArrayLike) else v for n, v in pairs}

    @cached_property
    def shapes(self) -> dict[str, Any]:
        """The same with arrays that only show extents and types: compiling reads no number, and
        many builders would each take memory of the device."""
        pairs = self.problem.arguments
        return {n: v.shown() if isinstance(v, ArrayLike) else v for n, v in pairs}

    def compiled(self, configuration: Configuration) -> JITKernel:
        """Compile, or find in the disk cache. Raises what the compiler raises."""
        problem = self.problem
        return compile_with(self.kernel, configuration, self.shapes, problem.target, problem.device)

    def dims(self, kernel: JITKernel) -> dict[str, int]:
        """The values of the dynamic dimensions: given, or those of the array arguments."""
        names = [d.name for d in kernel.function.dims]
        given = dict(self.problem.dims)
        if all(n in given for n in names):
            return given
        args = [self.arguments.get(n, 1) for n in kernel.binder.names]
        return dict(zip(names, kernel.binder.prepare(args).dims, strict=True))

    def _make_inputs(self, kernel: JITKernel) -> None:
        names, problem = kernel.binder.names, self.problem
        if problem.inputs is not None:
            self.inputs = arrays.listed(problem.inputs.load()(**self.arguments))
        elif problem.supply is not None:
            self.inputs = arrays.listed(problem.supply.load()(list(kernel.binder.inputs)))
        elif problem.tensors:
            self.inputs = _filled(
                problem.tensors, [t.make() for t in problem.tensors], problem.seed
            )
        elif all(n in self.arguments for n in names):
            described = dict(problem.arguments)
            likes, made = [described[n] for n in names], [self.arguments[n] for n in names]
            self.inputs = _filled(likes, made, problem.seed)
        else:
            self.inputs = Profiler(kernel).inputs(self.dims(kernel), problem.seed)
            given = ((at, self.arguments[n]) for at, n in enumerate(names) if n in self.arguments)
            for at, value in given:
                self.inputs[at] = value
        self.kept = [arrays.keep(x) for x in self.inputs]
        writes = Access.WRITE | Access.UPDATE
        touched = kernel.binder.touched
        self.written = [i for i, n in enumerate(names) if touched.get(n, Access(0)) & writes]

    def restore(self) -> None:
        """Give every input the contents that it began with."""
        for x, kept in zip(self.inputs, self.kept, strict=True):
            arrays.restore(x, kept)

    def launch(self, configuration: Configuration) -> Launch:
        """The candidate, ready to run."""
        found = self.launches.get(configuration)
        if found is None:
            kernel = self.compiled(configuration)
            restart_clock()
            if not self.inputs:
                self._make_inputs(kernel)
                restart_clock()
            found = self.launches[configuration] = Launch(kernel, self.inputs, self.outputs)
        return found

    def results(self, launch: Launch) -> list[Any]:
        """Run once from restored inputs on poisoned outputs; the arrays that hold the results."""
        self.restore()
        for x in launch.outputs:
            arrays.poison(x)
        launch()
        return launch.outputs or [self.inputs[i] for i in self.written]

    @cached_property
    def expected(self) -> list[Any]:
        """What a candidate has to give: the reference's results, or the baseline's."""
        problem = self.problem
        self.restore()
        if problem.reference is not None:
            mine = [arrays.keep(x) for x in self.kept]
            given = arrays.listed(problem.reference.load()(*mine))
            return given or [mine[i] for i in self.written]
        assert problem.baseline is not None  # the tuner names one where there is no reference
        return [arrays.keep(x) for x in self.results(self.launch(problem.baseline))]

    def wrong(self, launch: Launch) -> str:
        """What is wrong with the candidate's values; empty where nothing is."""
        expected = self.expected
        ours = self.results(launch)
        if len(ours) != len(expected):
            return f"it has {len(ours)} outputs, the reference {len(expected)}"
        for i, (a, b) in enumerate(zip(ours, expected, strict=True)):
            found = arrays.difference(a, b, self.problem.tolerance)
            if found:
                return f"output {i}: {found}" if len(ours) > 1 else found
        for i, (x, kept) in enumerate(zip(self.inputs, self.kept, strict=True)):
            if i not in self.written and hasattr(x, "shape") and not arrays.same(x, kept):
                return f"it wrote to its input {i}"
        return ""


def _filled(likes: Sequence[Any], made: list[Any], seed: int) -> list[Any]:
    """The arrays, with random numbers in those whose own are not known."""
    rng = np.random.default_rng(seed)
    for like, x in zip(likes, made, strict=True):
        if isinstance(like, ArrayLike) and like.data is None:
            arrays.randomize(x, rng)
    return made


_BENCHES: OrderedDict[str, Bench] = OrderedDict()


def _bench(key: str, problem: Problem) -> Bench:
    if key not in _BENCHES:
        _BENCHES[key] = Bench(problem)
        while len(_BENCHES) > KEPT_PROBLEMS:
            _BENCHES.popitem(last=False)
    _BENCHES.move_to_end(key)
    return _BENCHES[key]


def build(key: str, problem: Problem, configuration: Configuration) -> Facts:
    """Compile a candidate into the disk cache, and say what is known of it.

    `key` is `problem.key`, worked out once. Raises what the compiler raises.
    """
    bench = _bench(key, problem)
    start = perf_counter()
    kernel = bench.compiled(configuration)
    seconds = perf_counter() - start
    usage = [asdict(u) for u in getattr(kernel.compiled.launch, "usage", {}).values()]
    kernels = [s for s in walk(kernel.function.body) if isinstance(s, Kernel)]
    return Facts(
        seconds=seconds,
        cached=kernel.compiled.cached,
        registers=max((_counted(u, "registers", "vector_registers") for u in usage), default=0),
        spilled=sum(v for u in usage for name, v in u.items() if "spill" in name),
        threads=max((prod(k.threads) for k in kernels), default=0),
        shared=max((_counted(u, "static_shared", "shared") for u in usage), default=0),
        bound_ms=lower_bound_ms(kernel.function, kernel.target.spec, dict(problem.dims)),
        alternatives={
            d.key: tuple(c.value for c in d.candidates) for d in kernel.plan if d.candidates
        },
    )


def _counted(usage: Mapping[str, int], *names: str) -> int:
    """What a device compiler counted, under the first of the names that it uses."""
    return next((usage[n] for n in names if n in usage), 0)


def check(key: str, problem: Problem, configuration: Configuration, samples: int) -> list[float]:
    """Compare a candidate's values with the reference, and time it a few times (milliseconds).

    Raises `TileError` E2216 when they differ, and whatever the launch raises.
    """
    bench = _bench(key, problem)
    launch = bench.launch(configuration)
    _ = bench.expected
    restart_clock()
    found = bench.wrong(launch)
    if found:
        raise TileError(
            "E2216",
            found,
            help="the candidate is left out; if the values are right after all, widen `tolerance=`",
        )
    return _times([launch], samples, bench.problem.device)[0]


def measure(
    key: str, problem: Problem, configurations: Sequence[Configuration], samples: int, seed: int
) -> list[list[float]]:
    """Time candidates in turns, in a new order each time: milliseconds of each, `samples` times."""
    bench = _bench(key, problem)
    launches = [bench.launch(c) for c in configurations]
    restart_clock()
    bench.restore()
    return _times(launches, samples, bench.problem.device, random.Random(seed))


def _times(
    launches: Sequence[Launch],
    samples: int,
    device: str | None,
    rng: random.Random | None = None,
) -> list[list[float]]:
    times: list[list[float]] = [[] for _ in launches]
    kind = _device_of(launches[0], device)
    first = [durations(launch, 0, 1, kind)[0] for launch in launches]
    for _ in range(samples):
        order = list(range(len(launches)))
        if rng is not None:
            rng.shuffle(order)
        for i in order:
            if kind == "cpu" and first[i] < WARM_MS:
                launches[i]()
            times[i] += durations(launches[i], 0, 1, kind)
    return times


def _device_of(launch: Launch, stand_in: str | None) -> str:
    """The kind of device whose clock counts; what stands in for a device runs on the host."""
    arrays_only = [x for x in launch.args if hasattr(x, "shape")]
    return "cpu" if stand_in is not None else device_of(arrays_only)
