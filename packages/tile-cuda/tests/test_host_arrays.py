"""A compiled function called with arrays of this process; a stand-in plays the device."""

import sys
from types import SimpleNamespace
from typing import ClassVar

import numpy as np

from tile_cuda.driver import CudaRuntime
from tile_cuda.host_arrays import OnHostArrays


class There:
    """An array on the device that there is not."""

    arrays: ClassVar = {}

    def __init__(self, array):
        self.array = array.copy()
        self.data = SimpleNamespace(ptr=1000 + len(self.arrays))
        self.arrays[self.data.ptr] = self

    def get(self):
        return self.array


def test_arrays_go_there_and_come_back(monkeypatch):
    waited = []
    runtime = SimpleNamespace(deviceSynchronize=lambda: waited.append(True))
    fake = SimpleNamespace(asarray=There, cuda=SimpleNamespace(runtime=runtime))
    monkeypatch.setitem(sys.modules, "cupy", fake)

    def function(given, factor, result, count):
        There.arrays[result].array[:count] = There.arrays[given].array[:count] * factor

    called = CudaRuntime(None).on_host_arrays(function)
    assert isinstance(called, OnHostArrays)
    assert called.arguments == "arrays"
    given, result = np.arange(4, dtype=np.uint8), np.zeros(4, np.uint8)
    called(given, 3, result, 3)
    assert result.tolist() == [0, 3, 6, 0]
    assert given.tolist() == [0, 1, 2, 3]
    assert waited == [True]
