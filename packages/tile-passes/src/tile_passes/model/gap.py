"""A measured time beside the predicted one: how far they are apart, and the likely cause."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tile_passes.model.prediction import KernelPrediction, Prediction

__all__ = ["Gap", "gap"]

AGREES = 0.10
"""Within this part of the prediction nothing needs to be explained."""
SHORT_S = 20e-6
"""Below this the launch and how it was timed weigh as much as the kernel."""
TWICE = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """`ratio` is measured by predicted; `cause` says what to look at first."""

    predicted: float
    measured: float
    cause: str

    @property
    def agrees(self) -> bool:
        """Whether there is nothing to explain."""
        return abs(self.ratio - 1.0) <= AGREES

    @property
    def ratio(self) -> float:
        """Measured by predicted time."""
        return self.measured / self.predicted if self.predicted else 0.0


def gap(prediction: Prediction, measured: float, *, spilled: int = 0) -> Gap:
    """Compare a measured time in seconds with a prediction; `spilled` bytes are the compiler's
    count."""
    kernel = prediction.longest
    cause = "there is no kernel"
    if kernel is not None:
        ratio = measured / prediction.seconds if prediction.seconds else 1.0
        cause = _cause(kernel, ratio, measured, spilled)
    return Gap(predicted=prediction.seconds, measured=measured, cause=cause)


def _cause(kernel: KernelPrediction, ratio: float, measured: float, spilled: int) -> str:
    if abs(ratio - 1.0) <= AGREES:
        return f"they agree: {kernel.name} is bound by {kernel.bound}"
    if ratio < 1.0:
        return _faster(kernel, measured)
    if spilled:
        return f"{spilled} bytes of registers are spilled, which the model does not count"
    if measured < SHORT_S:
        return "the launch: at this length what surrounds the kernel was measured too"
    if ratio > TWICE and kernel.bound != "latency":
        return f"not {kernel.bound} alone: asynchronous work may run one after the other"
    return _SLOWER.get(kernel.bound, "something that is not in the model")


def _faster(kernel: KernelPrediction, measured: float) -> str:
    memory = kernel.device_bytes / kernel.device_rate if kernel.device_rate else 0.0
    if measured < memory:
        return "the inputs were in a cache already: less was read from the device's memory"
    return "more overlaps than the model has it, or fewer bytes come from the device's memory"


_SLOWER = {
    "matrix units": "a lower clock under load, or waits between matrix instructions",
    "vector units": "instructions beside the arithmetic: conversions, addresses, predicates",
    "shared memory": "bank conflicts of accesses whose layouts the model cannot compare",
    "shared cache": "reuse in the cache: blocks are further apart than one step of a wave",
    "device memory": "the memory's pages and channels are not used evenly, or more is read",
    "latency": "latency under load is longer than the description's",
    "launch": "how the launch was timed",
}
