"""What the model says of a function: seconds by term, what bounds each kernel, and when its roles
and engines are busy."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tile_passes.model.machine import Span

__all__ = ["KernelPrediction", "Prediction", "Term"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Term:
    """One part of the machine or one loss: the seconds it alone would take, and how it is counted.

    Units work side by side, so terms do not add up to the whole; the largest one bounds it from
    below. `is_loss` marks time in which the bounding unit stands still.
    """

    name: str
    seconds: float
    detail: str
    is_loss: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelPrediction:
    """The model of one launch.

    `bound` names the term that decides; `waits` has seconds that groups of threads spend waiting,
    by cause; `spans` is the timeline of one core's first tiles in cycles of `clock_hz`;
    `flops` and `device_bytes` are those of the whole launch, for the roofline.
    """

    name: str
    seconds: float
    terms: tuple[Term, ...]
    bound: str
    reason: str
    blocks_per_core: int
    limiter: str
    tiles: int
    waves: float
    flops: float
    device_bytes: float
    peak_flops: float
    """Multiplications and additions a second of the whole device on the units that the kernel's
    products run on; on its vector units where it has none."""
    device_rate: float
    """Bytes a second of the device's memory."""
    clock_hz: float
    waits: Mapping[str, float] = field(default_factory=dict)
    spans: tuple[Span, ...] = ()
    tile_ends: tuple[float, ...] = ()
    """When the simulated block is done with each of its tiles, in cycles."""
    complete: bool = True
    """Whether the simulated program came to its end."""

    def term(self, name: str) -> Term:
        """The term of that name. Raises KeyError when there is none."""
        found = {t.name: t for t in self.terms}
        return found[name]


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """The launches of a function, one after the other; `seconds` is their sum. `assumed` says what
    the model had to take for granted."""

    name: str
    target: str
    kernels: tuple[KernelPrediction, ...]
    assumed: tuple[str, ...] = ()

    @property
    def seconds(self) -> float:
        """Of all launches."""
        return sum(k.seconds for k in self.kernels)

    @property
    def longest(self) -> KernelPrediction | None:
        """The launch that takes longest; None for a function without kernels."""
        return max(self.kernels, key=lambda k: k.seconds, default=None)

    def table(self) -> str:
        """The prediction as text: one line a kernel, then its terms."""
        lines = [f"{self.name} for {self.target}: {self.seconds * 1e6:.1f} us predicted"]
        for k in self.kernels:
            lines.append(f"{k.name}: {k.seconds * 1e6:.1f} us, bound by {k.bound}: {k.reason}")
            for t in k.terms:
                part = t.seconds / k.seconds if k.seconds else 0.0
                lines.append(f"  {t.name:18} {t.seconds * 1e6:10.2f} us {part:6.1%}  {t.detail}")
        return "\n".join([*lines, *(f"assumed: {a}" for a in self.assumed)])
