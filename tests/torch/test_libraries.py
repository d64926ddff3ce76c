"""Arrays of other libraries go in and come out: JAX through DLPack, CuPy and torch where they are.

numpy and torch on the host, and whatever speaks DLPack, are tested with the language's programs.
"""

import os

import numpy as np
import pytest

import tile_frontend as tile
import tile_frontend.language as T
from tile_ir.diag import TileError
from tile_ir.testing.requires import requires

torch = pytest.importorskip("torch", reason="operators of torch")

# JAX would take most of a GPU's memory for itself.
os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")


@tile.jit
def scaled(A, factor=2):
    n = T.const("n")
    A: T.Tensor((n,), T.float32)
    B = T.empty((n,), T.float32)
    with T.Kernel(T.ceildiv(n, 64), threads=64) as b:
        for i in T.Parallel(64):
            B[b * 64 + i] = A[b * 64 + i] * factor
    return B


@tile.jit(target="cpu")
def doubled_in_place(A):
    n = T.const("n")
    A: T.Tensor((n,), T.float32)
    with T.Kernel(1):
        for i in T.Parallel(n):
            A[i] = A[i] * 2


EXPECTED = [2.0 * i for i in range(100)]


def test_jax_goes_in_and_its_results_come_back():
    jax = pytest.importorskip("jax", reason="arrays of JAX")
    made = scaled(jax.numpy.arange(100, dtype="float32", device=jax.devices("cpu")[0]))
    assert isinstance(made, np.ndarray)
    assert jax.dlpack.from_dlpack(made).tolist() == EXPECTED


def test_arrays_of_jax_are_never_written_to():
    """They are values; memory that JAX shares must not change under it."""
    jax = pytest.importorskip("jax", reason="arrays of JAX")
    a = jax.numpy.arange(4, dtype="float32", device=jax.devices("cpu")[0])
    with pytest.raises(TileError) as caught:
        doubled_in_place(a)
    assert caught.value.code == "E2012"
    assert a.tolist() == [0, 1, 2, 3]


def test_results_go_to_any_library_without_a_copy(device):
    a = torch.arange(100, dtype=torch.float32, device=device)
    made = scaled(a)
    view = torch.from_dlpack(made)
    assert view.data_ptr() == made.data_ptr()
    assert view.cpu().tolist() == EXPECTED


class Foreign:
    """An array of some other library: nothing but DLPack."""

    def __init__(self, array):
        self.array, self.shape = array, array.shape

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


def test_what_is_in_no_host_memory_is_seen_through_torch(monkeypatch):
    """With the host's own memory for a device, so that it shows here."""
    from tile_frontend.adapters import dlpack

    monkeypatch.setattr(dlpack, "_HOST", 99)
    a = Foreign(np.arange(100, dtype=np.float32))
    assert scaled(a).tolist() == EXPECTED
    with pytest.raises(TileError) as caught:
        doubled_in_place(a)
    assert caught.value.code == "E2012"
    monkeypatch.setattr(dlpack, "_DEVICE_LIBRARIES", ())
    with pytest.raises(TileError, match="device type 1 of DLPack"):
        scaled(Foreign(a.array[:50]))


@pytest.mark.gpu
def test_jax_on_a_gpu_goes_in_and_results_come_back():
    jax = pytest.importorskip("jax", reason="arrays of JAX")
    requires("a GPU", torch.cuda.is_available())
    requires("a JAX for GPUs", lambda: jax.devices("gpu"))
    a = jax.numpy.arange(100, dtype="float32", device=jax.devices("gpu")[0])
    made = scaled(a * 2)
    assert isinstance(made, torch.Tensor)
    assert made.device.type == "cuda"
    assert jax.dlpack.from_dlpack(made).tolist() == [2 * x for x in EXPECTED]


@pytest.mark.gpu
def test_memory_that_a_kernel_does_not_reach_is_refused():
    """That of a GPU by a kernel for the host, and the host's by one for a GPU."""
    requires("a GPU", torch.cuda.is_available())
    a = torch.arange(100, dtype=torch.float32)
    for kernel, given in ((doubled_in_place, a.cuda()), (tile.jit(target="cuda")(scaled.fn), a)):
        with pytest.raises(TileError) as caught:
            kernel(given)
        assert caught.value.code == "E2007"


@pytest.mark.gpu
def test_cupy_and_torch_share_arrays():
    cupy = pytest.importorskip("cupy", reason="arrays of CuPy")
    requires("a GPU", torch.cuda.is_available())
    made = scaled(cupy.arange(100, dtype=cupy.float32))
    assert isinstance(made, cupy.ndarray)
    again = scaled(torch.from_dlpack(made))
    assert cupy.from_dlpack(again).tolist() == [2 * x for x in EXPECTED]
