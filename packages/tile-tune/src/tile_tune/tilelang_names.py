"""The autotuner as programs written for TileLang call it: the same names and options, in ours.

Options without a meaning here (how long to warm up, how many outliers to forgive, where to keep
results) are accepted and do nothing: timings are taken until their interval is known.
"""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tile_frontend.jit_function import JITImpl, Options
from tile_tune.problem import compile_with, with_options
from tile_tune.tuner import Tuner

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tile_frontend.kernel import JITKernel
    from tile_tune.report import Result

__all__ = [
    "AutoTuner",
    "AutotuneResult",
    "get_autotune_inputs",
    "set_autotune_inputs",
    "translated",
]

WITHOUT_EFFECT = frozenset(
    {
        "backend",
        "benchmark_devices",
        "benchmark_multi_gpu",
        "cache_input_tensors",
        "do_not_specialize",
        "early_stop",
        "enable_grouped_compile",
        "execution_backend",
        "group_compile_size",
        "manual_check_prog",
        "max_mismatched_ratio",
        "pass_configs",
        "rep",
        "supply_type",
        "target_host",
        "use_pipeline",
        "verbose",
        "warmup",
    }
)
RENAMED = {"ref_prog": "reference", "supply_prog": "supply", "early_stop_factor": "cutoff"}

_INPUTS: ContextVar[tuple[Any, ...]] = ContextVar("autotune inputs", default=())


def translated(options: Mapping[str, Any]) -> dict[str, Any]:
    """Options of TileLang's tuner as those of `Tuner`; ours pass through."""
    given = {n: v for n, v in options.items() if n not in WITHOUT_EFFECT}
    made = {RENAMED.get(n, n): v for n, v in given.items() if v is not None}
    if made.pop("skip_check", False):
        made.pop("reference", None)
    tolerances = [made.pop(n, None) for n in ("rtol", "atol")]
    if tolerances != [None, None]:
        made["tolerance"] = tuple(1e-2 if t is None else t for t in tolerances)
    return made


@contextmanager
def set_autotune_inputs(*tensors: Any) -> Iterator[None]:
    """Within it, kernels are tuned on inputs like these: `with set_autotune_inputs(a, b): ...`."""
    only = tensors[0] if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)) else tensors
    token = _INPUTS.set(tuple(only))
    try:
        yield
    finally:
        _INPUTS.reset(token)


def get_autotune_inputs() -> tuple[Any, ...] | None:
    """What `set_autotune_inputs` set, or None."""
    return _INPUTS.get() or None


@dataclass(frozen=True, slots=True, kw_only=True)
class AutotuneResult:
    """What `AutoTuner.run` returns; `latency` in milliseconds, `result` has all the rest."""

    latency: float
    config: dict[str, Any]
    kernel: JITKernel
    result: Result
    ref_latency: float | None = None

    @property
    def func(self) -> Any:
        """The tuned program."""
        return self.kernel.function

    @property
    def libcode(self) -> str:
        """The generated source."""
        return self.kernel.kernel_source


class AutoTuner:
    """Tunes a function that returns a `@T.prim_func` (or is under `@tile.jit`) over a list of
    configurations; no database is asked."""

    def __init__(self, kernel: Any, configs: Sequence[Mapping[str, Any]]) -> None:
        self.kernel = kernel
        self.configs = configs
        self.compile_options: dict[str, Any] = {}
        self.options: dict[str, Any] = {}

    @classmethod
    def from_kernel(cls, kernel: Any, configs: Sequence[Mapping[str, Any]]) -> AutoTuner:
        """A tuner for the function `kernel`."""
        return cls(kernel, configs)

    def set_compile_args(self, **options: Any) -> AutoTuner:
        """Options of `tile.compile`: out_idx, target."""
        given = {n: v for n, v in options.items() if n not in WITHOUT_EFFECT and v is not None}
        self.compile_options = given
        return self

    def set_profile_args(self, **options: Any) -> AutoTuner:
        """How to check and to measure: ref_prog, supply_prog, rtol, atol, timeout."""
        self.options |= options
        return self

    def run(self, *_: Any, **options: Any) -> AutotuneResult:
        """Tune, and compile the best. Raises as `Tuner.run`."""
        target = self.compile_options.get("target")
        kernel = self.kernel
        if not isinstance(kernel, JITImpl):
            kernel = JITImpl(kernel, Options(**self.compile_options), {})
        elif self.compile_options:
            kernel = with_options(kernel, {}, target)
        chosen = {"tensors": get_autotune_inputs() or (), **translated({**self.options, **options})}
        result = Tuner.made(kernel=kernel, space=list(self.configs), **chosen).run()
        return AutotuneResult(
            latency=result.interval.median,
            config=result.best.arguments,
            kernel=compile_with(kernel, result.best, {}),
            result=result,
        )
