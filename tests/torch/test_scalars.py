"""Numbers of run time in operators: one trace of the program for all values, and for symbols."""

import pytest

import tile_frontend as tile
import tile_frontend.language as T

torch = pytest.importorskip("torch", reason="operators of torch")


@tile.jit
def shifted(A, by: T.float32, count: T.int32, block=64):
    n = T.const("n")
    A: T.Tensor((n,), T.float32)
    B = T.empty((n,), T.float32)
    with T.Kernel(T.ceildiv(n, block), threads=64) as b:
        for i in T.Parallel(block):
            B[b * block + i] = A[b * block + i] + by * count
    return B


@pytest.fixture
def traces(monkeypatch):
    """The values that programs were traced for, in order."""
    from tile_frontend import eager

    seen, traced = [], eager.traced

    def counted(fn, call, outer, consts):
        seen.append((fn.__name__, dict(call.static), dict(consts)))
        return traced(fn, call, outer, consts)

    monkeypatch.setattr(eager, "traced", counted)
    return seen


@pytest.fixture(scope="module")
def operator():
    from tile_frontend.torch import op

    return op(shifted, "tile_scalars::shifted")


def test_values_of_run_time_share_one_trace(operator, traces):
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode():
        made = [operator(torch.empty(n), 0.5 * k, k) for n in (100, 70) for k in range(20)]
    assert [tuple(m.shape) for m in made] == [(100,)] * 20 + [(70,)] * 20
    assert [consts for _, _, consts in traces] == [{"n": 100}, {"n": 70}]


def test_python_arguments_are_still_told_apart(operator, traces):
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode():
        for block in (32, 16, 32):
            assert operator(torch.empty(33), 1.0, 2, block).shape == (33,)
    assert [static for _, static, _ in traces] == [{"block": 32}, {"block": 16}]


def test_a_symbol_is_no_value(operator, traces):
    """torch.compile gives the number of a second call as a symbol, which has no hash."""

    @torch.compile(backend="eager", fullgraph=True, dynamic=True)
    def twice(x, by, count):
        return operator(operator(x, by, count), by, count)

    x = torch.arange(50, dtype=torch.float32)
    for by, count in ((0.5, 3), (2.0, 4), (-1.5, 5)):
        assert torch.equal(twice(x, by, count), x + by * count + by * count)
    assert len(traces) <= 2
