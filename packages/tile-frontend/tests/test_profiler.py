"""Measuring kernels, making their inputs, comparing them with references."""

import contextlib
import sys
from types import SimpleNamespace

import numpy as np
import pytest

import tile_frontend as tile
import tile_frontend.language as T
from tile_frontend import timing
from tile_frontend.supplies import supplied
from tile_ir import types
from tile_ir.build import as_expr
from tile_ir.core import Buffer
from tile_ir.diag import TileError


def test_the_device_of_a_result():
    assert timing.device_of(None) == "cpu"
    assert timing.device_of([np.zeros(3), None]) == "cpu"


def test_do_bench_counts_milliseconds():
    calls = []
    time = tile.do_bench(lambda: calls.append(1), n_warmup=2, n_repeat=5, return_mode="median")
    assert len(calls) == 7
    assert 0 <= time < 100
    with pytest.raises(TileError):
        tile.do_bench(lambda: None, return_mode="fastest")


def test_profiler_makes_inputs_and_compares(oracle, monkeypatch):
    # Inputs are torch tensors once torch is imported, which another test may have done.
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    m = T.dynamic("m")

    @T.prim_func
    def doubled(A: T.Tensor((m, 3), T.float16), B: T.Tensor((m, 3), T.float32)):
        with T.Kernel(m, 3) as (i, j):
            B[i, j] = A[i, j] * 2

    kernel = tile.compile(doubled, out_idx=-1, target=oracle)
    profiler = kernel.get_profiler()
    (a,) = profiler.inputs({"m": 5})
    assert (a.shape, a.dtype) == ((5, 3), np.float16)
    profiler.assert_allclose(lambda x: x.astype(np.float64) * 2, [a])
    with pytest.raises(AssertionError, match="output 0: 100"):
        profiler.assert_allclose(lambda x: x.astype(np.float64) + 9, [a])
    assert profiler.do_bench(n_repeat=1, dynamic_symbolic_constraints={"m": 5}) > 0
    with pytest.raises(TileError) as raised:
        profiler.inputs()
    assert raised.value.code == "E2011"


def test_do_bench_gives_quantiles():
    low, high = tile.do_bench(lambda: None, n_warmup=1, n_repeat=9, quantiles=(0.1, 0.9))
    assert 0 <= low <= high
    for wrong in ({"quantiles": (1.5,)}, {"backend": "stopwatch"}):
        with pytest.raises(TileError) as raised:
            tile.do_bench(lambda: None, **wrong)
        assert raised.value.code == "E1503"


@pytest.mark.parametrize(
    ("supply", "dtype", "low", "high", "whole"),
    [
        ("Auto", "f32", -1, 1, False),
        ("Auto", "f16", -1, 1, False),
        ("Auto", "i8", -2, 2, True),
        ("Auto", "u8", 0, 2, True),
        ("Integer", "f32", -2, 2, True),
        ("Uniform", "f32", -1, 1, False),
        ("Normal", "f32", -6, 6, False),
        ("Zero", "f32", 0, 0, True),
        ("One", "i32", 1, 1, True),
        ("Randn", "u8", 0, 6, True),
        ("Zero", "bool", 0, 0, True),
        ("One", "i4", 0x11, 0x11, True),
    ],
)
def test_supplies(monkeypatch, supply, dtype, low, high, whole):
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    kind = types.dtype(dtype)
    buffer = Buffer(name="A", dtype=kind, shape=(as_expr(1000),), scope="global")
    rng = np.random.default_rng(0)
    array = supplied(rng, buffer, {}, "cpu", tile.TensorSupplyType[supply])
    values = array.astype(np.float64)
    assert low <= values.min() <= values.max() <= high
    assert (values == np.round(values)).all() == whole
    assert values.max() == high or not whole or supply == "Randn"
    assert len(array) == (500 if kind.storage_bits < 8 else 1000)


def test_profiler_compares_as_it_is_told(oracle, monkeypatch):
    monkeypatch.delitem(sys.modules, "torch", raising=False)

    @T.prim_func
    def doubled(A: T.Tensor((4,), T.float32), B: T.Tensor((4,), T.float32)):
        with T.Kernel(4) as i:
            B[i] = A[i] * 2

    profiler = tile.compile(doubled, out_idx=-1, target=oracle).get_profiler(
        tile.TensorSupplyType.Integer
    )
    assert (profiler.inputs()[0] % 1 == 0).all()
    profiler.assert_consistent(repeat=3)
    seen = []
    profiler.manual_assert_close(lambda a: a + a, None, lambda a, b: seen.append((a == b).all()))
    assert seen == [True]
    with pytest.raises(TileError):
        profiler.manual_assert_close(lambda a: a)
    numbers = iter(range(3))
    profiler.kernel = lambda a: a + next(numbers)
    profiler.inputs = lambda: [np.zeros(2)]
    with pytest.raises(AssertionError, match="run 1 differs"):
        profiler.assert_consistent(repeat=3)


class Clock:
    """A library of arrays on a device, whose calls take what the clock says."""

    def __init__(self):
        self.now, self.done = 0.0, []
        self.float32 = self.int8 = None

    def Event(self, device, enable_timing):
        clock = self

        class Event:
            def record(self):
                self.at = clock.now

            def synchronize(self):
                clock.done.append("waited")

            def elapsed_time(self, end):
                return end.at - self.at

        return Event()

    def empty(self, *args, **kwargs):
        return SimpleNamespace(fill_=lambda value: self.done.append("flushed"))

    def get_device_module(self, device):
        return SimpleNamespace(
            synchronize=lambda: self.done.append("waited"),
            OddGraph=lambda: SimpleNamespace(replay=lambda: self.tick(40)),
            graph=lambda graph: contextlib.nullcontext(),
        )

    def tick(self, ms=2.0):
        self.now += ms


@pytest.mark.parametrize("backend", ["event", "graph", "wall"])
def test_timers_of_an_accelerator(monkeypatch, backend):
    clock = Clock()
    monkeypatch.setitem(sys.modules, "torch", clock)
    monkeypatch.setattr(timing, "adapter_on", lambda device: SimpleNamespace(library="torch"))
    found = timing.durations(clock.tick, 0, 3, "gpu", backend)
    assert len(found) == 3
    assert clock.done.count("flushed") == 3
    if backend == "wall":
        assert all(0 <= t < 100 for t in found)
    else:
        assert found == [2.0] * 3
