"""Tensors of torch. Gradients are not recorded: a kernel sees the data alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from tile_frontend.adapters.base import ArrayInfo, packed_shape
from tile_frontend.adapters.huge_pages import advise_huge_pages
from tile_frontend.trace.element_types import LONG_NAMES
from tile_ir import types
from tile_ir.diag import TileError

if TYPE_CHECKING:
    from tile_ir.types import DType


class TorchAdapter:
    """torch.Tensor."""

    library = "torch"

    def describe(self, x: Any) -> Any:
        """Element type, extents, strides, device."""
        return (x.dtype, x.shape, x.stride(), x.device)

    def inspect(self, x: Any) -> ArrayInfo:
        """Everything about the tensor but its data."""
        return ArrayInfo(
            types.dtype(x.dtype), tuple(x.shape), tuple(x.stride()), x.device.type, True
        )

    def address(self, x: Any) -> int:
        """The address of its first element."""
        address: int = x.data_ptr()
        return address

    def empty(self, shape: tuple[int, ...], dtype: DType, device: str) -> Any:
        """A new tensor; types narrower than a byte are stored packed, in bytes."""
        if dtype.storage_bits < 8:
            return torch.empty(packed_shape(shape, dtype), dtype=torch.uint8, device=device)
        found = getattr(torch, LONG_NAMES[dtype.name], None)
        if found is None:
            raise TileError(
                "E2013", f"torch has no dtype for an output of {dtype}", help="return another type"
            )
        made = torch.empty(shape, dtype=found, device=device)
        if device == "cpu":
            advise_huge_pages(made.data_ptr(), made.nbytes)
        return made


ADAPTER = TorchAdapter()
