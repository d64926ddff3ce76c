"""Arrays of numpy, torch and anything that speaks DLPack, in and out."""

import numpy as np
import pytest

import tile_frontend as tile
import tile_frontend.language as T

M, N = T.dynamic("M, N")


def scaled(dtype):
    @T.prim_func
    def kernel(A: T.Tensor((M, N), dtype), B: T.Tensor((M, N), dtype)):
        C = T.empty((M, N), dtype)
        with T.Kernel(M, N) as (i, j):
            C[i, j] = A[i, j] + B[i, j]
            B[i, j] = A[i, j]
        return C

    return tile.compile(kernel, target="cpu")


class Foreign:
    """An array of some other library: nothing but DLPack."""

    def __init__(self, array):
        self.array = array
        self.shape = array.shape

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


def test_numpy_views_and_offsets():
    """Parts of an array are passed where they lie."""
    kernel = scaled("float32")
    base = np.arange(60, dtype=np.float32).reshape(10, 6)
    b = np.ones((4, 6), np.float32)
    c = kernel(base[3:7], b)
    np.testing.assert_array_equal(c, base[3:7] + 1)
    np.testing.assert_array_equal(b, base[3:7])


def test_arrays_of_one_row_or_column_have_any_stride():
    kernel = scaled("float32")
    base = np.arange(30, dtype=np.float32).reshape(5, 6)
    for a in (base[1:2], base[2:3, ::1], np.asfortranarray(base[:1])):
        np.testing.assert_array_equal(kernel(a, np.zeros_like(a)), a)
    column = base[:, :1].copy()
    np.testing.assert_array_equal(kernel(column, np.zeros_like(column)), column)


@pytest.mark.parametrize(
    "dtype", ["float32", "float16", "bfloat16", "float64", "int8", "int64", "uint8", "bool"]
)
def test_torch(dtype):
    torch = pytest.importorskip("torch")
    kind = getattr(torch, dtype)
    a = torch.arange(12).reshape(3, 4).to(kind)
    b = torch.ones(3, 4).to(kind)
    want = (a.to(torch.float64) + b.to(torch.float64)).to(kind)
    c = scaled(dtype)(a, b)
    assert isinstance(c, torch.Tensor)
    assert c.dtype == kind
    assert torch.equal(c, want)
    assert torch.equal(b, a)


def test_torch_views_and_gradients():
    torch = pytest.importorskip("torch")
    base = torch.arange(24, dtype=torch.float32).reshape(6, 4)
    a = base[2:5].requires_grad_(False)
    c = scaled("float32")(a, torch.ones(3, 4))
    assert torch.equal(c, a + 1)
    weights = torch.nn.Parameter(torch.ones(3, 4))
    c = scaled("float32")(weights, torch.ones(3, 4))
    assert torch.equal(c, torch.full((3, 4), 2.0))
    assert not c.requires_grad


def test_torch_narrow_floats():
    torch = pytest.importorskip("torch")

    @T.prim_func
    def kernel(A: T.Tensor((16,), T.float8_e4m3fn)):
        B = T.empty((16,), T.float8_e5m2)
        with T.Kernel(1):
            T.copy(A, B)
        return B

    a = torch.linspace(-8, 8, 16).to(torch.float8_e4m3fn)
    b = tile.compile(kernel, target="cpu")(a)
    assert b.dtype == torch.float8_e5m2
    assert torch.equal(b.float(), a.float().to(torch.float8_e5m2).float())


def test_outputs_are_of_the_first_arrays_library():
    torch = pytest.importorskip("torch")
    kernel = scaled("float32")
    a = np.ones((2, 2), np.float32)
    t = torch.ones(2, 2)
    assert isinstance(kernel(a, t), np.ndarray)
    assert isinstance(kernel(t, a), torch.Tensor)


def test_outputs_without_any_array_are_numpy_arrays():
    @T.prim_func
    def kernel(n: T.int32):
        B = T.empty((4,), T.int32)
        with T.Kernel(4) as i:
            B[i] = i * n
        return B

    b = tile.compile(kernel, target="cpu")(3)
    assert isinstance(b, np.ndarray)
    assert b.tolist() == [0, 3, 6, 9]


def test_dlpack():
    a = np.arange(6, dtype=np.float32).reshape(2, 3)
    b = np.ones((2, 3), np.float32)
    c = scaled("float32")(Foreign(a), Foreign(b))
    assert isinstance(c, np.ndarray)
    np.testing.assert_array_equal(c, a + 1)
    np.testing.assert_array_equal(b, a)


def test_eager_kernels_take_every_library():
    torch = pytest.importorskip("torch")

    @tile.jit(target="cpu")
    def negated(A):
        n = T.const("n")
        A: T.Tensor((n,), T.float32)
        B = T.empty((n,), T.float32)
        with T.Kernel(n) as i:
            B[i] = -A[i]
        return B

    a = np.arange(3, dtype=np.float32)
    assert negated(a).tolist() == [0, -1, -2]
    assert negated(torch.from_numpy(a)).tolist() == [0, -1, -2]
    assert negated(Foreign(a)).tolist() == [0, -1, -2]


def test_bytes_of_narrow_floats_without_their_library():
    """Codes in plain bytes: what an array library without such types can still hold."""

    @T.prim_func
    def kernel(A: T.Tensor((4,), T.float8_e4m3fn)):
        B = T.empty((4,), T.float32)
        with T.Kernel(1):
            T.copy(A, B)
        return B

    codes = np.array([0x00, 0x38, 0xB8, 0x7E], np.uint8)
    assert tile.compile(kernel, target="cpu")(codes).tolist() == [0.0, 1.0, -1.0, 448.0]


def test_truth_values_in_bytes():
    @T.prim_func
    def kernel(A: T.Tensor((3,), T.bool)):
        B = T.empty((3,), T.int32)
        with T.Kernel(3) as i:
            B[i] = T.if_then_else(A[i], 5, 6)
        return B

    made = tile.compile(kernel, target="cpu")
    for dtype in (np.bool_, np.uint8, np.int8):
        assert made(np.array([1, 0, 1], dtype)).tolist() == [5, 6, 5]
