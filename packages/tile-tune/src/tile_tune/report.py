"""What a search found, for people: the table, the line of code that hard-codes the winner, and what
cannot be told apart."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tile_tune.intervals import Interval, interval, ratio_interval
from tile_tune.searchers.base import best_first

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tile_tune.configuration import Configuration
    from tile_tune.trial import Trial

__all__ = ["Result", "hard_coded"]

ROWS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """The outcome of a search.

    `turns`: the timings (milliseconds) of the finalists, taken in turns, the winner's first.
    `checked`: what the values were compared with.
    """

    name: str
    trials: tuple[Trial, ...]
    turns: Mapping[Configuration, tuple[float, ...]]
    searcher: str
    seconds: float
    checked: str = "the reference"
    arguments: tuple[str, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def best(self) -> Configuration:
        """The winner."""
        return next(iter(self.turns))

    @property
    def interval(self) -> Interval:
        """The winner's median time in milliseconds, with its bounds."""
        return interval(self.turns[self.best])

    @property
    def ties(self) -> tuple[Configuration, ...]:
        """Finalists that are not distinguishable from the winner: the interval of their ratio,
        turn by turn, holds 1."""
        ours = self.turns[self.best]
        ratios = {c: ratio_interval(t, ours) for c, t in self.turns.items() if c != self.best and t}
        return tuple(c for c, r in ratios.items() if r.low <= 1 <= r.high)

    def counts(self) -> dict[str, int]:
        """Status -> number of trials."""
        return dict(Counter(t.status for t in self.trials))

    def code(self) -> str:
        """The line of code that calls the kernel with the winner."""
        return hard_coded(self.name, self.best, self.arguments, self.options)

    def table(self) -> str:
        """The finalists, the fastest of the others, and every kind of failure with one example.

        Ratios are of times of one kind: finalists were timed in turns, the others as trials.
        """
        lines = [f"{self.name}: {len(self.trials)} trials by {self.searcher}, {self.seconds:.1f} s"]
        ranked = best_first(self.trials)
        base = self.interval.median
        as_trial = next((t.median for t in ranked if t.configuration == self.best), base)
        finalists = [(c, interval(t), "", base) for c, t in self.turns.items()]
        others = [(t.configuration, t.interval, t.reason, as_trial) for t in ranked]
        others = [row for row in others if row[0] not in self.turns]
        for c, i, reason, base in [*finalists, *others][:ROWS]:
            mark = "best" if c == self.best else "tie" if c in self.ties else reason
            bounds = f"[{i.low:.4g}, {i.high:.4g}]"
            lines.append(f"  {i.median:9.4g} ms {bounds:22} {i.median / base:6.3f}x  {c}  {mark}")
        return "\n".join((*lines, *self._remarks()))

    def _remarks(self) -> list[str]:
        lines = []
        if self.ties:
            names = "; ".join(str(c) for c in self.ties)
            lines.append(f"  not distinguishable from the best: {names}")
        for status, count in sorted(self.counts().items()):
            if status != "measured":
                example = next(t for t in self.trials if t.status == status)
                lines.append(f"  {count} {status}: {example.configuration}: {example.reason}")
        lines += [f"  values were compared with {self.checked}", f"  {self.code()}"]
        return lines

    def landscape(self) -> str:
        """The trials as a picture (SVG): one panel for each axis, time against value."""
        from tile_tune.landscape import landscape

        return landscape(self.name, self.trials, self.best)


def hard_coded(
    name: str,
    best: Configuration,
    arguments: tuple[str, ...] = (),
    options: Mapping[str, Any] | None = None,
) -> str:
    """A call of the kernel `name` with a configuration; `arguments` are those that come before,
    `options` those of `tile.jit` that it was decorated with."""
    words = [*arguments, *(f"{n}={v!r}" for n, v in best.parameters)]
    if not best.pins:
        return f"{name}({', '.join(words)})"
    given = ", ".join(f"{n}={v!r}" for n, v in {"plan": best.plan, **(options or {})}.items())
    return f"tile.jit({given})({name}.fn)({', '.join(words)})"
