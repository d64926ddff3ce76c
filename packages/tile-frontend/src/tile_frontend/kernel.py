"""A compiled kernel: called with arrays, asked about its program, source and decisions."""

from __future__ import annotations

import functools
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tile_frontend import driver
from tile_frontend.adapters import describe
from tile_frontend.bind import Binder
from tile_frontend.calls import Ready, alike_of, key_function, key_texts
from tile_frontend.report import explain as explain_text
from tile_frontend.trace.places import here
from tile_frontend.variants import Variants, not_built, plain, row_of
from tile_ir.diag import TileError
from tile_ir.text import print_function
from tile_passes.plan.model import Candidate, Decision

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tile_frontend.bind import Prepared
    from tile_frontend.driver import Compiled
    from tile_frontend.target_select import Target
    from tile_ir.accuracy import Accuracy
    from tile_ir.core import Function, Param
    from tile_passes.model import Prediction
    from tile_passes.plan.model import Plan


class JITKernel:
    """What `tile.compile` and `@tile.jit` return.

    Calling it takes the inputs in parameter order and gives the outputs: one array, a list of
    several, or None. Outputs are made by the library of the first array argument.
    """

    __slots__ = ("__call__", "__dict__", "__weakref__")

    __call__: Callable[..., Any]
    """Run the kernel. Raises `TileError` E2001 to E2017 for arguments that do not fit.

    On an accelerator this is the code made for arguments like those of the last call, which hands
    others over to `_other`. It is a slot because the interpreter comes by what a slot holds without
    running Python code: a method in between would cost as much as to check one argument.
    """

    def __init__(
        self,
        function: Function,
        target: Target,
        compiled: Compiled,
        compile_plain: Callable[[], JITKernel] | None = None,
        made_with: tuple[Mapping[str, Any] | None, Sequence[str]] = (None, ()),
    ) -> None:
        self.function = function
        self.target = target
        self.compiled = compiled
        artifact = compiled.artifact
        whole = getattr(compiled.launch, "arguments", "") == "arrays"
        self.binder = Binder(function, target.memory, artifact.alignments, artifact.pitches, whole)
        self.made_with = made_with
        self._frozen = False
        self._compile_plain = compile_plain
        self._launch = compiled.launch
        self._runs: dict[tuple[Any, ...], Callable[..., Any]] = {}
        self._keys: dict[tuple[str, ...], Callable[..., Any]] = {}
        self._checked: dict[tuple[Any, ...], Callable[..., Any]] = {}
        self.__call__ = self._general
        self._lock = threading.Lock()

    @classmethod
    def build(
        cls,
        function: Function,
        target: Target,
        plan: Mapping[str, Any] | None,
        flags: Sequence[str],
    ) -> JITKernel:
        """Compile a function, or find it in the cache. Raises TileError as compiling does.

        The user's pins are for the fast variant: what they name need not exist in the plain one.
        """

        def make_plain() -> JITKernel:
            other = plain(target)
            return cls(function, other, driver.compile_function(function, other, None, flags))

        compiled = driver.compile_function(function, target, plan, flags)
        demands = (*compiled.artifact.alignments, *compiled.artifact.pitches)
        takes_all = max(demands, default=1) == 1
        return cls(function, target, compiled, None if takes_all else make_plain, (plan, flags))

    def _other(self, *args: Any) -> Any:
        """A call with arguments unlike those of the last one."""
        for key in tuple(self._keys.values()):  # another thread may add one
            found = self._checked.get(key(*args))
            if found is not None:
                self.__call__ = found
                return found(*args)
        return self._general(*args)

    def _general(self, *args: Any) -> Any:
        """A call with any arguments, which are checked unless others like them were."""
        described = tuple([describe(a) for a in args])
        run = self._runs.get(described)
        if run is None:
            ready = self.ready(args)
            run = ready.run()
            with self._lock:
                if len(self._runs) >= MOST_SHAPES:
                    self._runs.clear()
                    self._checked.clear()
                self._runs[described] = run
                self._know(ready, args)
        return run(*args)

    def _know(self, ready: Ready, args: Sequence[Any]) -> None:
        """From now on recognise such arguments by a short key."""
        is_array = [p.buffer is not None for p in self.binder.inputs]
        texts = key_texts(is_array, args)
        if texts is None or (len(self._keys) >= _MOST_LIBRARIES and texts not in self._keys):
            return
        key_of = self._keys.setdefault(texts, key_function(texts))
        key = key_of(*args)
        if key is not None:
            others, alike = (self._other, self._general), alike_of(is_array, args)
            self.__call__ = self._checked[key] = ready.checked(texts, key, others, alike)

    def bind(self, *args: Any) -> Callable[..., Any]:
        """The kernel on these arguments, as a function.

        Called without arguments it runs on these, in the memory that they have now, which it keeps
        from being freed; nothing is left to check. Called with arguments it is the kernel. Raises
        as a call does.
        """
        return self.ready(args).bound(args, self)

    def ready(self, args: Sequence[Any]) -> Ready:
        """What launches arguments like these, which are checked; raises as a call."""
        try:
            prepared = self.binder.prepare(args)
        except TileError as error:
            raise error.at(here()) from error.__cause__
        if not prepared.fits and self._compile_plain is not None:
            return self.plain.ready(args)
        prepare = getattr(self._launch, "prepare", None)
        if prepare is None or prepared.index is None:
            return Ready(prepared, self._launch, prepared.dims, self._odd(prepared))
        launch = prepare(prepared.index, prepared.dims, prepared.library)
        return Ready(prepared, launch, (), self._odd(prepared))

    def _odd(self, prepared: Prepared) -> Callable[..., Any]:
        """What takes arguments whose addresses are not aligned."""

        def run(*args: Any) -> Any:
            if self._compile_plain is None:
                for slot in (s for s in prepared.slots if s.at < len(args)):
                    slot.check(args)
            return self.plain(*args)

        return run

    @functools.cached_property
    def plain(self) -> JITKernel:
        """The variant for any address and any distance of rows; compiled when first needed."""
        assert self._compile_plain is not None  # asked by those who know that there is one
        if self._frozen:
            raise not_built(self.function, "plain", (str(self.variant_decision().reason),))
        return self._compile_plain()

    @property
    def has_plain(self) -> bool:
        """Whether there is a variant for any address and distance of rows beside this one."""
        return self._compile_plain is not None

    @property
    def is_frozen(self) -> bool:
        """Whether nothing is built from now on."""
        return self._frozen

    def freeze(self) -> JITKernel:
        """Build nothing from now on: a call that needs the plain variant raises E2404 unless that
        was built before (`kernel.plain`). Returns the kernel."""
        self._frozen = True
        return self

    def variants(self) -> Variants:
        """What was built of this kernel and why."""
        built = [self, *([self.__dict__["plain"]] if "plain" in self.__dict__ else [])]
        return Variants(tuple(row_of(kernel) for kernel in built))

    def export(self, path: str | Path, format: str = "so", **options: Any) -> Path:
        """Write this kernel as a library that runs without these packages: "c" for sources, "so"
        for a shared library with a C header, "wheel" for a Python package.

        The options are those of `tile_frontend.export.export`, which says what each form holds and
        what is raised; `also=` has further kernels of the same parameters.
        """
        from tile_frontend.export import export  # who runs kernels need not load it

        return export([self, *options.pop("also", ())], path, format, **options)

    # -- what it is

    @property
    def ir(self) -> str:
        """The tile program as text; `print(kernel.ir)` shows it."""
        return print_function(self.function)

    @property
    def plan(self) -> Plan:
        """Every decision of the compiler, and for which arguments they were taken."""
        plan = self.compiled.artifact.plan
        return plan.decide(self.variant_decision()) if self.compiled.artifact.alignments else plan

    def variant_decision(self) -> Decision:
        """Which variant this kernel is: for aligned arguments, or the plain one for all others."""
        key = f"{self.function.name}.variant"
        if self._compile_plain is None:
            return Decision(key=key, value="plain", reason="for any address and distance of rows")
        demands = zip(self.binder.function.params, self.binder.alignments, strict=True)
        parts = [f"{p.name} at a multiple of {n} bytes" for p, n in demands if n > 1]
        parts += [
            f"rows of {name} a multiple of {n} apart" for name, n in self.binder.pitches.items()
        ]
        other = Candidate("plain", None, "any address and distance of rows; made when needed")
        return Decision(key=key, value="aligned", reason=", ".join(parts), candidates=(other,))

    @property
    def params(self) -> tuple[Param, ...]:
        """The parameters of the program, outputs included."""
        return self.function.params

    @property
    def out_idx(self) -> list[int]:
        """Positions of the outputs among the parameters."""
        names = [p.name for p in self.function.params]
        return [names.index(r) for r in self.function.results]

    @property
    def kernel_source(self) -> str:
        """The generated source."""
        return self.compiled.artifact.source

    def get_kernel_source(self, kernel_only: bool = True) -> str:
        """The generated source. One text holds the kernels and their host entry."""
        return self.compiled.artifact.source

    def get_host_source(self) -> str:
        """The generated source; see `get_kernel_source`."""
        return self.compiled.artifact.source

    @property
    def source_path(self) -> Path:
        """The file that holds the generated source."""
        return self.compiled.source_path

    @property
    def timings(self) -> Mapping[str, float]:
        """Seconds of each step that made this kernel."""
        return self.compiled.seconds

    def show_source(self, which: str = "kernel") -> None:
        """Print the generated source."""
        print(self.kernel_source)

    def export_sources(self, kernel_path: str | None = None, host_path: str | None = None) -> None:
        """Write the generated source to a file."""
        for path in (kernel_path, host_path):
            if path is not None:
                Path(path).write_text(self.kernel_source, "utf-8")

    def explain(self, key: str | None = None, *, why: bool = False) -> str:
        """Print the log of decisions (those whose key starts with `key`), and return it.

        With `why` also what the planner leaves unsaid of copies: of each engine that does not carry
        one the reason, and how many bytes a thread moves at once and what forbids more. That runs
        the passes once more.
        """
        text = explain_text(self.reasons() if why else self.plan, key)
        print(text)
        return text

    def reasons(self) -> Plan:
        """The plan with what `explain(why=True)` adds; nothing of it can be pinned."""
        from tile_passes.base import PassContext
        from tile_passes.plan.why_not import reasons_of

        cx = PassContext(target=self.target.spec, pins=self.made_with[0] or {})
        return reasons_of(self.plan, self.function, driver.pipeline_of(self.target), cx)

    def numerics(self, *args: Any) -> Accuracy:
        """Call the kernel, and say how far what it gives and writes is from the same program in
        float64: for each output a histogram in units in the last place with the worst element, and
        whether the order of threads shows in the bits. Print it, or take `to_json()`.

        Costs what the oracle takes, seconds for 100,000 elements. Raises TileError as a call does,
        and E0519 for a program that reads the bits of floats.
        """
        from tile_frontend.numerics import numerics  # a kernel runs without the oracle

        return numerics(self, args)

    def predict(
        self, dims: Mapping[str, int] | None = None, contents: Mapping[str, int] | None = None
    ) -> Prediction:
        """What the performance model says of this kernel: seconds by term, what bounds it, and a
        timeline. Needs no device.

        `dims`: symbolic dimensions by name (4096 where missing); `contents`: the value that an
        integer array holds, where loops depend on it.
        """
        from tile_frontend.report.program import predicted  # the model is not needed to run

        return predicted(self, dims=dims, contents=contents)

    def report(self, path: str | Path, **options: Any) -> Path:
        """Write a page about this kernel (HTML, nothing else needed to read it): where its time
        goes, timeline, roofline, shared memory, layouts, source, decisions, passes. No device is
        needed.

        The options are those of `tile_frontend.report.page.page`: `dims`, `contents`, `measured` (a
        time in seconds) and `landscape` (the picture of a tuning run). Returns the path.
        """
        from tile_frontend.report.page import write

        return write(self, path, **options)

    def _repr_html_(self) -> str:
        """A notebook's view: the prediction in short."""
        from tile_frontend.report.page import summary

        return summary(self)

    def counters(self) -> dict[str, dict[str, Any]]:
        """What the last call counted, by kernel: bytes by memory space, bank conflicts, coalescing,
        instructions, barriers. README of tile-cpu says what each number is.

        Raises TileError E2312 where the emulator did not run this kernel.
        """
        counted: dict[str, dict[str, Any]] = getattr(self._launch, "counters", {})
        if not counted:
            why = "was not called" if hasattr(self._launch, "counters") else "runs on a device"
            raise TileError(
                "E2312",
                f"{self.function.name} {why}: nothing was counted",
                here(),
                help='Compile with device="emulator", call the kernel, and ask then.',
            )
        return counted

    def get_profiler(self, tensor_supply_type: Any = None) -> Any:
        """A `Profiler` that makes inputs and measures."""
        from tile_frontend.profiler import Profiler  # measuring needs numpy, calling does not

        return Profiler(self, tensor_supply_type)

    def __repr__(self) -> str:
        names = ", ".join(p.name for p in self.function.params)
        return f"<kernel {self.function.name}({names}) for {self.target}>"


MOST_SHAPES = 4096
"""Combinations of types and shapes remembered for each kernel; beyond it all are forgotten."""

_MOST_LIBRARIES = 4
"""Kinds of keys tried one after the other: combinations of array libraries among the arguments."""
