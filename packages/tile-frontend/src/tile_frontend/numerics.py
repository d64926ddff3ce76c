"""How exact a kernel's results are: a call on given arguments beside the same program in
float64."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tile_frontend.supplies import fetched
from tile_ir.accuracy import Accuracy, accuracy
from tile_ir.numerics.array import to_numpy_dtype, unpack

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tile_frontend.kernel import JITKernel
    from tile_ir.types import DType

__all__ = ["beside_double", "numerics"]


def numerics(kernel: JITKernel, args: Sequence[Any]) -> Accuracy:
    """Call the kernel on the arguments and measure what it gives and writes.

    Raises TileError as the call does, and E0519 for a program that reads the bits of floats.
    """
    given = dict(zip((p.name for p in kernel.binder.inputs), args, strict=False))
    types = {p.name: p.buffer.dtype for p in kernel.params if p.buffer is not None}
    before = {n: fetched(v, types[n]).copy() if n in types else v for n, v in given.items()}
    out = kernel(*args)
    results = kernel.function.results
    listed = out if isinstance(out, (list, tuple)) else [out]
    after = {**given, **dict(zip(results, listed, strict=False))}
    got = {n: fetched(after[n], t) for n, t in types.items() if n in after}
    return beside_double(kernel, before, got)


def beside_double(
    kernel: JITKernel, before: Mapping[str, Any], after: Mapping[str, Any]
) -> Accuracy:
    """The report for arguments before a call, and what they and the results hold after it, by name
    in host memory."""
    types = {p.name: p.buffer.dtype for p in kernel.params if p.buffer is not None}
    args = {n: _values(v, types[n]) if n in types else v for n, v in before.items()}
    got = {n: _values(v, types[n]) for n, v in after.items()}
    return accuracy(kernel.function, args, got)


def _values(array: Any, dt: DType) -> Any:
    """An array of whichever library, fetched, in the container of its type; elements that share a
    byte apart."""
    if dt.storage_bits >= 8:
        return array.view(to_numpy_dtype(dt))
    *outer, last = array.shape
    return unpack(array.tobytes(), dt.scalar, (*outer, last * 8 // dt.storage_bits))
