"""Measuring kernels, and comparing them with a reference, on inputs made from their parameters."""

from __future__ import annotations

from statistics import mean, median
from typing import TYPE_CHECKING, Any

import numpy as np

from tile_frontend.compatibility import TensorSupplyType
from tile_frontend.supplies import supplied
from tile_frontend.timing import TIMERS, device_of, durations
from tile_ir.diag import TileError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tile_frontend.kernel import JITKernel

__all__ = ["Profiler", "do_bench"]

_MODES: dict[str, Callable[[Sequence[float]], float]] = {
    "mean": mean,
    "median": median,
    "min": min,
    "max": max,
}


def do_bench(
    fn: Callable[[], Any],
    warmup: float = 25,
    rep: float = 100,
    n_warmup: int = 0,
    n_repeat: int = 0,
    return_mode: str = "mean",
    device: str | None = None,
    quantiles: Sequence[float] | None = None,
    backend: str = "event",
    flush: bool = True,
) -> Any:
    """The time of one call of `fn`, in milliseconds: a float, or a list where `quantiles` are asked
    for.

    Args:
        fn: what to call.
        warmup, rep: milliseconds to spend on calls that do not count, and on calls that do.
        n_warmup, n_repeat: numbers of calls instead, where not 0.
        return_mode: mean, median, min or max of the calls.
        device: the kind of device that `fn` works on; None to see where its first result is.
        quantiles: give these quantiles of the calls instead, as a list.
        backend: "event": the device's time between two events; "graph": the device's time of many
            calls replayed as one graph, without the host's part; "wall": the host's clock until the
            device is idle. On a CPU all are the host's clock.
        flush: overwrite the device's last cache between calls (not within a graph).

    Raises `TileError` E1503 for an unknown mode or backend or a quantile outside 0 to 1, E2017
    where no array library has memory on the device.
    """
    _check(return_mode, backend, quantiles)
    left = n_warmup
    if device is None:
        device, left = device_of(fn()), n_warmup - 1
    if left or not n_warmup:
        durations(fn, warmup, max(left, 0), device, backend, flush)
    times = durations(fn, rep, n_repeat, device, backend, flush)
    if quantiles is not None:
        return [float(q) for q in np.quantile(times, list(quantiles))]
    return _MODES[return_mode](times)


def _check(return_mode: str, backend: str, quantiles: Sequence[float] | None) -> None:
    if return_mode not in _MODES:
        raise TileError("E1503", f"return_mode={return_mode!r}", help=f"{', '.join(_MODES)}")
    if backend not in TIMERS:
        raise TileError("E1503", f"backend={backend!r}", help=f"{', '.join(TIMERS)}")
    if quantiles is not None and not all(0 <= q <= 1 for q in quantiles):
        raise TileError("E1503", f"quantiles={quantiles!r}", help="each is from 0 to 1")


class Profiler:
    """Makes inputs for a kernel, times it, and compares it with a reference program.

    `supply` says how inputs are made; see `tile_frontend.supplies`.
    """

    def __init__(
        self, kernel: JITKernel, supply: TensorSupplyType | None = TensorSupplyType.Auto
    ) -> None:
        self.kernel = kernel
        self.supply = TensorSupplyType.Auto if supply is None else supply

    @property
    def func(self) -> JITKernel:
        """The kernel."""
        return self.kernel

    def __call__(self, *args: Any) -> Any:
        """Run the kernel."""
        return self.kernel(*args)

    def inputs(self, dims: Mapping[str, int] | None = None, seed: int = 42) -> list[Any]:
        """Random inputs; `dims` gives the T.dynamic dimensions.

        Raises `TileError` E2011 for a dimension that `dims` lacks.
        """
        known = dims or {}
        missing = [d.name for d in self.kernel.function.dims if d.name not in known]
        if missing:
            raise TileError(
                "E2011",
                f"the dimensions {', '.join(missing)} have no value",
                help="give them: dynamic_symbolic_constraints={'m': 1024}",
            )
        rng = np.random.default_rng(seed)
        device = self.kernel.target.device
        return [
            1 if p.buffer is None else supplied(rng, p.buffer, known, device, self.supply)
            for p in self.kernel.binder.inputs
        ]

    def run_once(self, func: Callable[..., Any] | None = None) -> Any:
        """Run the kernel (or `func`) once on fresh inputs."""
        return (func or self.kernel)(*self.inputs())

    def do_bench(
        self,
        func: Callable[..., Any] | None = None,
        warmup: float = 25,
        rep: float = 100,
        n_warmup: int = 0,
        n_repeat: int = 0,
        input_tensors: Sequence[Any] | None = None,
        backend: str = "event",
        quantiles: Sequence[float] | None = None,
        return_mode: str = "mean",
        dynamic_symbolic_constraints: Mapping[str, int] | None = None,
    ) -> Any:
        """The time of one launch (or of one call of `func`), in milliseconds; see `do_bench`."""
        args = (
            self.inputs(dynamic_symbolic_constraints)
            if input_tensors is None
            else list(input_tensors)
        )
        chosen, device = func or self.kernel, self.kernel.target.device
        return do_bench(
            lambda: chosen(*args),
            *(warmup, rep, n_warmup, n_repeat, return_mode, device),
            quantiles=quantiles,
            backend=backend,
        )

    def assert_allclose(
        self,
        reference_program: Callable[..., Any],
        input_tensors: Sequence[Any] | None = None,
        atol: float = 1e-2,
        rtol: float = 1e-2,
        max_mismatched_ratio: float = 0.01,
    ) -> None:
        """Compare the outputs with `reference_program` on the same inputs.

        Raises AssertionError when more than a ratio of elements differ by more than atol + rtol *
        |expected|.
        """
        args = self.inputs() if input_tensors is None else list(input_tensors)
        ours, theirs = self.kernel(*args), reference_program(*args)
        for i, (a, b) in enumerate(zip(_listed(ours), _listed(theirs), strict=True)):
            actual, expected = _as_doubles(a), _as_doubles(b)
            off = ~np.isclose(actual, expected, rtol=rtol, atol=atol, equal_nan=True)
            ratio = off.mean() if off.size else 0.0
            assert ratio <= max_mismatched_ratio, f"output {i}: {ratio:.2%} of the elements differ"

    def manual_assert_close(
        self,
        reference_program: Callable[..., Any],
        input_tensors: Sequence[Any] | None = None,
        manual_check_prog: Callable[[Any, Any], None] | None = None,
    ) -> None:
        """Have `manual_check_prog(ours, expected)` compare the outputs; it raises where they are
        wrong. Raises `TileError` E1503 without it."""
        if manual_check_prog is None:
            raise TileError("E1503", "manual_check_prog=None", help="pass what compares outputs")
        args = self.inputs() if input_tensors is None else list(input_tensors)
        manual_check_prog(self.kernel(*args), reference_program(*args))

    def assert_consistent(self, repeat: int = 10) -> None:
        """Run the kernel several times on the same inputs, as they were.

        Raises AssertionError where the outputs are not the same, bit for bit.
        """
        first: list[Any] | None = None
        for i in range(repeat):
            found = [np.copy(_as_doubles(x)) for x in _listed(self.kernel(*self.inputs()))]
            if first is not None:
                same = all(
                    np.array_equal(a, b, equal_nan=True) for a, b in zip(first, found, strict=True)
                )
                assert same, f"run {i} differs from the first"
            first = found


def _listed(outputs: Any) -> list[Any]:
    return list(outputs) if isinstance(outputs, (list, tuple)) else [outputs]


def _as_doubles(x: Any) -> Any:
    if hasattr(x, "double"):
        x = x.double().cpu()
    return np.asarray(x.get() if hasattr(x, "get") else x, np.float64)
