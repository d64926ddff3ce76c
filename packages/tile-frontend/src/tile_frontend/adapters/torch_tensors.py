"""Tensors of torch. Gradients are not recorded: a kernel sees the data alone."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import torch

from tile_frontend.adapters.base import ArrayCode, ArrayInfo, packed_shape
from tile_frontend.adapters.huge_pages import advise_huge_pages
from tile_frontend.trace.element_types import LONG_NAMES
from tile_ir import types
from tile_ir.diag import TileError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tile_ir.types import DType


try:
    from torch._C._dynamo import guards as _guards
except ImportError:  # it is no part of torch's public interface
    _GUARDS: Any = None
else:
    _GUARDS = getattr(_guards, "TensorGuards", None)

_GUARDED = (torch.Tensor, torch.nn.Parameter)


def _unplaced(x: Any) -> int:
    """The address of a tensor that says it has none, as an empty one."""
    if x.numel():
        raise RuntimeError("a tensor without memory")
    return 0


# Without gaps, extents say all of the strides that matters, and need no tuple.
_LAID_OUT = "{0}.dtype, {0}.shape, {0}.is_contiguous() or {0}.stride(), {0}.is_neg()"
_PLACE = "{0}.data_ptr() or unplaced({0})"
_NAMES = {"unplaced": _unplaced}
_ALIKE = "{0}.data_ptr()"
_ON_DEVICE = ArrayCode(
    f"{_LAID_OUT}, {{0}}.get_device()", _PLACE, _NAMES, may_fail=True, alike=_ALIKE
)
_ON_HOST = ArrayCode(f"{_LAID_OUT}, {{0}}.device", _PLACE, _NAMES, may_fail=True, alike=_ALIKE)
"""What has no memory at all (a meta tensor) gives no number of a device either; tensors that stand
for others, as in torch.vmap and where torch traces, have no address, and are of other kinds to
torch's own comparison."""


class TorchAdapter:
    """torch.Tensor."""

    library = "torch"

    def describe(self, x: Any) -> Any:
        """Element type, extents, strides, device, and what else says how to read its memory."""
        if x.is_nested or x.layout is not torch.strided:  # some have no extents or no strides
            return (type(x), x.layout, x.is_nested)
        return (x.dtype, x.shape, x.stride(), x.device, x.is_neg())

    def obstacle(self, x: Any) -> str:
        """Why a kernel cannot read its memory."""
        if x.is_nested or x.layout is not torch.strided:
            return "it is sparse, nested or in a layout of its own: pass x.to_dense()"
        if x.is_neg():  # a view of imaginary parts: the memory holds the opposite numbers
            return "its numbers are negated when they are read: pass x.resolve_neg()"
        return ""

    def comparison(self, tensors: Sequence[Any]) -> Callable[..., bool] | None:
        """A function of as many tensors, true where each has the element type, extents, strides and
        device of the one given here; it holds none of them. False for some that have, such as one
        that wants gradients where the given one does not.

        It is what torch.compile guards its code with: one call for all tensors takes a quarter of
        the time of reading these properties one by one. None where this torch has no such thing.
        """
        if _GUARDS is None or not all(type(t) in _GUARDED for t in tensors):
            return None
        try:
            made = _GUARDS(*tensors, dynamic_dims_sizes=None, dynamic_dims_strides=None)
        except TypeError:
            return None
        compare: Callable[..., bool] = made.check
        return compare

    def inspect(self, x: Any) -> ArrayInfo:
        """Everything about the tensor but its data."""
        dtype, shape, place = types.dtype(x.dtype), tuple(x.shape), x.device
        return ArrayInfo(dtype, shape, tuple(x.stride()), place.type, True, place.index or 0)

    def address(self, x: Any) -> int:
        """The address of its first element. Raises TileError E2009 for a tensor without memory."""
        try:
            address: int = x.data_ptr() or _unplaced(x)
        except RuntimeError as error:
            raise _no_memory(x) from error
        return address

    def code(self, x: Any) -> ArrayCode:
        """The code for tensors where this one is."""
        return _ON_HOST if x.device.type == "cpu" else _ON_DEVICE

    def memory(self, x: Any) -> Any:
        """An alias of the tensor, which stays where it is when `set_` or `data` move that."""
        return x.detach()

    def maker(self, shape: tuple[int, ...], dtype: DType, device: str) -> Callable[[], Any]:
        """What makes new tensors; types narrower than a byte are stored packed, in bytes."""
        packed, place = dtype.storage_bits < 8, torch.device(device)
        shape = packed_shape(shape, dtype)
        found = torch.uint8 if packed else getattr(torch, LONG_NAMES[dtype.name], None)
        if found is None:
            raise TileError(
                "E2013", f"torch has no dtype for an output of {dtype}", help="return another type"
            )
        make = partial(torch.empty, shape, dtype=found, device=place)
        return partial(_on_host, make) if device == "cpu" else make


def _no_memory(x: Any) -> TileError:
    return TileError(
        "E2009",
        f"an argument is a {type(x).__name__} without memory of its own",
        notes=("such tensors stand for others while torch traces or maps a function",),
        help="make the kernel an operator of torch with tile.torch.op",
    )


def _on_host(make: Callable[[], Any]) -> Any:
    made = make()
    advise_huge_pages(made.data_ptr(), made.nbytes)
    return made


ADAPTER = TorchAdapter()
