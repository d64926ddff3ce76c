"""Asynchronous matrix instructions of a warpgroup: every type, with operands of every major axis
and swizzle in shared memory, and A in registers. The programs are written in one thread's terms.
"""

from functools import cache
from pathlib import Path

import numpy as np
import pytest

from tile_cuda import spec
from tile_cuda.driver import emit
from tile_cuda.intrinsics.matrix import wgmma_wrapper
from tile_ir.layout import parse_layout
from tile_ir.numerics.array import convert_array, to_numpy_dtype
from tile_ir.testing.by_path import module_at
from tile_ir.types import dtype, f32

PROGRAMS = Path(__file__).parents[2] / "packages" / "tile-cuda" / "tests" / "test_hopper_device.py"
HOPPER = module_at(PROGRAMS)

WIDTHS = (8, 24, 48, 96, 192)
"""Columns of B besides the powers of two."""
CASES = [
    *HOPPER.CASES,
    *((a, n, 128, "k", "k", "shared") for a in HOPPER.ATOMS for n in WIDTHS if n in a.widths()),
]
EIGHT_BITS = 2.0**-10
FULL = 2.0**-21
"""Error of a sum of general values as a part of the sum of their magnitudes: sums of products of
8-bit floats keep fewer digits than f32 has."""


def name_of(case):
    return "-".join(str(getattr(part, "name", part)) for part in case)


def given(case, rng, general=False):
    """Program, operands as they are passed, and the matrices that they stand for."""
    atom, n, _, a_major, b_major, home = case
    fn, k = HOPPER.product(*case)
    a, b = (elements(dtype(atom.a.dtype), shape, rng, general) for shape in ((64, k), (k, n)))
    passed = a if a_major == "k" else a.T
    if home == "register":
        rows, depths = places_in_a(atom.layout("a"))
        passed = a.reshape(64, -1, atom.k).swapaxes(0, 1)[:, rows, depths]
    return fn, (passed, b.T if b_major == "k" else b), (a, b)


@cache
def places_in_a(text):
    """Rows and depths of A's elements, for each thread and value."""
    layout = parse_layout(text)
    places = np.empty((2, 128, layout.values), np.int64)
    for t, v in np.ndindex(*places.shape[1:]):
        at = dict(zip(layout.outputs, layout.coord(t, v), strict=True))
        places[:, t, v] = at["m"], at["k"]
    return places


def elements(dt, shape, rng, general):
    """Any integer; of floats, general values or such that sums are exact in any order."""
    if dt.is_int:
        return rng.randint(-(1 << dt.bits - 1), 1 << dt.bits - 1, shape).astype(to_numpy_dtype(dt))
    most, scale = (8, 0.5) if dt.bits > 8 else (4, 1.0)
    x = rng.standard_normal(shape) if general else rng.randint(-most, most + 1, shape) * scale
    return convert_array(x.astype(np.float32), f32, dt)


def run(launch, case, fn, operands):
    made = emit(fn, spec.load("sm_90a"))
    c = np.zeros((64, case[1]), to_numpy_dtype(dtype(case[0].accumulator.dtype)))
    (out,) = launch(made.source, operands, [c], host=made.host, complete=True)
    return out


@pytest.mark.parametrize("case", CASES, ids=name_of)
def test_products(agree, rng, case):
    fn, operands, (a, b) = given(case, rng)
    out = run(agree, case, fn, operands)
    assert np.array_equal(out, a.astype(np.float64) @ b.astype(np.float64))


@pytest.mark.parametrize("case", HOPPER.CASES[::12], ids=name_of)
def test_products_of_general_values(launch, rng, case):
    """Within the stated error of the sum in f64, on both machines; not bit for bit."""
    fn, operands, matrices = given(case, rng, general=True)
    out = run(launch, case, fn, operands)
    a, b = (m.astype(np.float64) for m in matrices)
    kind = dtype(case[0].a.dtype)
    allowed = 0 if kind.is_int else FULL if kind.bits > 8 else EIGHT_BITS
    assert np.all(np.abs(out - a @ b) <= allowed * (np.abs(a) @ np.abs(b)))


LONG = """
extern "C" __global__ void __launch_bounds__(128) k(const int *x, int *out) {
  __shared__ alignas(1024) int s[512 + 128];
  int t = threadIdx.x, c[8] = {};
  for (int i = t; i < 512 + 128; i += 128) s[i] = x[i];
  tile_fence_async();
  __syncthreads();
  const unsigned long long a = tile_descriptor<0>(s, 128, 256);
  const unsigned long long b = tile_descriptor<0>(s + 512, 128, 256);
  tile_wgmma_fence();
  for (int i = 0; i < 1500; i++) WRAPPER(c, a, b, i != 0);
  tile_wgmma_commit();
  tile_wgmma_wait<0>();
  tile_settle<8>(c);
  for (int i = 0; i < 8; i++) out[8 * t + i] = c[i];
}
"""


def test_long_sums_of_integers(agree, rng):
    """Sums that have more digits than a float, at any place of operands and results."""
    (atom,) = (a for a in HOPPER.ATOMS if a.a.dtype == "i8")
    wrapper, text = wgmma_wrapper(atom, 16, "ss")
    x = rng.randint(90, 128, 4 * (512 + 128)).astype(np.int8)
    (out,) = agree(
        LONG.replace("WRAPPER", wrapper),
        [x],
        [np.zeros(1024, np.int32)],
        threads=128,
        own={wrapper: text},
    )
    assert out.min() > 1500 * 32 * 90**2
    assert np.count_nonzero(out.astype(np.float32).astype(np.int64) != out) > 100
