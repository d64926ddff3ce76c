"""Measuring kernels, and comparing them with a reference, on inputs made from their parameters."""

from __future__ import annotations

import sys
from importlib import import_module
from statistics import mean, median
from typing import TYPE_CHECKING, Any

import numpy as np

from tile_frontend.adapters import adapter_on
from tile_frontend.adapters.base import packed_shape
from tile_frontend.dims import evaluate
from tile_frontend.timing import device_of, durations
from tile_frontend.trace.element_types import LONG_NAMES, numpy_dtype
from tile_ir.diag import TileError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tile_frontend.kernel import JITKernel
    from tile_ir.core import Buffer
    from tile_ir.types import DType

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
) -> float:
    """The time of one call of `fn`, in milliseconds.

    On an accelerator it is the device's time, with a cold cache.

    Args:
        fn: what to call.
        warmup, rep: milliseconds to spend on calls that do not count, and on calls that do.
        n_warmup, n_repeat: numbers of calls instead, where not 0.
        return_mode: mean, median, min or max of the calls.
        device: the kind of device that `fn` works on; None to see where its first result is.

    Raises `TileError` E1503 for an unknown mode, E2017 where no array library has memory there.
    """
    if return_mode not in _MODES:
        raise TileError("E1503", f"return_mode={return_mode!r}", help=f"{', '.join(_MODES)}")
    left = n_warmup
    if device is None:
        device, left = device_of(fn()), n_warmup - 1
    if left or not n_warmup:
        durations(fn, warmup, max(left, 0), device)
    return _MODES[return_mode](durations(fn, rep, n_repeat, device))


class Profiler:
    """Makes inputs for a kernel, times it, and compares it with a reference program."""

    def __init__(self, kernel: JITKernel) -> None:
        self.kernel = kernel

    @property
    def func(self) -> JITKernel:
        """The kernel."""
        return self.kernel

    def __call__(self, *args: Any) -> Any:
        """Run the kernel."""
        return self.kernel(*args)

    def inputs(self, dims: dict[str, int] | None = None, seed: int = 42) -> list[Any]:
        """Random inputs; `dims` gives the T.dynamic dimensions. They are torch tensors where the
        program has imported torch (its reference will be written in it), else numpy arrays; on an
        accelerator, of the library that has memory there.

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
        made: list[Any] = []
        for param in self.kernel.binder.inputs:
            if param.buffer is None:
                made.append(1)
                continue
            array = _random(rng, param.buffer, known)
            made.append(_placed(array, param.buffer.dtype, device))
        return made

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
        return_mode: str = "mean",
        dynamic_symbolic_constraints: dict[str, int] | None = None,
    ) -> float:
        """The time of one launch (or of one call of `func`), in milliseconds; see `do_bench`."""
        args = (
            self.inputs(dynamic_symbolic_constraints)
            if input_tensors is None
            else list(input_tensors)
        )
        chosen, device = func or self.kernel, self.kernel.target.device
        return do_bench(lambda: chosen(*args), warmup, rep, n_warmup, n_repeat, return_mode, device)

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


def _placed(array: Any, dtype: DType, device: str) -> Any:
    """The array in the library that the program works with, on the kernel's device."""
    torch = sys.modules.get("torch")
    if torch is not None and (device == "cpu" or adapter_on(device).library == "torch"):
        return _as_torch(torch, array, dtype).to(device)
    return array if device == "cpu" else import_module("cupy").asarray(array)


def _as_torch(torch: Any, array: Any, dtype: DType) -> Any:
    """The same numbers in a tensor; a type that numpy only knows through ml_dtypes goes by bits."""
    if dtype.is_float and array.dtype.kind == "V":
        bits = array.view(np.int16 if array.itemsize == 2 else np.uint8)
        return torch.from_numpy(bits).view(getattr(torch, LONG_NAMES[dtype.name]))
    return torch.from_numpy(array)


def _listed(outputs: Any) -> list[Any]:
    return list(outputs) if isinstance(outputs, (list, tuple)) else [outputs]


def _as_doubles(x: Any) -> Any:
    if hasattr(x, "double"):
        x = x.double().cpu()
    return np.asarray(x.get() if hasattr(x, "get") else x, np.float64)


def _random(rng: np.random.Generator, buffer: Buffer, dims: dict[str, int]) -> Any:
    shape = tuple(evaluate(e, dims) for e in buffer.shape)
    return _numbers(rng, packed_shape(shape, buffer.dtype), buffer.dtype)


def _numbers(rng: np.random.Generator, shape: tuple[int, ...], dtype: DType) -> Any:
    if dtype.storage_bits < 8:
        return rng.integers(0, 256, shape, np.uint8)
    kind = numpy_dtype(dtype)
    if dtype.is_bool:
        return rng.integers(0, 2, shape).astype(kind)
    if dtype.is_int:
        low = -2 if dtype.is_signed else 0
        return rng.integers(low, 3, shape).astype(kind)
    return rng.uniform(-1, 1, shape).astype(kind)
