"""Arguments of a launch: taken from any array library, refused by name when they do not fit."""

import math
import sys
from dataclasses import replace
from types import SimpleNamespace

import ml_dtypes
import numpy as np
import pytest

import tile_frontend as tile
import tile_frontend.language as T
from tile_frontend import adapters
from tile_frontend.adapters import adapter_for
from tile_frontend.adapters.base import ArrayInfo
from tile_frontend.adapters.numpy_arrays import numpy_dtype
from tile_frontend.bind import Binder
from tile_frontend.dims import Equation, evaluate, solve
from tile_frontend.scalars import scalar_taker
from tile_ir.build import add, ceildiv, const, mul, var
from tile_ir.diag import TileError
from tile_ir.types import ALL_DTYPES, bf16, f8e4m3fn, f16, f32, f64


@pytest.fixture
def kernel(oracle):
    m, n = T.dynamic("m, n")

    @T.prim_func
    def scaled(
        A: T.Tensor((m, n), T.float32),
        B: T.Tensor((n, 2 * m), T.float16),
        unused: T.Tensor((3,), T.float32),
        C: T.Tensor((m, n), T.float32),
        factor: T.float32,
        offset: T.int8,
        flag: T.bool,
    ):
        with T.Kernel(m, n) as (i, j):
            C[i, j] = A[i, j] * factor + offset + B[j, 2 * i] + T.if_then_else(flag, 1, 0)

    return tile.compile(scaled, target=oracle)


def good():
    return SimpleNamespace(
        A=np.ones((3, 4), np.float32),
        B=np.full((4, 6), 2, np.float16),
        unused=None,
        C=np.zeros((3, 4), np.float32),
        factor=3.0,
        offset=-4,
        flag=True,
    )


def launch(kernel, **changes):
    args = good()
    args.__dict__.update(changes)
    kernel(*vars(args).values())
    return args.C


def test_arguments_that_fit(kernel):
    np.testing.assert_array_equal(launch(kernel), np.full((3, 4), 2))
    np.testing.assert_array_equal(launch(kernel, factor=np.float32(0.5), offset=2), 5.5)
    np.testing.assert_array_equal(launch(kernel, flag=False, factor=4), 2)
    empty = np.zeros((0, 4), np.float32)
    launch(kernel, A=empty, C=empty, B=np.zeros((4, 0), np.float16))


WRONG = [
    ("E2002", "A", {"A": np.ones((3, 4), np.float64)}),
    ("E2002", "B", {"B": np.ones((4, 6), np.int16)}),
    ("E2003", "A", {"A": np.ones((3, 4, 1), np.float32)}),
    ("E2005", "C", {"C": np.zeros((3, 5), np.float32)}),
    ("E2004", "B", {"B": np.ones((4, 7), np.float16)}),
    ("E2004", "unused", {"unused": np.ones(4, np.float32)}),
    ("E2006", "A", {"A": np.ones((4, 3), np.float32).T}),
    ("E2006", "C", {"C": np.zeros((3, 8), np.float32)[:, ::2]}),
    ("E2008", "A", {"A": None}),
    ("E2009", "A", {"A": [[1.0] * 4] * 3}),
    ("E2010", "offset", {"offset": 128}),
    ("E2010", "offset", {"offset": 1.5}),
    ("E2010", "factor", {"factor": "1"}),
    ("E2010", "flag", {"flag": 1}),
]


@pytest.mark.parametrize(("code", "name", "changes"), WRONG)
def test_argument_that_does_not_fit_is_named(kernel, code, name, changes):
    with pytest.raises(TileError) as raised:
        launch(kernel, **changes)
    assert raised.value.code == code
    assert repr(name) in raised.value.message
    assert raised.value.help
    assert isinstance(raised.value, ValueError)


def test_wrong_number_of_arguments(kernel):
    with pytest.raises(ValueError, match="takes 7 arguments, got 1") as raised:
        kernel(np.ones((3, 4), np.float32))
    assert raised.value.code == "E2001"
    assert raised.value.span.text().strip() == "kernel(np.ones((3, 4), np.float32))"


def test_read_only_output(kernel):
    c = np.zeros((3, 4), np.float32)
    c.flags.writeable = False
    with pytest.raises(TileError) as raised:
        launch(kernel, C=c)
    assert raised.value.code == "E2012"


def test_wrong_arguments_are_refused_after_right_ones(kernel):
    launch(kernel)
    with pytest.raises(TileError):
        launch(kernel, offset=1000)
    with pytest.raises(TileError):
        launch(kernel, A=np.ones((3, 4), np.float64))


def test_array_on_another_device(kernel):
    class Elsewhere:
        shape = (3, 4)
        dtype = np.dtype(np.float32)

        def __dlpack__(self, **kwargs):
            raise AssertionError("memory of another device must not be read")

        def __dlpack_device__(self):
            return (2, 0)

    with pytest.raises(TileError) as raised:
        launch(kernel, A=Elsewhere())
    assert raised.value.code == "E2007"


def test_any_library_that_speaks_dlpack(kernel):
    class Wrapped:
        def __init__(self, array):
            self.array = array
            self.shape = array.shape

        def __dlpack__(self, **kwargs):
            return self.array.__dlpack__()

        def __dlpack_device__(self):
            return (1, 0)

    np.testing.assert_array_equal(launch(kernel, A=Wrapped(good().A)), np.full((3, 4), 2))


def test_torch_tensors_give_torch_tensors(oracle):
    torch = pytest.importorskip("torch")

    @tile.jit(target=oracle)
    def plus_one(A):
        N = T.const("N")
        A: T.Tensor((N,), T.bfloat16)
        B = T.empty((N,), T.bfloat16)
        with T.Kernel(N) as i:
            B[i] = A[i] + 1
        return B

    out = plus_one(torch.arange(4, dtype=torch.bfloat16))
    assert isinstance(out, torch.Tensor)
    assert out.tolist() == [1, 2, 3, 4]


def test_packed_types_take_bytes(oracle):
    @T.prim_func
    def unpack(A: T.Tensor((4, 6), T.int4), B: T.Tensor((4, 6), T.int8)):
        with T.Kernel(4, 6) as (i, j):
            B[i, j] = A[i, j]

    binder = tile.compile(unpack, target=oracle).binder
    b = np.zeros((4, 6), np.int8)
    packed = np.zeros((4, 3), np.uint8)
    assert binder.prepare((packed, b)).slots[0].take(packed) == packed.ctypes.data
    for wrong, code in (
        (np.zeros((4, 6), np.uint8), "E2004"),
        (np.zeros((4, 6), ml_dtypes.int4), "E2002"),
        (np.zeros((4, 3), np.int16), "E2002"),
    ):
        with pytest.raises(TileError) as raised:
            binder.prepare((wrong, b))
        assert raised.value.code == code


def test_narrow_types_of_numpy():
    names = {t.name: str(numpy_dtype(t)) for t in ALL_DTYPES}
    assert names["f16"] == "float16"
    assert names["bf16"] == "bfloat16"
    assert names["tf32"] == "float32"
    assert names["f8e4m3fn"] == "float8_e4m3fn"
    assert names["u64"] == "uint64"
    assert names["bool"] == "bool"


def test_narrow_types_without_ml_dtypes(monkeypatch):
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)
    assert numpy_dtype(f32) == np.float32
    with pytest.raises(TileError) as raised:
        numpy_dtype(bf16)
    assert raised.value.code == "E2013"


def test_scalars_of_array_libraries_are_no_arrays():
    assert adapter_for(np.float32(1)) is None
    assert adapter_for(np.zeros(())) is not None
    assert adapter_for([1, 2]) is None


@pytest.mark.parametrize(
    ("dtype", "given", "taken"),
    [
        (f16, 0.1, 0.0999755859375),
        (f16, 65519, 65504.0),
        (f16, -math.inf, -math.inf),
        (bf16, 0.1, 0.10009765625),
        (f32, 0.1, 0.1),
        (f32, np.float16(0.1), 0.0999755859375),
        (f64, 1e300, 1e300),
        (f8e4m3fn, 1000, 448.0),
    ],
)
def test_float_scalars_are_numbers_of_their_type(dtype, given, taken):
    assert scalar_taker("s", dtype)(given) == taken


@pytest.mark.parametrize(
    ("dtype", "given"),
    [(f16, 65520), (bf16, 3.4e38), (f32, 1e39), (f32, 10**400), (f64, -(10**309)), (f32, [1.0]),
     (f64, np.ones(1)), (f32, 1j)],
)  # fmt: skip
def test_floats_that_only_infinity_could_stand_for_are_refused(dtype, given):
    with pytest.raises(TileError, match="E2010"):
        scalar_taker("s", dtype)(given)


def test_arrays_of_several_numbers_are_no_scalars():
    torch = pytest.importorskip("torch")
    with pytest.raises(TileError, match="E2010"):
        scalar_taker("s", f32)(torch.ones(1))
    assert scalar_taker("s", f32)(torch.tensor(2.5)) == 2.5


def test_dimensions_are_solved_one_unknown_at_a_time():
    m, n = var("m"), var("n")
    equations = [
        Equation(add(mul(m, 2), n), 11, "A", 0),
        Equation(add(n, const(1, "i32")), 4, "B", 0),
        Equation(ceildiv(m, 3), 2, "C", 0),
    ]
    known, impossible = solve(equations)
    assert impossible is None
    assert known == {"n": 3, "m": 4}
    assert [evaluate(e.expr, known) for e in equations] == [11, 4, 2]


def test_dimension_without_a_whole_value():
    equation = Equation(mul(var("m"), 2), 7, "A", 1)
    assert solve([equation]) == ({}, equation)


class Remote:
    """An array on an accelerator, as its adapter tells of it."""

    def __init__(self, index=0, address=1 << 20):
        self.index, self.at = index, address


class RemoteAdapter:
    library = "remote"

    def describe(self, x):
        return x.index

    def inspect(self, x):
        return ArrayInfo(f32, (8,), (1,), "gpu", index=x.index)

    def address(self, x):
        return x.at

    def maker(self, shape, dtype, device):
        return lambda: device


@pytest.fixture
def remote(monkeypatch):
    """A function of two inputs and an output, for arrays on an accelerator."""
    monkeypatch.setitem(adapters._FOUND, Remote, RemoteAdapter())

    @T.prim_func
    def add(A: T.Tensor((8,), T.float32), B: T.Tensor((8,), T.float32)):
        C = T.empty((8,), T.float32)
        with T.Kernel(8) as i:
            C[i] = A[i] + B[i]
        return C

    return lambda *alignments, pitches=(): Binder(add.function, ("gpu",), alignments, pitches)


def test_outputs_are_made_where_the_inputs_are(remote):
    prepared = remote().prepare((Remote(2), Remote(2)))
    assert prepared.index == 2
    assert [make() for make in prepared.outputs] == ["gpu:2"]


def test_arrays_of_two_devices_are_refused(remote):
    with pytest.raises(TileError, match="'B' is on device 1, others are on device 0") as raised:
        remote().prepare((Remote(0), Remote(1)))
    assert raised.value.code == "E2007"


def test_addresses_are_aligned_for_the_widest_access(remote):
    args = (Remote(), Remote(address=1024 + 4))
    slots = remote(16, 4, 16).prepare(args).slots
    assert [slot.take(args[slot.at]) for slot in slots[:2]] == [1 << 20, 1028]
    assert [slot.alignment for slot in slots] == [16, 4, 16]
    slots[0].check(args)
    args = (Remote(address=1024 + 8), Remote())
    with pytest.raises(TileError, match="'A' begins at an address that is no multiple of 16") as r:
        slots[0].check(args)
    assert r.value.code == "E2016"


@pytest.fixture
def wide(oracle):
    """A target whose kernels want addresses of 64 bytes and rows of 16, but for the plain ones."""

    def emit(fn, spec, plan=None):
        demands = (1, 1) if spec.access_bytes == (1,) else (64, 16)
        names = ("alignments", "pitches")
        more = {k: (v,) * len(fn.params) for k, v in zip(names, demands, strict=True)}
        return SimpleNamespace(**vars(oracle.emit(fn, spec, plan)), **more)

    return replace(oracle, emit=emit)


@pytest.mark.parametrize(
    ("offset", "columns", "built"), [(0, 8, 1), (4, 8, 2), (0, 7, 2), (2, 5, 2)]
)
def test_odd_addresses_and_rows_take_the_plain_variant(wide, toolchain, offset, columns, built):
    n = T.dynamic("n")

    @T.prim_func
    def double(A: T.Tensor((4, n), T.float16), B: T.Tensor((4, n), T.float16)):
        with T.Kernel(4, n) as (i, j):
            B[i, j] = A[i, j] * 2

    def aligned(count):
        room = np.arange(count + 64, dtype=np.float16)
        return room[-(room.ctypes.data // 2) % 32 :]

    kernel = tile.compile(double, target=wide)
    a = aligned(4 * columns + offset)[offset:][: 4 * columns].reshape(4, columns)
    for _ in range(2):
        b = aligned(4 * columns)[: 4 * columns].reshape(4, columns)
        kernel(a, b)
        np.testing.assert_array_equal(b, a * 2)
    assert toolchain.compiled == built
    assert kernel.explain("double.variant") == (
        "double.variant = aligned: A at a multiple of 64 bytes, B at a multiple of 64 bytes, "
        "rows of A a multiple of 16 apart, rows of B a multiple of 16 apart\n"
        "    not plain: any address and distance of rows; made when needed"
    )
    assert kernel.plain.plan.value("double.variant", "") == "plain"


def test_rows_are_measured_in_bytes(remote):
    args = (Remote(), Remote())
    assert remote(pitches=(1, 16, 1)).prepare(args).fits  # one axis has no rows


def test_outputs_without_inputs_need_a_library_for_the_device(monkeypatch):
    assert adapters.adapter_on("cpu").library == "numpy"
    monkeypatch.setattr(adapters, "find_spec", lambda name: None)
    with pytest.raises(TileError) as raised:
        adapters.adapter_on("gpu")
    assert raised.value.code == "E2017"
