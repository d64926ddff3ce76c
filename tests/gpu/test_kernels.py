"""Kernels on a GPU through the public interface, against float64: every awkward size, every type.

Run with `pytest -m gpu tests/gpu`.
"""

import random
from itertools import product

import pytest

import tile_frontend.language as T

pytestmark = pytest.mark.gpu

SIZES = (1, 7, 64, 65, 127, 129, 1000)
SHAPES = sorted(random.Random(1).sample(sorted(product(SIZES, repeat=3)), 40))
FEW = [(1, 1, 1), (7, 1000, 65), (64, 64, 64), (65, 127, 129), (129, 64, 7), (1000, 129, 1000)]
TOLERANCE = {"float16": 1e-3, "bfloat16": 8e-3, "float32": 1e-5, "float64": 1e-13}
FLOATS = tuple(TOLERANCE)
INTEGERS = ("int8", "uint8", "int16", "int32", "int64")


def normal(torch, dtype, *shape):
    """Repeatable normal numbers on the device."""
    made = torch.Generator("cuda").manual_seed(sum(shape) + len(shape))
    return torch.randn(shape, generator=made, device="cuda", dtype=torch.float32).to(
        getattr(torch, dtype)
    )


def whole(torch, dtype, *shape):
    """Repeatable small integers on the device."""
    made = torch.Generator("cuda").manual_seed(sum(shape))
    low = 0 if dtype.startswith("u") else -8
    return torch.randint(low, 9, shape, generator=made, device="cuda").to(getattr(torch, dtype))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
@pytest.mark.parametrize("shape", SHAPES, ids=lambda s: "x".join(map(str, s)))
def test_one_build_multiplies_all_shapes(torch, kernels, near, shape, dtype):
    M, N, K = shape
    a, b = normal(torch, dtype, M, K), normal(torch, dtype, K, N)
    got = kernels.matmul_of_any_size(a, b, getattr(T, dtype))
    assert (got.dtype, got.device) == (a.dtype, a.device)
    near(got, a.double() @ b.double(), TOLERANCE[dtype])


@pytest.mark.parametrize("transposed", list(product([False, True], repeat=2)), ids=str)
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("shape", FEW, ids=lambda s: "x".join(map(str, s)))
def test_products_of_every_layout(torch, kernels, near, shape, dtype, transposed):
    M, N, K = shape
    ta, tb = transposed
    a = normal(torch, dtype, *((K, M) if ta else (M, K)))
    b = normal(torch, dtype, *((N, K) if tb else (K, N)))
    kind = getattr(T, dtype)
    accumulate = T.float64 if dtype == "float64" else T.float32
    block = (32, 32, 16) if dtype == "float64" else (64, 64, 32)
    got = kernels.matmul(a, b, kind, kind, accumulate, ta, tb, block)
    left, right = (a.T if ta else a).double(), (b.T if tb else b).double()
    near(got, left @ right, TOLERANCE[dtype])


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
@pytest.mark.parametrize("shape", FEW, ids=lambda s: "x".join(map(str, s)))
def test_products_of_integers_are_exact(torch, kernels, shape, dtype):
    M, N, K = shape
    a, b = whole(torch, dtype, M, K), whole(torch, dtype, N, K)
    got = kernels.matmul(a, b, getattr(T, dtype), T.int32, T.int32, False, True)
    assert torch.equal(got.double(), a.double() @ b.double().T)


@pytest.mark.parametrize("dtype", ["float8_e4m3fn", "float8_e5m2"])
@pytest.mark.parametrize("shape", FEW, ids=lambda s: "x".join(map(str, s)))
def test_products_of_narrow_floats(torch, kernels, near, shape, dtype):
    M, N, K = shape
    a, b = normal(torch, dtype, M, K), normal(torch, dtype, N, K)
    got = kernels.matmul(a, b, getattr(T, dtype), T.float32, T.float32, False, True)
    # The matrix unit keeps fewer bits of the sums of 8-bit products than f32 has.
    near(got, a.double() @ b.double().T, 2e-3)


@pytest.mark.parametrize("dtype", FLOATS + INTEGERS)
@pytest.mark.parametrize("n", [1, 7, 1023, 1024, 1025, 100_003])
def test_elements_of_every_type(torch, kernels, n, dtype):
    make = whole if dtype in INTEGERS else normal
    a, b = make(torch, dtype, n), make(torch, dtype, n)
    assert torch.equal(kernels.add(a, b, getattr(T, dtype)), a + b)


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
@pytest.mark.parametrize(("length", "dim"), [(1, 64), (65, 64), (128, 128), (129, 32), (1000, 64)])
def test_attention(torch, kernels, near, length, dim, dtype, causal):
    q, k, v = (normal(torch, dtype, 2, 3, length, dim) + i * 0.01 for i in range(3))
    got = kernels.attention(q, k, v, getattr(T, dtype), causal)
    attend = torch.nn.functional.scaled_dot_product_attention
    want = attend(q.double(), k.double(), v.double(), is_causal=causal)
    near(got, want, {"float16": 2e-3, "bfloat16": 1e-2, "float32": 1e-5}[dtype])


@pytest.mark.parametrize(("M", "N"), [(1, 1), (7, 65), (64, 1000), (129, 4096)])
def test_kernels_of_the_quickstart(torch, example, near, M, N):
    x, w = normal(torch, "float32", M, N), normal(torch, "float32", N)
    near(example.softmax(x), torch.softmax(x.double(), -1), 1e-6)
    wide = x.double()
    scale = (wide.square().mean(-1, keepdim=True) + 1e-6).rsqrt()
    near(example.rms_norm(x, w), wide * scale * w.double(), 1e-5)
    a, b = normal(torch, "float16", M, 100), normal(torch, "float16", 100, N)
    got = example.matmul_relu(a, b, T.float16, block_M=64, block_N=64, block_K=32)
    near(got, torch.relu(a.double() @ b.double()), 1e-3)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
@pytest.mark.parametrize(("M", "N"), [(1, 1), (7, 65), (64, 1000), (5, 8192)])
def test_layer_norm(torch, kernels, near, M, N, dtype):
    x, w, b = normal(torch, dtype, M, N), normal(torch, dtype, N), normal(torch, dtype, N)
    got = kernels.layer_norm(x, w, b, getattr(T, dtype))
    want = torch.nn.functional.layer_norm(x.double(), (N,), w.double(), b.double())
    near(got, want, {"float16": 2e-3, "bfloat16": 1e-2, "float32": 2e-5}[dtype])


@pytest.mark.parametrize("shape", [(0, 64, 64), (64, 0, 64), (0, 0, 0)], ids=str)
def test_empty_results(torch, kernels, shape):
    M, N, K = shape
    a, b = normal(torch, "float16", M, K), normal(torch, "float16", K, N)
    assert kernels.matmul_of_any_size(a, b, T.float16).shape == (M, N)
    empty = normal(torch, "float32", 0)
    assert kernels.add(empty, empty, T.float32).shape == (0,)


def test_an_empty_sum_is_zero(torch, kernels):
    a, b = normal(torch, "float16", 65, 0), normal(torch, "float16", 0, 33)
    assert torch.equal(kernels.matmul_of_any_size(a, b, T.float16), a.new_zeros(65, 33))
