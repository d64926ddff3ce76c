"""One source for each program: every target computes what the oracle says, without a fault."""

import numpy as np

import tile_frontend as tile
from tile_ir.numerics.array import convert_array, to_numpy_dtype
from tile_ir.types import f32


def arguments(function, rng):
    """Random values for what a program takes; its last parameter is the result, of zeros."""
    made = []
    *inputs, result = (p.buffer for p in function.params)
    for buffer in inputs:
        shape, kind = [int(e.value) for e in buffer.shape], buffer.dtype
        if buffer.name == "lengths":
            made.append(np.array([80, 49], np.int32))
        elif kind.is_int:
            low, high = (0, 256) if kind.name == "u8" else (-8, 8)
            made.append(rng.integers(low, high, shape).astype(to_numpy_dtype(kind)))
        else:
            made.append(convert_array(rng.standard_normal(shape).astype(np.float32), f32, kind))
    shape = [int(e.value) for e in result.shape]
    return [*made, np.zeros(shape, to_numpy_dtype(result.dtype))]


def test_one_source(target, source, rng, oracle):
    name, func, tolerance = source
    function = func.function
    args = arguments(function, rng)
    want = oracle(name, function, args)
    device = None if target == "cpu" else "emulator"
    tile.compile(func, target=target, device=device)(*args)
    got, want = (np.asarray(x).astype(np.float64) for x in (args[-1], want))
    assert np.isfinite(want).all()
    assert np.ptp(want) > 0
    assert np.abs(got - want).max() <= tolerance * np.abs(want).max()
