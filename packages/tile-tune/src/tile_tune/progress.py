"""What a search shows while it runs: a live line with rich where there is a terminal, plain lines
without it, or nothing."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from typing import IO, TYPE_CHECKING, Any, Protocol

from tile_ir.diag import TileError

if TYPE_CHECKING:
    from tile_tune.report import Result
    from tile_tune.trial import Trial

__all__ = ["Plain", "Progress", "Silent", "progress_named"]


class Progress(Protocol):
    """Told of a search as it goes."""

    def begin(self, name: str, total: int) -> None:
        """A search over at most `total` candidates begins."""

    def changed(self, trial: Trial, best_ms: float, done: int) -> None:
        """A candidate has an outcome, or more timings; `done` candidates have one."""

    def end(self, result: Result | None) -> None:
        """It is over; None when it failed."""


class Silent:
    """Shows nothing."""

    def begin(self, name: str, total: int) -> None: ...

    def changed(self, trial: Trial, best_ms: float, done: int) -> None: ...

    def end(self, result: Result | None) -> None: ...


class Plain:
    """A line for every new best and every failure, and the table at the end."""

    def __init__(self, stream: IO[str] | None = None) -> None:
        self.stream = stream or sys.stderr
        self.total = 0
        self.best = float("inf")

    def begin(self, name: str, total: int) -> None:
        self.total, self.best = total, float("inf")
        self._print(f"tuning {name}: at most {total} candidates")

    def changed(self, trial: Trial, best_ms: float, done: int) -> None:
        if not trial.is_measured:
            self._print(f"[{done}/{self.total}] {trial.status}: {trial.configuration}")
        elif trial.median < self.best:
            self.best = trial.median
            self._print(f"[{done}/{self.total}] {trial.median:.4g} ms: {trial.configuration}")

    def end(self, result: Result | None) -> None:
        if result is not None:
            self._print(result.table())

    def _print(self, text: str) -> None:
        print(text, file=self.stream, flush=True)


class Rich:
    """A bar with the best so far, and the table at the end. Needs rich."""

    def __init__(self, stream: IO[str] | None = None) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
        from rich.progress import Progress as Bar

        self.console = Console(file=stream or sys.stderr)
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
        self.bar = Bar(*columns, TimeElapsedColumn(), console=self.console, transient=True)
        self.name = ""
        self.failures = 0
        self.task: Any = None

    def begin(self, name: str, total: int) -> None:
        self.name, self.failures = name, 0
        self.task = self.bar.add_task(name, total=total)
        self.bar.start()

    def changed(self, trial: Trial, best_ms: float, done: int) -> None:
        self.failures += not trial.is_measured
        text = f"{self.name}: best {best_ms:.4g} ms, {self.failures} without times"
        self.bar.update(self.task, completed=done, description=text)

    def end(self, result: Result | None) -> None:
        self.bar.stop()
        if result is not None:
            self.console.print(result.table(), highlight=False, markup=False, soft_wrap=True)


def progress_named(chosen: str | Progress | None) -> Progress:
    """The progress that a value means: "rich", "plain", "silent", an object, or None for rich on a
    terminal and nothing elsewhere.

    Raises `TileError` E2205 for another text, E2212 for "rich" where it is not installed.
    """
    if chosen is None:
        shown = sys.stderr.isatty()
        chosen = "silent" if not shown else "rich" if find_spec("rich") else "plain"
    if not isinstance(chosen, str):
        return chosen
    if chosen == "rich" and find_spec("rich") is None:
        fix = 'pip install "tile-tune[progress]", or progress="plain"'
        raise TileError("E2212", "rich is not installed", help=fix)
    known = {"rich": Rich, "plain": Plain, "silent": Silent}
    if chosen not in known:
        raise TileError("E2205", f"progress={chosen!r}", help=f"it is one of {', '.join(known)}")
    made: Progress = known[chosen]()
    return made
