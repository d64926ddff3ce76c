"""What trials do with arrays of any library: keep, restore, poison, compare."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

__all__ = ["difference", "keep", "library_of", "listed", "poison", "randomize", "restore", "same"]

TOLERANCE = {8: 1e-9, 4: 1e-3, 2: 2e-2, 1: 0.15}
"""Bytes of a floating-point element -> the difference from the reference that reordered sums may
make, relative to the value and to the largest value of the array."""


PART = 1 << 26
"""Elements that are compared at once on a device."""


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
    if library_of(x) == "torch":
        _randomize_tensor(x, int(rng.integers(1 << 31)))
        return
    is_float = bool(_float_bytes(x))
    made = rng.uniform(-1, 1, tuple(x.shape)) if is_float else rng.integers(0, 3, tuple(x.shape))
    if library_of(x) == "cupy":
        import cupy

        x[...] = cupy.asarray(made).astype(x.dtype)
    else:
        x[...] = made.astype(x.dtype)


def _randomize_tensor(x: Any, seed: int) -> None:
    """On the tensor's own device: large ones would take longer to make and send than to tune."""
    import torch

    made = torch.empty(x.shape, dtype=torch.float32, device=x.device)
    generator = torch.Generator(x.device).manual_seed(seed)
    if x.dtype.is_floating_point:
        x.copy_(made.uniform_(-1, 1, generator=generator))
    else:
        x.copy_(made.random_(0, 3, generator=generator))


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
    if tuple(ours.shape) != tuple(expected.shape):
        return f"it has shape {tuple(ours.shape)}, the reference {tuple(expected.shape)}"
    if not prod(ours.shape):
        return ""
    if _on_one_device(ours, expected):
        found = _in_parts(ours.detach().reshape(-1), expected.detach().reshape(-1), tolerance)
    else:
        a, b = _host(ours), _host(expected)
        sizes = [_float_bytes(x) for x in (ours, expected)]
        rtol, atol = tolerance or _default_tolerance(sizes, _largest(b))
        off = ~np.isclose(a, b, rtol=rtol, atol=atol, equal_nan=True).reshape(-1)
        first = int(off.argmax())
        found = (int(off.sum()), first, a.reshape(-1)[first], b.reshape(-1)[first])
    count, first, got, wanted = found
    if not count:
        return ""
    shape = tuple(ours.shape)
    at = [int(i) for i in np.unravel_index(first, shape)]
    unwritten = "; it was not written" if np.isnan(got) and not np.isnan(wanted) else ""
    return (
        f"{count} of {prod(shape)} elements differ: "
        f"at {at} it is {got:.6g}, expected {wanted:.6g}{unwritten}"
    )


def _on_one_device(a: Any, b: Any) -> bool:
    """Whether both are tensors of one device that has the numbers of the comparison."""
    if {library_of(a), library_of(b)} != {"torch"} or a.device != b.device:
        return False
    return a.device.type == "cpu" or all(0 < _float_bytes(x) <= 4 for x in (a, b))


def _in_parts(
    ours: Any, expected: Any, tolerance: tuple[float, float] | None
) -> tuple[int, int, float, float]:
    """How many elements of two flat tensors differ, which is the first, and its two values.

    Where they are, for a large result takes seconds to the host, and in parts, for wider copies of
    all of it may not fit beside it.
    """
    import torch

    sizes = [_float_bytes(x) for x in (ours, expected)]
    wide = torch.float32 if all(0 < size <= 4 for size in sizes) else torch.float64
    if tolerance is None:
        finite = (b.to(wide).abs().nan_to_num(0.0, posinf=0.0) for b in expected.split(PART))
        tolerance = _default_tolerance(sizes, max(float(b.max()) for b in finite))
    count, first = 0, 0
    for number, (a, b) in enumerate(zip(ours.split(PART), expected.split(PART), strict=True)):
        near = torch.isclose(a.to(wide), b.to(wide), *tolerance, equal_nan=True)
        off = int(near.numel() - near.sum())
        if off and not count:
            first = number * PART + int(near.logical_not().nonzero()[0])
        count += off
    got, wanted = (float(x[first]) if count else 0.0 for x in (ours, expected))
    return count, first, got, wanted


def _default_tolerance(sizes: list[int], largest: float) -> tuple[float, float]:
    """By the bytes of the float elements (0: no float) and the largest finite value expected."""
    if not all(sizes):
        return 0.0, 0.0
    relative = TOLERANCE[min(8, *sizes)]
    return relative, relative * largest


def _largest(values: Any) -> float:
    return float(np.abs(values[np.isfinite(values)]).max(initial=0.0))


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
