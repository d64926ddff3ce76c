"""Pipelines are data: phases holding named passes with options, printable, parseable, and edited
rather than copied.

Text: `legalize: bounds, simplify{rounds=2}; plan: plan-tiles; expand: ...; lower: ...`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from tile_ir.diag import TileError
from tile_passes.base import PHASES, OptionValue, Pass


@dataclass(frozen=True, slots=True)
class Step:
    """A pass with the options of this use."""

    run: Pass
    options: tuple[tuple[str, OptionValue], ...] = ()

    def __str__(self) -> str:
        inner = ", ".join(f"{k}={_option_text(v)}" for k, v in self.options)
        return f"{self.run.name}{{{inner}}}" if inner else self.run.name


@dataclass(frozen=True, slots=True)
class Pipeline:
    """An ordered list of steps; each belongs to the phase of its pass."""

    steps: tuple[Step, ...] = ()

    def __str__(self) -> str:
        phases = ((phase, [str(s) for s in self.steps if s.run.phase == phase]) for phase in PHASES)
        return "; ".join(f"{phase}: {', '.join(names)}" for phase, names in phases if names)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the passes, in order."""
        return tuple(s.run.name for s in self.steps)

    def unmet(self) -> tuple[tuple[str, str], ...]:
        """The passes that require a fact which no pass before them ensures, each with the fact.

        A whole pipeline has none; a part, as the text of `tile-opt`, starts from a program that
        others have prepared.
        """
        known: set[str] = set()
        found: list[tuple[str, str]] = []
        for step in self.steps:
            found += [(step.run.name, fact) for fact in step.run.requires if fact not in known]
            known.update(step.run.ensures)
        return tuple(found)

    def _index(self, name: str) -> int:
        if name not in self.names:
            raise TileError(
                "E0602",
                f"no pass named '{name}' in the pipeline",
                notes=(f"it holds {', '.join(self.names)}",),
                help="name one of those as the anchor",
            )
        return self.names.index(name)

    def _insert(self, at: int, new: Pass, options: tuple[tuple[str, OptionValue], ...]) -> Pipeline:
        steps = (*self.steps[:at], Step(new, options), *self.steps[at:])
        order = [PHASES.index(s.run.phase) for s in steps]
        if order != sorted(order):
            raise TileError(
                "E0603",
                f"pass '{new.name}' of phase '{new.phase}' cannot stand there",
                notes=("phases run in the order " + ", ".join(PHASES),),
                help="anchor it at a pass of its own phase",
            )
        return Pipeline(steps)

    def before(self, anchor: str, new: Pass, **options: OptionValue) -> Pipeline:
        """The pipeline with `new` directly before the pass named `anchor`."""
        return self._insert(self._index(anchor), new, tuple(options.items()))

    def after(self, anchor: str, new: Pass, **options: OptionValue) -> Pipeline:
        """The pipeline with `new` directly after the pass named `anchor`."""
        return self._insert(self._index(anchor) + 1, new, tuple(options.items()))

    def replaced(self, name: str, new: Pass) -> Pipeline:
        """The pipeline with the pass `name` exchanged for `new`."""
        at = self._index(name)
        return Pipeline((*self.steps[:at], Step(new), *self.steps[at + 1 :]))

    def without(self, name: str) -> Pipeline:
        """The pipeline less the pass `name`."""
        at = self._index(name)
        return Pipeline((*self.steps[:at], *self.steps[at + 1 :]))

    def extended(self, *passes: Pass) -> Pipeline:
        """The pipeline with passes added, each at the end of its phase."""
        steps = sorted((*self.steps, *map(Step, passes)), key=lambda s: PHASES.index(s.run.phase))
        return Pipeline(tuple(steps))

    def until(self, name: str) -> Pipeline:
        """The steps up to and including pass `name`: what a reproducer replays."""
        return replace(self, steps=self.steps[: self._index(name) + 1])


_STEP = re.compile(r"\s*([a-z][a-z0-9-]*)\s*(?:\{([^}]*)\})?\s*(?:,|$)")


def parse_pipeline(text: str, passes: dict[str, Pass]) -> Pipeline:
    """Read a pipeline's text; the `phase:` labels may be left out, as in `bounds, simplify`.

    Raises:
        TileError: E0601 for text that is not a pipeline, E0602 for a pass that `passes` lacks.
    """
    steps: list[Step] = []
    for part in filter(str.strip, text.split(";")):
        body = part.split(":", 1)[1] if ":" in part.split("{", 1)[0] else part
        at = 0
        while at < len(body):
            found = _STEP.match(body, at)
            if not found:
                raise TileError(
                    "E0601",
                    f"not a pipeline: '{body[at:].strip()}'",
                    help="write names with commas between, options in braces: `a, b{key=value}`",
                )
            if found[1] not in passes:
                raise TileError(
                    "E0602",
                    f"no pass named '{found[1]}'",
                    notes=(f"known: {', '.join(sorted(passes))}",),
                    help="check the spelling, or install the distribution that provides it",
                )
            steps.append(Step(passes[found[1]], _parse_options(found[2] or "")))
            at = found.end()
    return Pipeline(tuple(steps))


def _option_text(value: OptionValue) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _parse_options(text: str) -> tuple[tuple[str, OptionValue], ...]:
    pairs = (item.split("=", 1) for item in text.split(",") if item.strip())
    return tuple(
        (p[0].strip(), _parse_value(p[1].strip() if len(p) > 1 else "true")) for p in pairs
    )


def _parse_value(text: str) -> OptionValue:
    if text in ("true", "false"):
        return text == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
