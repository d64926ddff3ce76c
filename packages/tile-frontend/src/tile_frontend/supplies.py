"""Inputs made from a kernel's parameters, to measure it and to compare it with a reference."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from tile_frontend.adapters import adapter_on
from tile_frontend.adapters.base import packed_shape
from tile_frontend.compatibility import TensorSupplyType
from tile_frontend.dims import evaluate
from tile_frontend.trace.element_types import LONG_NAMES, numpy_dtype

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tile_ir.core import Buffer
    from tile_ir.types import DType

__all__ = ["fetched", "numbers", "placed", "supplied"]


def supplied(
    rng: np.random.Generator,
    buffer: Buffer,
    dims: Mapping[str, int],
    device: str,
    supply: TensorSupplyType = TensorSupplyType.Auto,
) -> Any:
    """An array for a parameter: a tensor of torch where the program has imported it (its reference
    will be written in it), else a numpy array; on an accelerator, of the library that has memory
    there.

    Auto: floats uniform in [-1, 1), integers from -2 to 2 (unsigned 0 to 2), truth values even.
    Integer: whole numbers from -2 to 2 in every type. Uniform: [-1, 1). Normal and Randn: standard
    normal. Zero and One: that number. Integer types round what is drawn toward zero.
    """
    shape = packed_shape(tuple(evaluate(e, dict(dims)) for e in buffer.shape), buffer.dtype)
    return placed(numbers(rng, shape, buffer.dtype, supply), buffer.dtype, device)


def numbers(
    rng: np.random.Generator, shape: tuple[int, ...], dtype: DType, supply: TensorSupplyType
) -> Any:
    """What `supplied` holds, in host memory."""
    kinds = TensorSupplyType
    if dtype.storage_bits < 8:  # two in a byte, whose halves are drawn together
        byte = {kinds.Zero: 0, kinds.One: 0x11}.get(supply)
        return rng.integers(0, 256, shape, np.uint8) if byte is None else np.full(shape, byte, "u1")
    kind = numpy_dtype(dtype)
    if supply in (kinds.Zero, kinds.One):
        return np.full(shape, supply is kinds.One).astype(kind)
    if dtype.is_bool:
        return rng.integers(0, 2, shape).astype(kind)
    low = -2 if dtype.is_float or dtype.is_signed else 0
    if supply is kinds.Integer or (supply is kinds.Auto and dtype.is_int):
        return rng.integers(low, 3, shape).astype(kind)
    if supply in (kinds.Normal, kinds.Randn):
        drawn = rng.standard_normal(shape)
        return (drawn if low else np.abs(drawn)).astype(kind)
    return rng.uniform(-1 if low else 0, 1, shape).astype(kind)


def placed(array: Any, dtype: DType, device: str) -> Any:
    """The array in the library that the program works with, on the kernel's device."""
    torch = sys.modules.get("torch")
    if torch is not None and (device == "cpu" or adapter_on(device).library == "torch"):
        return _as_torch(torch, array, dtype).to(device)
    return array if device == "cpu" else import_module("cupy").asarray(array)


def fetched(array: Any, dtype: DType) -> Any:
    """The numbers of an array of whichever library, in host memory: the other way round."""
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(array, torch.Tensor):
        host = array.detach().cpu().contiguous()
        if dtype.is_float and numpy_dtype(dtype).kind == "V":
            bits = host.view(torch.int16 if host.element_size() == 2 else torch.uint8)
            return bits.numpy().view(numpy_dtype(dtype))
        return host.numpy()
    return array.get() if hasattr(array, "get") else array


def _as_torch(torch: Any, array: Any, dtype: DType) -> Any:
    """The same numbers in a tensor; a type that numpy only knows through ml_dtypes goes by bits."""
    if dtype.is_float and array.dtype.kind == "V":
        bits = array.view(np.int16 if array.itemsize == 2 else np.uint8)
        return torch.from_numpy(bits).view(getattr(torch, LONG_NAMES[dtype.name]))
    return torch.from_numpy(array)
