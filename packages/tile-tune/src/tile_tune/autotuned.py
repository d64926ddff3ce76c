"""`@tile_tune.autotune`: a kernel function that finds its parameters itself, once per bucket.

    @tile_tune.autotune(configs={"block_M": [64, 128], "block_N": [64, 128]})
    @tile.jit
    def matmul(A, B, block_M=64, block_N=64): ...

The first call for a bucket of arguments looks into the database, then into the tables, the last of
which is the target's own, then tunes (`TILE_TUNE` says how far to go). Later calls go to the kernel
function with those parameters as its defaults.
"""

from __future__ import annotations

import functools
import inspect
import threading
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timezone
from types import FunctionType
from typing import TYPE_CHECKING, Any

from tile_frontend.jit_function import JITImpl, describe_call
from tile_ir.diag import TileError
from tile_tune import knobs
from tile_tune.agreement import agreed
from tile_tune.configuration import Configuration
from tile_tune.database import Database, Record, warn
from tile_tune.derived_space import derive
from tile_tune.identity import key_for
from tile_tune.problem import with_options
from tile_tune.space import Space, as_space
from tile_tune.tables import Table, shipped
from tile_tune.tilelang_names import get_autotune_inputs, translated
from tile_tune.tuner import Tuner

if TYPE_CHECKING:
    from pathlib import Path

    from tile_frontend.target_select import Target
    from tile_tune.identity import Key
    from tile_tune.report import Result
    from tile_tune.space import SpaceLike

__all__ = ["Autotuned", "autotune"]


def autotune(
    kernel: Any = None,
    *,
    configs: SpaceLike | Callable[..., SpaceLike] | None = None,
    key: Sequence[str] | Callable[..., Any] | None = None,
    bucket: str = "exact",
    tables: Sequence[str | Path] = (),
    database: str | Path | None = None,
    **options: Any,
) -> Any:
    """Decorate a `@tile.jit` function so that its calls use the best known configuration.

    Args:
        configs: a space, a dict of lists, a list of dicts (pins under "plan"), or a function that
            returns one for the arguments by name; None derives it from program and target.
        key: the names of the arguments and `T.const` dimensions that share no choice, or a function
            of the arguments; None: everything.
        bucket: "exact", or "power-of-two": whole numbers and extents are rounded up to one.
        tables: YAML tables to look into after the database: paths, or "package:folder/file.yaml".
        database: the database's file; None is the one of the environment.
        options: of `Tuner`: reference, inputs, trials, searcher, executor, ...; those of TileLang's
            autotune (ref_prog, supply_prog, rtol, ...) are translated.

    Raises `TileError` E2201 when it is not put on a `@tile.jit` function, E2205 for an option that
    the tuner does not have or a value that it does not take.
    """

    def decorate(inner: Any) -> Autotuned:
        if not isinstance(inner, JITImpl):
            raise TileError(
                "E2201",
                f"autotune got {inner!r}",
                help="write @autotune(...) above @tile.jit; other functions go to Tuner(...).run()",
            )
        chosen = translated(options)
        Tuner.made(kernel=inner, space=(), **chosen)  # wrong options show where they are written
        return Autotuned(inner, configs, key, bucket, tables, database, chosen)

    return decorate if kernel is None else decorate(kernel)


class Autotuned:
    """A kernel function with a space. Calls look like those of the function under it."""

    def __init__(
        self,
        kernel: JITImpl,
        configs: SpaceLike | Callable[..., SpaceLike] | None,
        key: Sequence[str] | Callable[..., Any] | None,
        bucket: str,
        tables: Sequence[str | Path],
        database: str | Path | None,
        options: Mapping[str, Any],
    ) -> None:
        functools.update_wrapper(self, kernel)
        self.kernel = kernel
        self.__wrapped__ = kernel
        self.configs = configs
        self.key = key
        self.bucket = bucket
        self.tables = tuple(tables)
        self.options = dict(options)
        self.results: dict[Key, Result] = {}
        """What was tuned in this process."""
        self._database = database
        self._runs: dict[Any, Callable[..., Any]] = {}
        self._variants: dict[Configuration, JITImpl] = {}
        self._lock = threading.RLock()

    @property
    def database(self) -> Database:
        """Where choices are kept."""
        return Database(self._database)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run (or, in the lazy style, return) the kernel with the best known configuration."""
        shape = (
            tuple([describe_call(a) for a in args]),
            *((n, describe_call(v)) for n, v in kwargs.items()),
        )
        run = self._runs.get(shape)
        if run is None:
            with self._lock:
                run = self._runs.get(shape) or self._chosen(args, kwargs)
                self._runs[shape] = run
        return run(*args, **kwargs)

    def compile(self, *args: Any, **kwargs: Any) -> Any:
        """The compiled kernel for these arguments with the best known configuration."""
        return self._chosen(args, kwargs).compile(*args, **kwargs)

    def best(self, *args: Any, **kwargs: Any) -> Configuration:
        """The configuration that a call with these arguments uses."""
        return self._configuration(self._arguments(args, kwargs))

    def known(self, *args: Any, **kwargs: Any) -> Record | None:
        """What database and tables have for these arguments; nothing is compiled or measured."""
        tuner, key = self._problem(self._arguments(args, kwargs))
        return self._known(key, tuner.chosen_target)

    def tune(self, *args: Any, **kwargs: Any) -> Record:
        """Tune for these arguments, whatever is known of them; the database has the new choice.

        Raises as `Tuner.run`.
        """
        tuner, key = self._problem(self._arguments(args, kwargs))
        return self._tuned(tuner, key, replace_old=True)

    def _chosen(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> JITImpl:
        arguments = self._arguments(args, kwargs)
        if set(arguments) & self._tuned_names(arguments):
            return self.kernel  # the caller chose
        configuration = self._configuration(arguments)
        if configuration not in self._variants:
            self._variants[configuration] = variant(self.kernel, configuration)
        return self._variants[configuration]

    def _arguments(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        names = list(self.kernel.signature.parameters)
        return {**dict(zip(names, args, strict=False)), **kwargs}

    def _tuned_names(self, arguments: Mapping[str, Any]) -> set[str]:
        if isinstance(self.configs, Space):
            return {c.name for c in self.configs.choices}
        if isinstance(self.configs, Mapping):
            return set(self.configs)
        if self.configs is None or callable(self.configs):
            return set()
        return {c.name for c in as_space(self.configs).choices}

    def _space(self, arguments: Mapping[str, Any]) -> Space:
        if self.configs is None:
            return derive(self.kernel, arguments, self.options.get("target"))
        if callable(self.configs):
            return as_space(self.configs(**arguments))
        return as_space(self.configs)

    # -- what is known

    def _configuration(self, arguments: dict[str, Any]) -> Configuration:
        mode = knobs.mode()
        if mode == "off":
            return Configuration()
        tuner, key = self._problem(arguments)
        known = self._known(key, tuner.chosen_target)
        if known is not None and self._fits(known, arguments):
            return known.configuration
        if mode == "cached":
            return Configuration()

        def tune() -> Record:
            return self._tuned(tuner, key, replace_old=known is not None)

        return agreed(self.database, key, tune, known).configuration

    def _problem(self, arguments: dict[str, Any]) -> tuple[Tuner, Key]:
        tuner = Tuner.made(kernel=self.kernel, space=(), arguments=arguments, **self.options)
        return tuner, key_for(self.kernel, arguments, tuner.chosen_target, self.key, self.bucket)

    def _known(self, key: Key, target: Target) -> Record | None:
        found = self.database.find(key)
        if found is not None:
            return found
        places = (*self.tables, *knobs.tables(), *shipped(target.manifest))
        return next((r for t in places if (r := _table(str(t)).find(key)) is not None), None)

    def _fits(self, known: Record, arguments: Mapping[str, Any]) -> bool:
        """Whether a stored choice compiles for these arguments; a warning where it does not."""
        try:
            variant(self.kernel, known.configuration).compile(**arguments)
        except TileError as error:
            text = (
                f"{known.configuration} of {known.source} does not fit {known.key.kernel} "
                f"({known.key.bucket}): {error.message}"
            )
            warn("E2213", text, 3)
            return False
        return True

    def _tuned(self, tuner: Tuner, key: Key, replace_old: bool) -> Record:
        tuner.space = self._space(tuner.arguments)
        tuner.tensors = tuner.tensors or get_autotune_inputs() or ()
        result = tuner.run()
        self.results[key] = result
        made = record_of(key, result)
        return self.database.record(made, result.trials, replace_old)


def record_of(key: Key, result: Result) -> Record:
    """A result as the database keeps it, with where it comes from."""
    i = result.interval
    return Record(
        key=key,
        configuration=result.best,
        milliseconds=i.median,
        low=i.low,
        high=i.high,
        provenance={
            "tuned": datetime.now(timezone.utc).isoformat(timespec="seconds"),
            "searcher": result.searcher,
            "trials": result.counts(),
            "seconds": round(result.seconds, 1),
            "values": result.checked,
            "ties": [str(c) for c in result.ties],
        },
    )


def variant(kernel: JITImpl, configuration: Configuration) -> JITImpl:
    """The kernel function with a configuration: pins in its options, parameters as its defaults, so
    that a call needs no keywords and takes the short way.

    Raises `TileError` E2201 for a parameter that cannot have a default.
    """
    pinned = with_options(kernel, configuration.plan)
    values = configuration.arguments
    if not values:
        return pinned
    parameters = kernel.signature.parameters
    given = {
        n: values.get(n, p.default) for n, p in parameters.items() if p.kind is not p.KEYWORD_ONLY
    }
    defaults: list[Any] = []
    for name in reversed(given):
        if given[name] is inspect.Parameter.empty:
            break
        defaults.insert(0, given[name])
    missing = [n for n in values if n in list(given)[: len(given) - len(defaults)]]
    unknown = [n for n in values if n not in parameters]
    if missing or unknown:
        raise TileError(
            "E2201",
            f"{kernel.fn.__name__} cannot take {(missing or unknown)[0]} as a default",
            help="put what is tuned at the end of the parameters, or give it a default",
        )
    old = kernel.fn
    made = FunctionType(
        old.__code__, old.__globals__, old.__name__, tuple(defaults), old.__closure__
    )
    only = {n: values[n] for n in values if parameters[n].kind is inspect.Parameter.KEYWORD_ONLY}
    made.__kwdefaults__ = {**(old.__kwdefaults__ or {}), **only} or None
    # Where annotations are evaluated late, to read them is to evaluate them.
    late = "__annotate__" if hasattr(old, "__annotate__") else "__annotations__"
    setattr(made, late, getattr(old, late))
    made.__qualname__, made.__module__ = old.__qualname__, old.__module__
    return JITImpl(made, pinned.options, pinned.outer)


@functools.lru_cache(maxsize=32)
def _table(place: str) -> Table:
    return Table.load(place)
