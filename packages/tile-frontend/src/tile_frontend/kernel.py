"""A compiled kernel: called with arrays, asked about its program, source and decisions."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tile_frontend.adapters import describe
from tile_frontend.bind import Binder, Prepared
from tile_frontend.report import explain as explain_text
from tile_frontend.trace.places import here
from tile_ir.diag import TileError
from tile_ir.text import print_function

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tile_frontend.driver import Compiled
    from tile_frontend.target_select import Target
    from tile_ir.core import Function, Param
    from tile_passes.plan.model import Plan


class JITKernel:
    """What `tile.compile` and `@tile.jit` return.

    Calling it takes the inputs in parameter order and gives the outputs: one array, a list of
    several, or None. Outputs are made by the library of the first array argument.
    """

    def __init__(self, function: Function, target: Target, compiled: Compiled) -> None:
        self.function = function
        self.target = target
        self.compiled = compiled
        self.binder = Binder(function, target.device)
        self._launch = compiled.launch
        self._prepared: dict[tuple[Any, ...], Prepared] = {}
        self._lock = threading.Lock()

    def __call__(self, *args: Any) -> Any:
        """Run the kernel. Raises `TileError` E2001 to E2012 for arguments that do not fit."""
        key = tuple([describe(a) for a in args])
        prepared = self._prepared.get(key)
        if prepared is None:
            prepared = self.prepare(args)
            with self._lock:
                if len(self._prepared) >= _MOST_SHAPES:
                    self._prepared.clear()
                self._prepared[key] = prepared
        return self.run(prepared, args)

    def run(self, prepared: Prepared, args: Sequence[Any]) -> Any:
        """Launch with arguments like those that `prepared` was made from."""
        if not prepared.outputs:
            self._launch(*[slot(args) for slot in prepared.slots])
            return None
        made = [make() for make in prepared.outputs]
        everything = (*args, *made)
        self._launch(*[slot(everything) for slot in prepared.slots])
        return made[0] if len(made) == 1 else made

    def prepare(self, args: Sequence[Any]) -> Prepared:
        """Check arguments; raises as `__call__`."""
        try:
            return self.binder.prepare(args)
        except TileError as error:
            raise error.at(here()) from error.__cause__

    # -- what it is

    @property
    def ir(self) -> str:
        """The tile program as text; `print(kernel.ir)` shows it."""
        return print_function(self.function)

    @property
    def plan(self) -> Plan:
        """Every decision of the compiler."""
        return self.compiled.artifact.plan

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

    def explain(self, key: str | None = None) -> str:
        """Print the log of decisions (those whose key starts with `key`), and return it."""
        text = explain_text(self.plan, key)
        print(text)
        return text

    def get_profiler(self, tensor_supply_type: Any = None) -> Any:
        """A `Profiler` that makes inputs and measures."""
        from tile_frontend.profiler import Profiler  # measuring needs numpy, calling does not

        return Profiler(self)

    def __repr__(self) -> str:
        names = ", ".join(p.name for p in self.function.params)
        return f"<kernel {self.function.name}({names}) for {self.target}>"


_MOST_SHAPES = 4096
"""Combinations of types and shapes remembered for each kernel; beyond it all are forgotten."""
