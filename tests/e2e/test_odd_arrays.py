"""Arrays that look like those a kernel takes: each is either computed with, or refused by a code.

Every case is tried on a kernel that was just called with ordinary arrays too: what is known of
those must not let it pass.
"""

import pickle

import numpy as np
import pytest

import tile_frontend as tile
import tile_frontend.language as T
from tile_ir.diag import TileError

DOUBLED = [0.0, 2.0, 4.0, 6.0, 8.0, 10.0, 12.0, 14.0]


@pytest.fixture
def kernels(cache_of_the_session):
    """By whether the parameters may have strides."""

    @tile.jit(target="cpu")
    def doubled(A, C):
        n = T.const("n")
        A: T.Tensor((n,), T.float32)
        C: T.Tensor((n,), T.float32)
        with T.Kernel(1):
            for i in T.Parallel(n):
                C[i] = A[i] * 2

    @tile.jit(target="cpu")
    def strided(A, C):
        n, a, c = T.const("n, a, c")
        A: T.StridedTensor((n,), (a,), T.float32)
        C: T.StridedTensor((n,), (c,), T.float32)
        with T.Kernel(1):
            for i in T.Parallel(n):
                C[i] = A[i] * 2

    return {False: doubled, True: strided}


def numbers():
    return np.arange(8, dtype=np.float32)


def read_only():
    made = numbers()
    made.flags.writeable = False
    return made


def masked():
    return np.ma.masked_array(numbers(), mask=[True] + [False] * 7)


def misaligned():
    return np.frombuffer(bytearray(33), np.uint8)[1:].view(np.float32)


class Subclass(np.ndarray):
    """Numbers like any array's."""


def repeated():
    return np.lib.stride_tricks.as_strided(np.zeros(8, np.float32), (8,), (0,))


NUMPY = {
    "read-only in": (read_only, numbers, None),
    "read-only out": (numbers, read_only, "E2012"),
    "broadcast out": (numbers, lambda: np.broadcast_to(np.float32(0), 8), "E2012"),
    "repeated out": (numbers, repeated, "E2006"),
    "reversed in": (lambda: numbers()[::-1], numbers, "E2006|E2004"),
    "reversed out": (numbers, lambda: numbers()[::-1], "E2006|E2004"),
    "masked in": (masked, numbers, "E2009"),
    "masked out": (numbers, masked, "E2009"),
    "of no axes": (lambda: np.array(1, np.float32), numbers, "E2003"),
    "a scalar": (lambda: np.float32(1), numbers, "E2009"),
    "a list": (lambda: [1.0] * 8, numbers, "E2009"),
    "a memoryview": (lambda: memoryview(numbers()), numbers, "E2009"),
    "big-endian": (lambda: numbers().astype(">f4"), numbers, "E2009"),
    "objects": (lambda: numbers().astype(object), numbers, "E0201"),
    "texts": (lambda: numbers().astype(str), numbers, "E0201"),
    "complex": (lambda: numbers().astype(np.complex64), numbers, "E0201"),
    "records": (lambda: np.zeros(8, [("a", "f4")]), numbers, "E0201"),
    "dates": (lambda: np.zeros(8, "datetime64[s]"), numbers, "E0201"),
    "a subclass": (lambda: numbers().view(Subclass), numbers, None),
    "misaligned out": (numbers, misaligned, None),
    "the output itself": (lambda: SHARED, lambda: SHARED, None),
}
SHARED = numbers()


def check(kernel, arrays, code):
    given, out = arrays[0](), arrays[1]()
    if given is SHARED:
        SHARED[:] = numbers()
    if code is None:
        kernel(given, out)
        assert out.tolist() == DOUBLED
        return
    with pytest.raises(TileError) as caught:
        kernel(given, out)
    assert caught.value.code in code.split("|")


@pytest.mark.parametrize("warm", [False, True], ids=["first", "again"])
@pytest.mark.parametrize("strided", [False, True], ids=["plain", "strided"])
@pytest.mark.parametrize("name", NUMPY)
def test_arrays_of_numpy(kernels, name, strided, warm):
    if warm:
        kernels[strided](numbers(), numbers())
    *arrays, code = NUMPY[name]
    check(kernels[strided], arrays, code)


@pytest.mark.parametrize("warm", [False, True], ids=["first", "again"])
@pytest.mark.parametrize("strided", [False, True], ids=["plain", "strided"])
@pytest.mark.filterwarnings("ignore::UserWarning")  # layouts that torch calls experimental
def test_tensors_of_torch(kernels, strided, warm):
    torch = pytest.importorskip("torch", reason="tensors of torch")
    fake = pytest.importorskip("torch._subclasses", reason="tensors without memory")

    class Sub(torch.Tensor):
        """Numbers like any tensor's."""

    def plain():
        return torch.arange(8, dtype=torch.float32)

    cases = {
        "wants gradients": (lambda: plain().requires_grad_(), plain, None),
        "parameter": (lambda: torch.nn.Parameter(plain()), plain, None),
        "subclass": (lambda: plain().as_subclass(Sub), plain, None),
        "mixed": (numbers, plain, None),
        "sparse": (lambda: plain().to_sparse(), plain, "E2009"),
        "nested": (lambda: torch.nested.nested_tensor([plain()]), plain, "E2009"),
        "negated": (lambda: torch._neg_view(plain()), plain, "E2009"),
        "conjugated": (lambda: torch.zeros(8, dtype=torch.complex64).conj(), plain, "E0201"),
        "meta": (lambda: plain().to("meta"), plain, "E2007"),
        "fake": (lambda: fake.FakeTensorMode().from_tensor(plain()), plain, "E2009"),
        "expanded out": (plain, lambda: torch.zeros(1).expand(8), "E2006"),
        "window out": (
            plain,
            lambda: torch.zeros(3, 8).as_strided((8,), (0,)),
            "E2006",
        ),
        "None": (lambda: None, plain, "E2008|E1104"),
    }
    for given, out, code in cases.values():
        if warm:
            kernels[strided](plain(), plain())
        check(kernels[strided], (given, out), code)


def test_a_frozen_kernel_is_frozen_where_it_is_unpickled(kernels):
    kernel = kernels[False].compile(numbers(), numbers())
    assert not pickle.loads(pickle.dumps(kernel)).is_frozen
    again = pickle.loads(pickle.dumps(kernel.freeze()))
    assert again.is_frozen
    out = np.zeros(8, np.float32)
    again(numbers(), out)
    assert out.tolist() == DOUBLED
