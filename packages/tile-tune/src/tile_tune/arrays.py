"""What trials do with arrays of any library: keep, restore, poison, compare."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["difference", "keep", "library_of", "listed", "poison", "randomize", "restore", "same"]

TOLERANCE = {8: 1e-9, 4: 1e-3, 2: 2e-2, 1: 0.15}
"""Bytes of a floating-point element -> the difference from the reference that reordered sums may
make, relative to the value and to the largest value of the array."""


def library_of(x: Any) -> str:
    """The name of the array's library."""
    return type(x).__module__.partition(".")[0]


def listed(outputs: Any) -> list[Any]:
    """Outputs as a list, which a function may return one, several or none of."""
    if outputs is None:
        return []
    return list(outputs) if isinstance(outputs, (list, tuple)) else [outputs]


def keep(x: Any) -> Any:
    """A copy of an array; any other argument as it is."""
    return x.clone() if library_of(x) == "torch" else x.copy() if hasattr(x, "copy") else x


def restore(x: Any, kept: Any) -> None:
    """Give an array the contents that `keep` copied."""
    if library_of(x) == "torch":
        x.copy_(kept)
    elif hasattr(x, "shape"):
        x[...] = kept


def poison(x: Any) -> None:
    """Fill an array with what no right result is: NaN, or the largest integer."""
    is_float = x.dtype.is_floating_point if library_of(x) == "torch" else _is_float(x.dtype)
    value = float("nan") if is_float else 0x55
    if library_of(x) == "torch":
        x.fill_(value)
    else:
        x[...] = value


def randomize(x: Any, rng: np.random.Generator) -> None:
    """Fill an array with random numbers: floats in [-1, 1), small integers."""
    is_float = bool(_float_bytes(x))
    made = rng.uniform(-1, 1, tuple(x.shape)) if is_float else rng.integers(0, 3, tuple(x.shape))
    if library_of(x) == "torch":
        import torch

        x.copy_(torch.from_numpy(made))
    elif library_of(x) == "cupy":
        import cupy

        x[...] = cupy.asarray(made).astype(x.dtype)
    else:
        x[...] = made.astype(x.dtype)


def _is_float(dtype: Any) -> bool:
    # numpy calls the narrow floats of ml_dtypes void.
    return np.dtype(dtype).kind in "fV"


def same(x: Any, kept: Any) -> bool:
    """Whether an array still has the contents that were kept, bit for bit."""
    if library_of(x) == "torch":
        import torch

        return bool(torch.equal(_bits(x, torch), _bits(kept, torch)))
    return bool((x.view("u1") == kept.view("u1")).all()) if x.size and x.ndim else True


def _bits(x: Any, torch: Any) -> Any:
    return x.contiguous().view(torch.uint8) if x.dim() else x


def difference(ours: Any, expected: Any, tolerance: tuple[float, float] | None) -> str:
    """What is wrong with an output in one sentence; empty where nothing is.

    `tolerance` is (relative, absolute). By default integers must be equal, and floats within what
    the narrower of the two types allows.
    """
    a, b = _host(ours), _host(expected)
    if a.shape != b.shape:
        return f"it has shape {a.shape}, the reference {b.shape}"
    rtol, atol = tolerance or _default_tolerance(ours, expected, b)
    off = ~np.isclose(a, b, rtol=rtol, atol=atol, equal_nan=True)
    count = int(off.sum())
    if not count:
        return ""
    at = tuple(int(i) for i in np.argwhere(off)[0])
    where = f"at {list(at)} it is {a[at]:.6g}, expected {b[at]:.6g}"
    unwritten = "; it was not written" if np.isnan(a[at]) and not np.isnan(b[at]) else ""
    return f"{count} of {a.size} elements differ: {where}{unwritten}"


def _default_tolerance(ours: Any, expected: Any, values: Any) -> tuple[float, float]:
    sizes = [_float_bytes(x) for x in (ours, expected)]
    if not all(sizes):
        return 0.0, 0.0
    relative = TOLERANCE[min(8, *sizes)]
    finite = np.abs(values[np.isfinite(values)])
    return relative, relative * float(finite.max(initial=0.0))


def _float_bytes(x: Any) -> int:
    """Bytes of an element, 0 where it is no float."""
    if library_of(x) == "torch":
        return int(x.element_size()) if x.dtype.is_floating_point else 0
    dtype = np.asarray(x).dtype if not hasattr(x, "dtype") else x.dtype
    return int(np.dtype(dtype).itemsize) if _is_float(dtype) else 0


def _host(x: Any) -> Any:
    if library_of(x) == "torch":
        x = x.detach().double().cpu()
    return np.asarray(x.get() if hasattr(x, "get") else x, np.float64)
