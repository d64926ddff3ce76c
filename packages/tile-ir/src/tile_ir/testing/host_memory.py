"""Calling an entry that takes memory of this process: the plain convention of targets that run on
the host.

Arguments are, in the order of the parameters, the address of each buffer or the value of each
scalar, then the symbolic dimensions. Buffers are contiguous, 4-bit types packed two to a byte.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tile_ir.interp.bind import equations, solve, written
from tile_ir.interp.runner import evaluate
from tile_ir.interp.storage import array_shape, poison_value
from tile_ir.numerics.array import pack, to_numpy_dtype, unpack

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tile_ir.core import Buffer, Function

__all__ = ["call_on_host"]

Array = np.ndarray[Any, np.dtype[Any]]


def dimensions(fn: Function, args: Mapping[str, Any]) -> dict[str, int]:
    """The value of each symbolic dimension, from shapes and strides, or as given by name."""
    known = {d.name: int(args[d.name]) for d in fn.dims if d.name in args}
    arrays = {k: v for k, v in args.items() if isinstance(v, np.ndarray)}
    solve(equations(fn, arrays), known)
    return known


def _image(p: Buffer, args: Mapping[str, Any], dims: Mapping[str, int], fn: Function) -> Array:
    given = args.get(p.name)
    if given is None:
        shape = array_shape([evaluate(fn, e, dims) for e in p.shape], p.dtype)
        given = np.full(shape, poison_value(p.dtype), to_numpy_dtype(p.dtype))
    return pack(given, p.dtype.scalar)


def call_on_host(
    launch: Callable[..., Any], fn: Function, args: Mapping[str, Any]
) -> dict[str, Array]:
    """Call `launch` with copies of `args` (by name, in containers); the results and buffers that
    `fn` writes.

    Results left out start as poison, so that an element nobody wrote shows. A `launch` whose
    attribute `arguments` is "arrays" gets the arrays themselves in place of their addresses.
    """
    by_address = getattr(launch, "arguments", "") != "arrays"
    dims = dimensions(fn, args)
    images: dict[str, Array] = {}
    slots: list[Any] = []
    for p in fn.params:
        if p.buffer is None:
            slots.append(args[p.name])
            continue
        images[p.name] = _image(p.buffer, args, dims, fn)
        image = images[p.name]
        slots.append(image.ctypes.data if by_address else image)
    launch(*slots, *(dims[d.name] for d in fn.dims))
    changed = written(fn) | set(fn.results)
    return {
        p.name: _array(fn, p.buffer, images[p.name], dims)
        for p in fn.params
        if p.buffer is not None and p.name in changed
    }


def _array(fn: Function, p: Buffer, image: Array, dims: Mapping[str, int]) -> Array:
    shape = array_shape([evaluate(fn, e, dims) for e in p.shape], p.dtype)
    return unpack(image, p.dtype.scalar, shape)
