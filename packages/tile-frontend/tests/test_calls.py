"""Calls of a compiled kernel on an accelerator: known arguments by a short key, others checked."""

from types import SimpleNamespace

import numpy as np
import pytest

import tile_frontend as tile
import tile_frontend.language as T
from tile_frontend.adapters import ArrayCode
from tile_frontend.bind import Slot
from tile_frontend.calls import Ready, alike_of, key_function, key_texts
from tile_ir.diag import TileError

torch = pytest.importorskip("torch")


class Launch:
    """A runtime's prepared launch that writes down what it is asked; with code of its own if
    `inline`."""

    def __init__(self, inline):
        self.seen = []
        if inline:
            self.lines = ("written.append((p0, p1))",)
            self.names = {"written": self.seen}

    def __call__(self, *values):
        self.seen.append(values)


class Prepares:
    """A runtime that prepares launches, instead of the one of the kernel."""

    def __init__(self, inline):
        self.inline, self.asked, self.launches = inline, [], []

    def prepare(self, index, dims, library):
        self.asked.append((index, dims, library))
        self.launches.append(Launch(self.inline))
        return self.launches[-1]


def kernel_of_two():
    n = T.dynamic("n")

    @T.prim_func
    def copy(A: T.Tensor((n,), T.float32), B: T.Tensor((n,), T.float32)):
        with T.Kernel(n) as i:
            B[i] = A[i]

    return copy


@pytest.fixture(params=[False, True], ids=["called", "inline"])
def kernel(request, oracle):
    """A kernel of one input and one output of the same length, as if on an accelerator."""
    made = tile.compile(kernel_of_two(), target=oracle)
    made.target = SimpleNamespace(device="gpu")
    made._launch = Prepares(request.param)
    return made


def test_known_arguments_launch_by_their_addresses(kernel):
    a, b, c = (torch.zeros(7) for _ in range(3))
    for pair in ((a, b), (b, c), (c, a)):
        assert kernel(*pair) is None
    assert kernel._launch.asked == [(0, (7,), "torch")]
    assert kernel._launch.launches[0].seen == [
        (x.data_ptr(), y.data_ptr()) for x, y in ((a, b), (b, c), (c, a))
    ]


def test_kinds_of_arguments_take_turns(kernel):
    short, long = torch.zeros(7), torch.zeros(9)
    for x in (short, long, short, long, long):
        kernel(x, x)
    assert kernel._launch.asked == [(0, (7,), "torch"), (0, (9,), "torch")]
    assert [len(launch.seen) for launch in kernel._launch.launches] == [2, 3]


@pytest.mark.parametrize(
    ("args", "code"),
    [
        (lambda x: (x,), "E2001"),
        (lambda x: (x, x, x), "E2001"),
        (lambda x: (x, x.double()), "E2002"),
        (lambda x: (x, x[None]), "E2003"),
        (lambda x: (x, x[:3]), "E2005"),
        (lambda x: (torch.zeros(14)[::2], x), "E2006"),
        (lambda x: (x, None), "E2008"),
        (lambda x: (x, 1.0), "E2009"),
    ],
)
def test_others_are_checked_before_and_after(kernel, args, code):
    x = torch.zeros(7)
    for _ in range(2):
        with pytest.raises(TileError) as caught:
            kernel(*args(x))
        assert caught.value.code == code
        kernel(x, x)
    assert len(kernel._launch.launches[0].seen) == 2


def test_arrays_of_another_library_are_taken_too(kernel):
    x = torch.zeros(7)
    kernel(x, x)
    kernel(x.numpy(), x.numpy())
    assert kernel._launch.asked == [(0, (7,), "torch"), (0, (7,), "numpy")]


def test_libraries_take_turns(kernel):
    x = torch.zeros(7)
    for _ in range(3):
        kernel(x, x)
        kernel(x.numpy(), x.numpy())
        kernel(x, x.numpy())
    assert len(kernel._launch.asked) == 3
    assert [len(launch.seen) for launch in kernel._launch.launches] == [3, 3, 3]


def test_arrays_that_only_look_like_known_ones(oracle):
    kernel = tile.compile(kernel_of_two(), target=oracle)
    good, out = np.arange(7, dtype=np.float32), np.zeros(7, np.float32)
    kernel(good, out)
    read_only, gaps = good + 1, np.zeros(14, np.float32)[::2]
    read_only.flags.writeable = False
    kernel(read_only, out)  # it is only read
    assert out.tolist() == read_only.tolist()
    for args, code in (((good, read_only), "E2012"), ((good, gaps), "E2006")):
        for _ in range(2):
            with pytest.raises(TileError) as caught:
                kernel(*args)
            assert caught.value.code == code
    kernel(good, out)
    assert out.tolist() == good.tolist()
    kernel.bind(good, out)(read_only, out)
    assert out.tolist() == read_only.tolist()


def test_arrays_that_only_look_like_those_of_the_last_call_of_a_function(oracle):
    @tile.jit(target=oracle)
    def shifted(A, by=1.0):
        N = T.const("N")
        A: T.Tensor((N,), T.float32)
        with T.Kernel(N) as i:
            A[i] = A[i] + by

    x, y = np.zeros(4, np.float32), np.zeros(5, np.float32)
    read_only = np.zeros(4, np.float32)
    read_only.flags.writeable = False
    for _ in range(3):
        for array in (x, y, x):
            shifted(array)
        shifted(x, 2.0)
        shifted(x, by=4.0)
        for wrong, code in ((read_only, "E2012"), (np.zeros(8, np.float32)[::2], "E2006")):
            with pytest.raises(TileError) as caught:
                shifted(wrong)
            assert caught.value.code == code
    assert (x.tolist(), y.tolist()) == ([24.0] * 4, [3.0] * 5)
    assert read_only.tolist() == [0.0] * 4
    assert len(shifted._kernels) == 4


def test_few_kinds_are_remembered(kernel, monkeypatch):
    monkeypatch.setattr("tile_frontend.kernel.MOST_SHAPES", 3)
    for n in (1, 2, 3, 4, 1):
        kernel(torch.zeros(n), torch.zeros(n))
    assert [dims for _, dims, _ in kernel._launch.asked] == [(1,), (2,), (3,), (4,), (1,)]


def test_a_bound_kernel(kernel):
    a, b = torch.zeros(7), torch.zeros(7)
    run = kernel.bind(a, b)
    run(b, a)
    assert kernel._launch.launches[-1].seen == [(b.data_ptr(), a.data_ptr())]
    with pytest.raises(TileError) as caught:
        run(a)
    assert caught.value.code == "E2001"
    run(torch.zeros(3), torch.zeros(3))  # it is the kernel, which takes any length
    for other in (a.double(), torch.zeros(5), torch.zeros(14)[::2], None):
        with pytest.raises(TileError, match="E200"):
            run(a, other)


def test_a_bound_kernel_runs_on_what_it_was_bound_to(kernel):
    a, b = torch.zeros(7), torch.zeros(7)
    places = (a.data_ptr(), b.data_ptr())
    run = kernel.bind(a, b)
    a.data = torch.ones(9)  # it keeps what it was bound to, and where
    assert run() is run() is None
    assert kernel._launch.launches[0].seen == [places, places]
    assert run.held[0].data_ptr() == places[0]
    array = np.zeros(7, np.float32)
    kept = kernel.bind(array, array)
    with pytest.raises(ValueError, match="cannot resize"):
        array.resize(100)
    kept()
    assert kernel._launch.launches[1].seen == [(array.ctypes.data,) * 2]


def test_outputs_scalars_and_constants():
    made = []
    slots = [
        Slot("a", 0, lambda x: x + 1, None, 4),
        Slot("b", 1, float),
        Slot("c", 2, None, ArrayCode("", "{0} * 8"), 8),
    ]
    prepared = SimpleNamespace(count=2, outputs=(lambda: 5,), slots=slots, pairs=())
    launch = lambda *values: made.append(values)  # noqa: E731 -- it has no code of its own
    ready = Ready(prepared, launch, (30, 40), lambda *args: ("odd", *args))
    assert ready.run()(7, 2) == 5
    assert made == [(8, 2.0, 40, 30, 40)]
    assert ready.run()(8, 2) == ("odd", 8, 2)
    texts = ("type({0})", "type({0})")
    call = ready.checked(texts, (int, int), (lambda *args: ("other", *args), None))
    assert [call(7, 2), call(7, 2.0), call(7), call(8, 2)] == [
        *(5, ("other", 7, 2.0), ("other", 7), ("odd", 8, 2)),
    ]


def test_keys():
    x = torch.zeros(2, 3)
    texts = key_texts([True, False], (x, 1))
    assert key_function(texts)(x, 1) == (torch.float32, (2, 3), True, False, x.device, int)
    assert key_function(texts)(x.T, 1) == (torch.float32, (3, 2), (1, 3), False, x.device, int)
    assert key_function(texts)(x) is None
    assert key_function(texts)(3, x) is None
    (text,) = key_texts([True], (x.numpy(),))
    assert key_function([text])(x.numpy()) == (np.dtype("f4"), (2, 3), np.ndarray)
    read_only = np.zeros(3)
    read_only.flags.writeable = False
    for other in (x.numpy().T, x.numpy()[:0], read_only, [1]):
        assert key_texts([True], (other,)) is None
    assert key_texts([], ()) == ()
    assert key_function(())() == ()


def test_a_library_compares_its_arrays_in_one_call():
    x = torch.zeros(2, 3)
    alike = alike_of([True, False, True], (x, 1, x))
    same = alike.compare
    assert (alike.places, alike.kinds) == ((0, 2), {1: int})
    assert same(torch.ones(2, 3), x)
    others = [x.T, x[:1], x.double(), torch.zeros(3, 2), torch.zeros(2, 4)[:, :3], x.numpy(), 3]
    assert not any(same(x, other) for other in others)
    assert alike_of([True], (x.numpy(),)) is None
    assert alike_of([False], (1,)) is None


def test_a_stricter_comparison_is_made_anew_a_few_times():
    slots = [Slot("a", 0, None, ArrayCode("", "{0}"))]
    prepared = SimpleNamespace(count=1, outputs=(), slots=slots, pairs=())
    seen = []
    ready = Ready(prepared, seen.append, (), None)
    plain = torch.zeros(2)
    trained = torch.nn.Parameter(torch.zeros(2))
    texts = key_texts([True], (plain,))
    key, alike = key_function(texts)(plain), alike_of([True], (plain,))
    call = ready.checked(texts, key, (lambda *args: ("other", *args), None), alike)
    for _ in range(20):
        assert call(plain) is call(trained) is None
    assert (len(seen), alike.left) == (40, 0)
    assert call(3) == ("other", 3)
    assert call() == ("other",)
    wide = torch.zeros(3)
    assert call(wide) == ("other", wide)


@pytest.mark.filterwarnings("ignore:Accessing the data pointer of FakeTensor")
def test_tensors_whose_memory_is_not_what_they_hold_are_refused(oracle):
    kernel, x, y = tile.compile(kernel_of_two(), target=oracle), torch.ones(7), torch.zeros(7)
    inside = torch._subclasses.fake_tensor.FakeTensorMode()
    fake = inside.from_tensor(x)
    refused = (torch._neg_view(x), x.to_sparse(), fake)
    for _ in range(2):
        kernel(x, y)
        for other in refused:
            with pytest.raises(TileError) as caught:
                kernel(other, y)
            assert caught.value.code == "E2009", other
            assert caught.value.help
    with pytest.raises(TileError, match="E2009"):
        torch.vmap(lambda a: kernel(a, y) or a)(x[None])
    kernel(torch._neg_view(-x).resolve_neg(), y)
    assert y.tolist() == [1.0] * 7
