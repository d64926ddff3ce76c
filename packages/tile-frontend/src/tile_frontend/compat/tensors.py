"""Functions on torch's tensors that tests of such programs use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch

__all__ = ["map_torch_type", "torch_assert_close"]


def map_torch_type(name: Any) -> torch.dtype:
    """torch's dtype of that name. Raises AttributeError for one that torch lacks."""
    import torch  # only programs that have torch call this

    found: torch.dtype = getattr(torch, str(name).removeprefix("torch."))
    return found


def torch_assert_close(
    tensor_a: Any,
    tensor_b: Any,
    rtol: float = 1e-2,
    atol: float = 1e-3,
    max_mismatched_ratio: float = 0.001,
    verbose: bool = False,
    equal_nan: bool = True,
    check_device: bool = True,
    check_dtype: bool = True,
    check_stride: bool = False,
    base_name: str = "LHS",
    ref_name: str = "RHS",
) -> bool:
    """Compare two tensors, element by element: |a - b| <= atol + rtol * |b|.

    Returns True. Raises AssertionError when more than a ratio of the elements differ by more, or
    where device, type or strides differ and are to be checked.
    """
    import torch  # only programs that have torch call this

    sides = f"{base_name} and {ref_name}"
    assert tensor_a.shape == tensor_b.shape, f"{sides}: {tensor_a.shape} and {tensor_b.shape}"
    if check_device:
        assert tensor_a.device == tensor_b.device, f"{sides} are on different devices"
    if check_dtype:
        assert tensor_a.dtype == tensor_b.dtype, f"{sides}: {tensor_a.dtype} and {tensor_b.dtype}"
    if check_stride:
        assert tensor_a.stride() == tensor_b.stride(), f"{sides} have different strides"
    a, b = (t.to(torch.float64).cpu() for t in (tensor_a, tensor_b))
    off = ~torch.isclose(a, b, rtol=rtol, atol=atol, equal_nan=equal_nan)
    ratio = off.double().mean().item() if off.numel() else 0.0
    if verbose:
        print(f"{int(off.sum())} of {off.numel()} elements of {sides} differ")
    assert ratio <= max_mismatched_ratio, (
        f"{ratio:.3%} of the elements of {sides} differ, "
        f"by up to {(a - b).abs().nan_to_num(torch.inf).max().item():.3g}"
    )
    return True
